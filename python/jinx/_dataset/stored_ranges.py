"""The ranges of a column's large values in the sidecars, so that a reader can read parts of values."""

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
# Shorter values behind URLs are read whole, many at a time: a request takes as long as reading this many bytes.
_SHORTEST_REMOTE_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class StoredRange:
    """A range of bytes that a file stores unchanged.

    Attributes:
        path: The file, or the URL of the main file whose sidecar has them.
        offset: Where they begin.
        length: Their number.
        opened: For a URL, the opened rows and the number of their file: its sidecar is read as it was opened.
    """

    path: str
    offset: int
    length: int
    opened: tuple[_core.Rows, int] | None = None


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
        if len(roots) == 1 and roots[0].kind == "jinx" and not dataset._transforms:
            self._rows = dataset._derive(
                rows=roots[0], indices=positions, columns=None, transforms=(), lazy=True, decoders=None
            )
            self._root = roots[0]
            self._files = roots[0].paths
            self._stops = list(accumulate(samples for samples, _ in roots[0].identities()))
            self._origin = None if positions is None else memoryview(positions).cast("Q")

    def column(self, indices: Sequence[int], name: str, *, exact: bool = False) -> Iterator[Any | None]:
        """The value of each sample; None if it is missing or can only be read through the dataset.

        Ranges are not checked against the checksums of the dataset, which cover whole values.

        Args:
            indices: The samples.
            name: The column.
            exact: Whether a writer can store the values like those of the dataset: media that have a file name are then
                None, and values behind URLs, which a writer would read twice.
        """
        is_left = self._rows is None or name in self._hidden
        if self._rows is None or is_left or (exact and self._has_media(name)):
            yield from [None] * len(indices)
            return
        sidecar_of = cache(_core.sidecar_of)  # reads the file's footer
        # This plans the requests for all rows together, and reads no values.
        rows = self._rows.take(indices, []) if any(map(is_url, self._files)) else map(self._rows.__getitem__, indices)
        for index, sample in zip(indices, rows, strict=True):
            row = index if self._origin is None else self._origin[index]
            number = bisect_right(self._stops, row)
            file = self._files[number]
            if not is_url(file):
                yield _value(json.loads(sample.raw()), name, sidecar_of(file), exact=exact)
            elif exact:
                yield None
            else:
                value = _value(json.loads(sample.raw()), name, file, opened=(self._root, number))
                yield value if _longest(value) >= _SHORTEST_REMOTE_BYTES else None

    def _has_media(self, name: str) -> bool:
        """Whether the footers declare media in a column: then samples have dicts with bytes and a file name."""
        if self._media is None and self._rows is not None:
            entries = self._rows._path_stats()
            self._media = {str(entry["path"][0]) for entry in entries if entry.get("media")}
        return name in (self._media or ())


class _OtherFormError(Exception):
    """A value is stored neither as plain JSON nor as unchanged bytes."""


def _value(
    row: dict[str, Any],
    name: str,
    place: str | Path | None,
    *,
    exact: bool = False,
    opened: tuple[_core.Rows, int] | None = None,
) -> Any | None:
    keys = [key for key in (name, f"{name}.raw.bin") if key in row]
    if "." in name or len(keys) != 1 or place is None:
        return None

    def range_of(pointer: Any) -> StoredRange:
        members = cast("dict[str, Any]", pointer) if isinstance(pointer, dict) else {}
        if not {"offset", "length"} <= set(members) or (exact and "path" in members):
            raise _OtherFormError
        return StoredRange(str(place), members["offset"], members["length"], opened)

    try:
        return _ranged({keys[0]: row[keys[0]]}, range_of)[name]
    except _OtherFormError:
        return None


def _ranged(value: Any, range_of: Callable[[Any], StoredRange]) -> Any:
    if isinstance(value, list):
        return [_ranged(element, range_of) for element in value]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, Any]", value)
    if set(members) == {_STORED_ELEMENT}:
        return range_of(members[_STORED_ELEMENT])
    result: dict[str, Any] = {}
    for key, member in members.items():
        stored = _STORED.fullmatch(key)
        if stored is not None:
            result[stored.group(1)] = range_of(member)
        elif "." in key:
            raise _OtherFormError
        else:
            result[key] = _ranged(member, range_of)
    return result


def _longest(value: Any) -> int:
    """The number of bytes in the longest range in a value."""
    if isinstance(value, StoredRange):
        return value.length
    if isinstance(value, dict):
        value = list(cast("dict[str, Any]", value).values())
    return max(map(_longest, cast("list[Any]", value)), default=0) if isinstance(value, list) else 0
