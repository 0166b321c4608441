"""Samples as JSON for the page: plain values, and objects `{"$": kind, ...}` for what JSON cannot represent."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from jinx._media_types import media_bytes
from jinx._viewer.media_type import mime_of

_LARGEST_INT = 2**53
_MAX_DEPTH = 32
Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Cuts:
    """How much of a sample is sent.

    Attributes:
        text: Characters of a string.
        items: Elements of a list, and members of a dict.
        values: Values of a sample.
    """

    text: int
    items: int
    values: int


CARD = Cuts(text=600, items=24, values=400)
SAMPLE = Cuts(text=200_000, items=2_000, values=50_000)


def row_of(sample: Mapping[str, Any], cuts: Cuts) -> dict[str, Any]:
    """A sample for the page; each value that cannot be read becomes `{"$": "error"}`."""
    encoder = _Encoder(cuts)
    row: dict[str, Any] = {}
    for name in sample:
        try:
            value = sample[name]
        except Exception as error:  # noqa: BLE001 - damaged values, and whatever user code raises
            row[name] = {"$": "error", "text": f"{type(error).__name__}: {error}"[:500]}
        else:
            row[name] = encoder.value(value, (name,))
    return encoder.members(row)


def value_at(value: Any, path: Sequence[str | int]) -> Any:
    """The value at a path of names and numbers.

    Raises:
        KeyError: There is no such value.
    """
    found: Any = value
    for step in path:
        is_there = (isinstance(step, str) and isinstance(found, Mapping) and step in found) or (
            isinstance(step, int) and isinstance(found, list) and 0 <= step < len(found)  # pyright: ignore[reportUnknownArgumentType]
        )
        if not is_there:
            raise KeyError(f"no value at {'.'.join(map(str, path))}")
        found = cast("Any", found)[step]
    return found


class _Encoder:
    """Encodes the values of one sample."""

    def __init__(self, cuts: Cuts) -> None:
        self.cuts = cuts
        self.left = cuts.values

    def value(self, value: Any, path: Path) -> Any:
        self.left -= 1
        if self.left < 0 or len(path) > _MAX_DEPTH:
            return {"$": "cut"}
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value, path)
        if isinstance(value, int | float):
            is_exact = abs(value) < _LARGEST_INT if isinstance(value, int) else math.isfinite(value)
            return value if is_exact else {"$": "number", "text": str(value)}
        return self._container(value, path)

    def _text(self, value: str, path: Path) -> Any:
        if len(value) <= self.cuts.text:
            return _encodable(value)
        return {"$": "text", "text": _encodable(value[: self.cuts.text]), "length": len(value), "path": path}

    def _container(self, value: Any, path: Path) -> Any:
        if isinstance(value, bytes):
            return _media(value, path, None)
        if isinstance(value, Mapping):
            return self._mapping(value, path)  # pyright: ignore[reportUnknownArgumentType]
        if isinstance(value, list | tuple):
            return self._list(value, path)  # pyright: ignore[reportUnknownArgumentType]
        return self._other(value, path)

    def _mapping(self, value: Mapping[Any, Any], path: Path) -> Any:
        data = media_bytes({**value})
        if data is not None:
            return _media(data, (*path, "bytes"), value["path"])
        names = list(value)[: self.cuts.items]
        members = {_encodable(str(name)): self.value(value[name], (*path, str(name))) for name in names}
        if len(value) > len(names):
            return {"$": "dict", "entries": list(members.items()), "length": len(value)}
        return self.members(members)

    def members(self, members: dict[str, Any]) -> Any:
        """A dict; if it has the name `"$"`, it is sent as pairs, so that it is not mistaken for such an object."""
        if "$" not in members:
            return members
        return {"$": "dict", "entries": list(members.items()), "length": len(members)}

    def _list(self, value: Sequence[Any], path: Path) -> Any:
        items = [self.value(item, (*path, index)) for index, item in enumerate(value[: self.cuts.items])]
        return items if len(items) == len(value) else {"$": "list", "items": items, "length": len(value)}

    def _other(self, value: Any, path: Path) -> Any:
        shape = getattr(value, "shape", None)
        if shape == () and hasattr(value, "item"):
            return self.value(value.item(), path)
        if shape is not None:
            return {"$": "array", "dtype": str(getattr(value, "dtype", "")), "shape": [int(size) for size in shape]}
        return {"$": "object", "text": type(value).__name__}


def _media(head: bytes, path: Path, name: object) -> dict[str, Any]:
    media: dict[str, Any] = {"$": "bytes", "type": mime_of(head), "path": path}
    if isinstance(name, str):
        media["name"] = _encodable(name[:500])
    return media


def _encodable(text: str) -> str:
    """The string without lone surrogates, which UTF-8 cannot represent."""
    return text.encode(errors="replace").decode() if any("\ud800" <= char <= "\udfff" for char in text) else text
