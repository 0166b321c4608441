"""The settings and columns from which lengths were counted; they are saved with the lengths and compared before use."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from jinx._annotate.lengths import IDS
from jinx._code_digest import NoStableFormError, code_digest
from jinx._core import Reader
from jinx._saved_views.meta import Counted, counted
from jinx._user_code import FileFunction
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


def function_setting(function: Callable[..., Any]) -> dict[str, str]:
    """The setting that identifies a counting function: its name, and a digest of its code and of the values it uses.

    Raises:
        TypeError: The function uses a value that has no stable form across processes.
    """
    unwrapped = function.function if isinstance(function, FileFunction) else function
    name = str(getattr(function, "__qualname__", type(function).__qualname__))
    try:
        return {"name": name, "hash": code_digest(unwrapped)}
    except NoStableFormError as error:
        raise TypeError(
            f"{name}: lengths are kept with what they were counted with, and the function uses {error}, which has no "
            "form that is the same in every process; make it inside the function, or let pickle take it"
        ) from error


def require_same_settings(dataset: Reader, current: Mapping[str, Any]) -> None:
    """Refuse lengths that were counted with unknown settings, or with settings that differ from the current ones.

    Raises:
        MismatchError: The settings differ; the message names each difference.
    """
    entries = counted(dataset)
    if all(entry.settings is None for entry in entries):
        return
    require_one_way_of_counting([dataset])
    problems = _without_settings(entries)
    for entry in entries:
        if entry.settings is None:
            continue
        which = f"of {entry.file}" if len(entries) > 1 else "of this dataset"
        parts = [
            _difference(name, entry.settings.get(name), current.get(name))
            for name in _differing(entry.settings, current)
        ]
        problems += [f"the lengths {which} were counted otherwise: {'; '.join(parts)}"] if parts else []
    if problems:
        raise MismatchError(f"{'; '.join(problems)}; use the same here, or run jinx annotate again")


def require_tokens(dataset: Reader) -> None:
    """Refuse stored token ids that do not match the lengths, or whose settings are unknown.

    Raises:
        MismatchError: The ids do not belong to the lengths; the message names the file.
    """
    entries = counted(dataset)
    with_settings = [entry for entry in entries if entry.settings is not None]
    if not with_settings:
        return
    require_one_way_of_counting([dataset])
    problems = _without_settings(entries)
    problems += [
        f"{entry.file} has {IDS} that were not kept together with its lengths"
        for entry in with_settings
        if IDS not in _names(entry, "counts")
    ]
    if problems:
        raise MismatchError(
            f"{'; '.join(problems)}; run jinx annotate --tokens again, or give encode= for token ids of your own"
        )


def require_one_way_of_counting(datasets: Iterable[Reader]) -> None:
    """Refuse lengths of several files that were counted differently, and lengths of columns that were replaced since.

    Raises:
        MismatchError: The settings differ, or a column has other values now; the message names the files and each
            difference.
    """
    entries = [entry for dataset in datasets for entry in counted(dataset) if entry.settings is not None]
    _require_current(entries)
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


def require_current_values(dataset: Reader) -> None:
    """Refuse lengths of columns that were replaced since they were counted.

    Raises:
        MismatchError: A column has other values now; the message names the file and the column.
    """
    _require_current(counted(dataset))


def _require_current(entries: Iterable[Counted]) -> None:
    for entry in entries:
        replaced = _names(entry, "replaced")
        if replaced:
            raise MismatchError(
                f"the lengths in {entry.file} were counted before {' and '.join(map(repr, replaced))} got other "
                "values; run jinx annotate again"
            )


def counted_columns(dataset: Reader) -> set[str]:
    """The columns that `annotate` creates."""
    return {name for entry in counted(dataset) for name in _names(entry, "counts")}


def _names(entry: Counted, member: str) -> list[str]:
    names: Any = (entry.settings or {}).get(member)
    return [name for name in cast("list[Any]", names) if isinstance(name, str)] if isinstance(names, list) else []


def _without_settings(entries: Iterable[Counted]) -> list[str]:
    return [f"{entry.file} does not say how its lengths were counted" for entry in entries if entry.settings is None]


def _differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    return [name for name in _PARTS if _identity(first.get(name)) != _identity(second.get(name))]


def _identity(value: Any) -> Any:
    return cast("Mapping[str, Any]", value).get("hash") if isinstance(value, Mapping) else value


def _difference(name: str, stored: Any, current: Any) -> str:
    return f"{_PARTS[name]} {_shown(stored)} then, {_shown(current)} now"


def _shown(value: Any) -> str:
    if not isinstance(value, Mapping):
        return "none" if value is None else repr(value)
    described = cast("Mapping[str, Any]", value)
    return " ".join(str(part) for part in (described.get("name"), f"({str(described.get('hash'))[:12]})") if part)
