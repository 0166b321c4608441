"""Compares the settings that lengths were counted with, which are saved with them, before the lengths are used."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from jinx._core import Reader
from jinx._views.meta import counted
from jinx.errors import MismatchError

# The words for each setting in messages.
_PARTS = {
    "tokenizer": "tokenizer",
    "chat_template": "chat template",
    "image_rule": "image rule",
    "image_token": "image token",
    "text_column": "text column",
    "image_column": "image column",
    "function": "function",
}


def require_same_settings(dataset: Reader, current: Mapping[str, Any]) -> None:
    """Refuse lengths that were counted with other settings than those in use, or of which some have no settings.

    Raises:
        MismatchError: The settings differ; the message names each difference.
    """
    entries = counted(dataset)
    if all(entry.settings is None for entry in entries):
        return
    require_one_way_of_counting([dataset])
    problems: list[str] = []
    for entry in entries:
        which = f" of {entry.file}" if len(entries) > 1 else ""
        if entry.settings is None:
            problems.append(f"{entry.file} does not say how its lengths were counted")
            continue
        parts = [
            _difference(name, entry.settings.get(name), current.get(name))
            for name in _differing(entry.settings, current)
        ]
        problems += (
            [f"the lengths{which or ' of this dataset'} were counted otherwise: {'; '.join(parts)}"] if parts else []
        )
    if problems:
        raise MismatchError(f"{'; '.join(problems)}; use the same here, or run jinx annotate again")


def require_one_way_of_counting(datasets: Iterable[Reader]) -> None:
    """Refuse lengths of several files that were counted in different ways.

    Raises:
        MismatchError: The settings differ; the message names the files and each difference.
    """
    entries = [entry for dataset in datasets for entry in counted(dataset) if entry.settings is not None]
    for entry in entries[1:]:
        first, other = entries[0].settings or {}, entry.settings or {}
        differences = [
            f"{_PARTS[name]} {_shown(first.get(name))} and {_shown(other.get(name))}"
            for name in _differing(first, other)
        ]
        if differences:
            files = f"in {entry.file}" if entry.file == entries[0].file else f"in {entries[0].file} and in {entry.file}"
            raise MismatchError(
                f"the lengths {files} were counted in different ways: {'; '.join(differences)}; run jinx annotate "
                "again with the same options for both"
            )


def _differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    return [name for name in _PARTS if not _same(first, second, name)]


def _same(stored: Mapping[str, Any], current: Mapping[str, Any], name: str) -> bool:
    return _identity(stored.get(name)) == _identity(current.get(name))


def _identity(value: Any) -> Any:
    return cast("Mapping[str, Any]", value).get("hash") if isinstance(value, Mapping) else value


def _difference(name: str, stored: Any, current: Any) -> str:
    return f"{_PARTS[name]} {_shown(stored)} then, {_shown(current)} now"


def _shown(value: Any) -> str:
    if not isinstance(value, Mapping):
        return "none" if value is None else repr(value)
    described = cast("Mapping[str, Any]", value)
    return " ".join(str(part) for part in (described.get("name"), f"({str(described.get('hash'))[:12]})") if part)
