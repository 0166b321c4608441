"""The recipe of lengths: what they were counted with, kept with them, and compared before they are used."""

from collections.abc import Mapping
from typing import Any, cast

from jinx._core import Reader
from jinx._views.meta import meta_of
from jinx.errors import MismatchError

MEMBER = "annotate"
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


def recipe_of(dataset: Reader) -> dict[str, Any] | None:
    """The recipe of a dataset's lengths; None if it has none."""
    found = meta_of(dataset).get(MEMBER)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def require_recipe(dataset: Reader, mine: Mapping[str, Any]) -> None:
    """Refuse lengths that were counted otherwise than samples will be encoded.

    Raises:
        MismatchError: They differ; the message names each difference.
    """
    stored = recipe_of(dataset)
    if stored is None:
        return
    told = [_difference(name, stored.get(name), mine.get(name)) for name in _PARTS if not _same(stored, mine, name)]
    if told:
        raise MismatchError(
            f"the lengths of this dataset were counted otherwise: {'; '.join(told)}; use the same here, or run jinx "
            "annotate again"
        )


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
