"""The recipe of lengths: what they were counted with and of, kept with them, and compared before they are used."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from jinx._annotate.code_digest import NoStableFormError, code_digest
from jinx._annotate.lengths import IDS
from jinx._core import Reader
from jinx._user_code import FileFunction
from jinx._views.meta import Counted, counted
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


def told_function(function: Callable[..., Any]) -> dict[str, str]:
    """What a recipe says of a function: its name, and a digest of its code and of the values that it uses.

    Raises:
        TypeError: It uses a value that has no form which is the same in every process.
    """
    known = function.function if isinstance(function, FileFunction) else function
    name = str(getattr(function, "__qualname__", type(function).__qualname__))
    try:
        return {"name": name, "hash": code_digest(known)}
    except NoStableFormError as error:
        raise TypeError(
            f"{name}: lengths are kept with what they were counted with, and the function uses {error}, which has no "
            "form that is the same in every process; make it inside the function, or let pickle take it"
        ) from error


def require_recipe(dataset: Reader, mine: Mapping[str, Any]) -> None:
    """Refuse lengths that were counted otherwise than samples will be encoded, or of some of which nothing is known.

    Raises:
        MismatchError: They differ; the message names each difference.
    """
    found = counted(dataset)
    if all(one.recipe is None for one in found):
        return
    require_alike([dataset])
    told = _unknown(found)
    for one in found:
        if one.recipe is None:
            continue
        which = f"of {one.file}" if len(found) > 1 else "of this dataset"
        parts = [_difference(name, one.recipe.get(name), mine.get(name)) for name in _differing(one.recipe, mine)]
        told += [f"the lengths {which} were counted otherwise: {'; '.join(parts)}"] if parts else []
    if told:
        raise MismatchError(f"{'; '.join(told)}; use the same here, or run jinx annotate again")


def require_tokens(dataset: Reader) -> None:
    """Refuse stored token ids that are not those of the lengths, or of which it is known for some samples alone.

    Raises:
        MismatchError: They are not; the message names the file.
    """
    found = counted(dataset)
    known = [one for one in found if one.recipe is not None]
    if not known:
        return
    require_alike([dataset])
    told = _unknown(found)
    told += [
        f"{one.file} has {IDS} that were not kept together with its lengths"
        for one in known
        if IDS not in _names(one, "counts")
    ]
    if told:
        raise MismatchError(
            f"{'; '.join(told)}; run jinx annotate --tokens again, or give encode= for token ids of your own"
        )


def require_alike(datasets: Iterable[Reader]) -> None:
    """Refuse lengths of several files that were counted in different ways, and lengths of columns that were replaced.

    Raises:
        MismatchError: They were; the message names the files and what differs.
    """
    known = [one for dataset in datasets for one in counted(dataset) if one.recipe is not None]
    for one in known:
        replaced = _names(one, "replaced")
        if replaced:
            raise MismatchError(
                f"the lengths in {one.file} were counted before {' and '.join(map(repr, replaced))} got other values; "
                "run jinx annotate again"
            )
    for one in known[1:]:
        first, other = known[0].recipe or {}, one.recipe or {}
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


def counted_columns(dataset: Reader) -> set[str]:
    """The columns that annotate has made."""
    return {name for one in counted(dataset) for name in _names(one, "counts")}


def _names(one: Counted, member: str) -> list[str]:
    found: Any = (one.recipe or {}).get(member)
    return [name for name in cast("list[Any]", found) if isinstance(name, str)] if isinstance(found, list) else []


def _unknown(found: Iterable[Counted]) -> list[str]:
    return [f"{one.file} does not say how its lengths were counted" for one in found if one.recipe is None]


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return [name for name in _PARTS if _identity(one.get(name)) != _identity(other.get(name))]


def _identity(value: Any) -> Any:
    return cast("Mapping[str, Any]", value).get("hash") if isinstance(value, Mapping) else value


def _difference(name: str, stored: Any, mine: Any) -> str:
    return f"{_PARTS[name]} {_shown(stored)} then, {_shown(mine)} now"


def _shown(value: Any) -> str:
    if not isinstance(value, Mapping):
        return "none" if value is None else repr(value)
    known = cast("Mapping[str, Any]", value)
    return " ".join(str(part) for part in (known.get("name"), f"({str(known.get('hash'))[:12]})") if part)
