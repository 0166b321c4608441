"""The types of the columns that an adapter adds, as a recipe writes them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

_PLAIN: Final[Mapping[str, Any]] = {
    "bool": pa.bool_(),
    "int64": pa.int64(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
}
_OF_OTHERS: Final = re.compile(r"(list|struct)<(.*)>", re.DOTALL)


def arrow_type(text: str) -> Any:
    """The type that a text names: `int64`, `list<float32>`, `struct<boxes: list<list<float32>>, label: string>`, ...

    Raises:
        ValueError: It names none.
    """
    text = text.strip()
    if text in _PLAIN:
        return _PLAIN[text]
    found = _OF_OTHERS.fullmatch(text)
    if found is None:
        raise ValueError(f"the unknown type {text!r}; there are {', '.join(_PLAIN)}, list<...> and struct<name: ...>")
    if found[1] == "list":
        return pa.list_(arrow_type(found[2]))
    fields: dict[str, Any] = {}
    for part in _parts(found[2]):
        name, colon, kind = part.partition(":")
        if not colon or not name.strip() or name.strip() in fields:
            raise ValueError(
                f"the unknown type {text!r}: {part.strip()!r} is not a name of its own, a colon and a type"
            )
        fields[name.strip()] = arrow_type(kind)
    return pa.struct(list(fields.items()))


def _parts(text: str) -> Iterator[str]:
    """The parts between commas that are in no angle brackets."""
    depth = start = 0
    for place, character in enumerate(text):
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            yield text[start:place]
            start = place + 1
    yield text[start:]
