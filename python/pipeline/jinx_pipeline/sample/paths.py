"""Paths into a sample: `text`, `meta.caption`, `messages[*].content`, `meta."a.b"`.

A parsed path is a tuple of names; None means every element of a list.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

Steps = tuple[str | None, ...]

_STEP = re.compile(r'(?:"((?:[^"]|"")*)"|([^."\[\]]+))((?:\[\*\])*)(\.|$)')


@lru_cache(maxsize=1024)
def parse(path: str) -> Steps:
    """The steps of a path.

    Raises:
        ValueError: The path does not parse.
    """
    steps: list[str | None] = []
    place, ended = 0, False
    while not ended:
        match = _STEP.match(path, place)
        if match is None:
            raise ValueError(
                f"{path!r} is not a path at character {place}: write names with dots, [*] for the elements of a list, "
                'and names that hold dots, brackets or quotes as "a.b", with each quote in them doubled'
            )
        quoted, plain, stars, dot = match.groups()
        steps.append(plain if quoted is None else quoted.replace('""', '"'))
        steps.extend([None] * (len(stars) // 3))
        place, ended = match.end(), not dot
    return tuple(steps)


def text_of(steps: Steps) -> str:
    """The path of steps as a string."""
    text = ""
    for step in steps:
        if step is None:
            text += "[*]"
            continue
        name = '"' + step.replace('"', '""') + '"' if re.search(r'[."\[\]]', step) else step
        text += f".{name}" if text else name
    return text


def find(value: Any, steps: Steps) -> list[Any]:
    """The values at a path, in order; missing names are skipped."""
    values = [value]
    for step in steps:
        if step is None:
            values = [element for value in values if isinstance(value, list | tuple) for element in value]
        else:
            values = [value[step] for value in values if isinstance(value, Mapping) and step in value]
    return values


def find_each(value: Any, steps: Steps) -> list[Any]:
    """The values at a path, in order; None if a name is missing, or if `[*]` meets something other than a list."""
    values = [value]
    for step in steps:
        if step is None:
            lists = (value if isinstance(value, list | tuple) else [None] for value in values)
            values = [element for elements in lists for element in elements]
        else:
            values = [value.get(step) if isinstance(value, Mapping) else None for value in values]
    return values


def replaced(value: Any, steps: Steps, changes: Iterator[Any]) -> Any:
    """A copy of `value` with the values at a path replaced by those in `changes`, in the order of `find`.

    Containers outside the path are shared with `value`.
    """
    if not steps:
        return next(changes)
    step, remaining = steps[0], steps[1:]
    if step is None:
        elements = value if isinstance(value, list | tuple) else None
        return value if elements is None else [replaced(element, remaining, changes) for element in elements]
    if isinstance(value, Mapping) and step in value:
        return {**value, step: replaced(value[step], remaining, changes)}
    return value
