"""The recipe of lengths: what they were counted with, kept with them, and compared before they are used."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from jinx._core import Reader
from jinx._views.meta import counted
from jinx.errors import MismatchError

# How to read each part of a recipe.
_PARTS = {
    "tokenizer": "tokenizer",
    "chat_template": "chat template",
    "image_rule": "image rule",
    "image_token": "image token",
    "text_column": "text column",
    "image_column": "image column",
    "function": "function",
}


def require_same_settings(dataset: Reader, mine: Mapping[str, Any]) -> None:
    """Refuse lengths that were counted otherwise than samples will be encoded, or of some of which nothing is known.

    Raises:
        MismatchError: They differ; the message names each difference.
    """
    found = counted(dataset)
    if all(one.settings is None for one in found):
        return
    require_one_way_of_counting([dataset])
    told: list[str] = []
    for one in found:
        which = f" of {one.file}" if len(found) > 1 else ""
        if one.settings is None:
            told.append(f"{one.file} does not say how its lengths were counted")
            continue
        parts = [_difference(name, one.settings.get(name), mine.get(name)) for name in _differing(one.settings, mine)]
        told += (
            [f"the lengths{which or ' of this dataset'} were counted otherwise: {'; '.join(parts)}"] if parts else []
        )
    if told:
        raise MismatchError(f"{'; '.join(told)}; use the same here, or run jinx annotate again")


def require_one_way_of_counting(datasets: Iterable[Reader]) -> None:
    """Refuse lengths of several files that were counted in different ways.

    Raises:
        MismatchError: They were; the message names the files and what differs.
    """
    known = [one for dataset in datasets for one in counted(dataset) if one.settings is not None]
    for one in known[1:]:
        first, other = known[0].settings or {}, one.settings or {}
        told = [
            f"{_PARTS[name]} {_shown(first.get(name))} and {_shown(other.get(name))}"
            for name in _differing(first, other)
        ]
        if told:
            files = f"in {one.file}" if one.file == known[0].file else f"in {known[0].file} and in {one.file}"
            raise MismatchError(
                f"the lengths {files} were counted in different ways: {'; '.join(told)}; run jinx annotate again with "
                "the same options for both"
            )


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return [name for name in _PARTS if not _same(one, other, name)]


def _same(stored: Mapping[str, Any], mine: Mapping[str, Any], name: str) -> bool:
    return _identity(stored.get(name)) == _identity(mine.get(name))


def _identity(value: Any) -> Any:
    return cast("Mapping[str, Any]", value).get("hash") if isinstance(value, Mapping) else value


def _difference(name: str, stored: Any, mine: Any) -> str:
    return f"{_PARTS[name]} {_shown(stored)} then, {_shown(mine)} now"


def _shown(value: Any) -> str:
    if not isinstance(value, Mapping):
        return "none" if value is None else repr(value)
    known = cast("Mapping[str, Any]", value)
    return " ".join(str(part) for part in (known.get("name"), f"({str(known.get('hash'))[:12]})") if part)
