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
        found = _STEP.match(path, place)
        if found is None:
            raise ValueError(
                f"{path!r} is not a path at character {place}: write names with dots, [*] for the elements of a list, "
                'and names that hold dots, brackets or quotes as "a.b", with each quote in them doubled'
            )
        quoted, plain, stars, dot = found.groups()
        steps.append(plain if quoted is None else quoted.replace('""', '"'))
        steps.extend([None] * (len(stars) // 3))
        place, ended = found.end(), not dot
    return tuple(steps)


def text_of(steps: Steps) -> str:
    """The path as it is written."""
    text = ""
    for step in steps:
        if step is None:
            text += "[*]"
            continue
        name = '"' + step.replace('"', '""') + '"' if re.search(r'[."\[\]]', step) else step
        text += f".{name}" if text else name
    return text


def find(value: Any, steps: Steps) -> list[Any]:
    """What a path leads to, in order; missing steps give nothing."""
    found = [value]
    for step in steps:
        if step is None:
            found = [element for value in found if isinstance(value, list | tuple) for element in value]
        else:
            found = [value[step] for value in found if isinstance(value, Mapping) and step in value]
    return found


def replaced(value: Any, steps: Steps, change: Iterator[Any]) -> Any:
    """A copy of `value` where each thing that the path leads to is the next of `change`, in the order of `find`.

    Containers outside of the path are shared with `value`.
    """
    if not steps:
        return next(change)
    step, rest = steps[0], steps[1:]
    if step is None:
        return [replaced(element, rest, change) for element in value] if isinstance(value, list | tuple) else value
    if isinstance(value, Mapping) and step in value:
        return {**value, step: replaced(value[step], rest, change)}
    return value
