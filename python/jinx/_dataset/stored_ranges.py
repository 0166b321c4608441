"""Where large values of a column lie in the sidecars, so that a reader can read parts of them."""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from jinx import _core
from jinx._urls import is_url

if TYPE_CHECKING:
    from jinx._dataset.dataset import Dataset

_STORED = re.compile(r"([^.]+)\.raw\.bin")
_STORED_ELEMENT = "..raw.bin."


@dataclass(frozen=True, slots=True)
class StoredRange:
    """Bytes that are stored as they are in a file.

    Attributes:
        path: The file.
        offset: Where they begin.
        length: Their number.
    """

    path: str
    offset: int
    length: int


class StoredRanges:
    """The values of columns of a dataset, with `StoredRange` in place of uncompressed bytes in a sidecar.

    Args:
        dataset: The dataset.
    """

    def __init__(self, dataset: "Dataset") -> None:
        roots, positions, hidden = dataset._roots()
        self._hidden = frozenset([*hidden, *(dataset._decoders or {})])
        self._rows: Dataset | None = None
        self._media: set[str] | None = None
        # Values behind URLs are read as a whole, through the dataset.
        is_local = len(roots) == 1 and not any(map(is_url, roots[0].paths))
        if is_local and roots[0].kind == "jinx" and not dataset._transforms:
            self._rows = dataset._derive(
                rows=roots[0], indices=positions, columns=None, transforms=(), lazy=True, decoders=None
            )
            self._files = roots[0].paths
            self._stops = list(accumulate(samples for samples, _ in roots[0].identities()))
            self._origin = None if positions is None else memoryview(positions).cast("Q")

    def column(self, indices: Sequence[int], name: str, *, exact: bool = False) -> Iterator[Any | None]:
        """The value of each sample; None if it is missing or must be read through the dataset.

        Ranges are not checked against the checksums of the dataset, which cover whole values.

        Args:
            indices: The samples.
            name: The column.
            exact: Whether the values must be those of the dataset apart from ranges in place of bytes: media that have
                a file name are then None.
        """
        is_left = self._rows is None or name in self._hidden
        if self._rows is None or is_left or (exact and self._has_media(name)):
            yield from [None] * len(indices)
            return
        sidecar_of = cache(_core.sidecar_of)  # reads the file's footer
        for index in indices:
            row = index if self._origin is None else self._origin[index]
            file = self._files[bisect_right(self._stops, row)]
            yield _value(json.loads(self._rows[index].raw()), name, file, sidecar_of, exact=exact)

    def _has_media(self, name: str) -> bool:
        """Whether the footers name media in a column, whose samples have dicts with bytes and a file name."""
        if self._media is None and self._rows is not None:
            entries = self._rows._path_stats()
            self._media = {str(entry["path"][0]) for entry in entries if entry.get("media")}
        return name in (self._media or ())


class _OtherFormError(Exception):
    """A value is stored in another form than plain JSON or as it is."""


def _value(
    row: dict[str, Any], name: str, file: str, sidecar_of: Callable[[str], Path | None], *, exact: bool
) -> Any | None:
    if "." in name:
        return None
    keys = [key for key in (name, f"{name}.raw.bin") if key in row]
    if len(keys) != 1:
        return None
    sidecar = sidecar_of(file)
    if sidecar is None:
        return None
    try:
        return _ranged({keys[0]: row[keys[0]]}, str(sidecar), exact=exact)[name]
    except _OtherFormError:
        return None


def _ranged(value: Any, sidecar: str, *, exact: bool) -> Any:
    if isinstance(value, list):
        return [_ranged(element, sidecar, exact=exact) for element in value]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, Any]", value)
    if set(members) == {_STORED_ELEMENT}:
        return _range(members[_STORED_ELEMENT], sidecar, exact=exact)
    result: dict[str, Any] = {}
    for key, member in members.items():
        stored = _STORED.fullmatch(key)
        if stored is not None:
            result[stored.group(1)] = _range(member, sidecar, exact=exact)
        elif "." in key:
            raise _OtherFormError
        else:
            result[key] = _ranged(member, sidecar, exact=exact)
    return result


def _range(pointer: Any, sidecar: str, *, exact: bool) -> StoredRange:
    place = cast("dict[str, Any]", pointer) if isinstance(pointer, dict) else {}
    if not {"offset", "length"} <= set(place) or (exact and "path" in place):
        raise _OtherFormError
    return StoredRange(sidecar, place["offset"], place["length"])
