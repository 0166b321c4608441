"""Reads the sizes of samples (tokens, images, patches) from the index of a dataset or from arrays."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from jinx._core import Reader, parse_path
from jinx._dataset.added_columns import is_function
from jinx._dataset.columns import column as read_column
from jinx._dataset.columns import column_names, from_index, parse_name
from jinx._dataset.columns import lengths as lengths_of
from jinx._dataset.identity import identity_of
from jinx._dataset.sort_order import parse_key
from jinx._suggest import hint
from jinx.errors import InvalidError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

TOKENS, IMAGES, PATCHES = "num_tokens", "num_images", "num_patches"
_LARGEST = 2**32 - 1


@dataclass(frozen=True)
class Sizes:
    """The sizes of all samples, one source after another.

    Attributes:
        columns: For each name a uint32 array of shape (samples,); `num_tokens` comes first.
        samples: The number of samples of each source.
        sources: The `identity_of` each source; None for arrays.
        lengths: The column of datasets that `num_tokens` was read from.
    """

    columns: "dict[str, npt.NDArray[np.uint32]]"
    samples: tuple[int, ...]
    sources: tuple[dict[str, Any] | None, ...]
    lengths: str = TOKENS


def read_sizes(source: Any, budgets: Sequence[str], lengths: str, also: Sequence[str] = (IMAGES, PATCHES)) -> Sizes:
    """The sizes of a dataset, of arrays, or of several of these.

    Args:
        source: A dataset, a one-dimensional array of lengths, a mapping of names to such arrays, or a list or tuple
            of these.
        budgets: The names of the sizes that are needed, `num_tokens` first.
        lengths: The dataset's column for `num_tokens`.
        also: The names of sizes that are read if every source has them; schedules balance images and patches.

    Raises:
        InvalidError: A column is not indexed, or has values that are not sizes.
        KeyError: A column does not exist.
    """
    import numpy as np

    parts = _parts(source)
    names = {part: "" if len(parts) == 1 else f"source {part}: " for part in range(len(parts))}
    read = [_of_one(part, budgets, also, lengths, names[number]) for number, part in enumerate(parts)]
    shared = [name for name in read[0] if all(name in source_columns for source_columns in read)]
    columns = {
        name: read[0][name] if len(read) == 1 else np.concatenate([source_columns[name] for source_columns in read])
        for name in shared
    }
    sources = tuple(identity_of(part) if isinstance(part, Reader) else None for part in parts)
    return Sizes(columns, tuple(len(source_columns[TOKENS]) for source_columns in read), sources, lengths)


def shown_sizes(dataset: Reader, names: Sequence[str], lengths: str) -> "dict[str, npt.NDArray[np.uint32]]":
    """The sizes with these names that a dataset shows: from its index, or from columns that a view replaces.

    Args:
        dataset: The dataset; the functions of `map` are not called.
        names: Names of sizes.
        lengths: The column for `num_tokens`.

    Raises:
        InvalidError: A column has values that are not sizes, or a sample has none.
    """
    indexed = _Indexed(dataset._derive(transforms=[]) if dataset._transforms else dataset, lengths, "")
    return {name: column for name in names if (column := indexed.shown(name)) is not None}


def datasets_in(source: Any) -> list[Reader]:
    """The datasets among the sources of a plan."""
    return [part for part in _parts(source) if isinstance(part, Reader)]


def _parts(source: Any) -> list[Any]:
    """The sources of a plan: a single source, or several in a list or tuple."""
    is_mixture = isinstance(source, list | tuple) and any(_is_source(part) for part in source)  # pyright: ignore[reportUnknownVariableType]
    return list(source) if is_mixture else [source]  # pyright: ignore[reportUnknownArgumentType]


def _is_source(value: Any) -> bool:
    return isinstance(value, Reader | Mapping) or getattr(value, "ndim", 0) == 1 or isinstance(value, list | tuple)


def _of_one(
    source: Any, budgets: Sequence[str], also: Sequence[str], lengths: str, where: str
) -> "dict[str, npt.NDArray[np.uint32]]":
    optional = [name for name in also if name not in budgets]
    if isinstance(source, Reader):
        given = _Indexed(source, lengths, where)
    elif isinstance(source, str | PathLike):
        raise TypeError(f"{where}a plan is made of an open dataset, not of a path: jinx.open({os.fsdecode(source)!r})")  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(source, Mapping):
        given = _Given(source, where)  # pyright: ignore[reportUnknownArgumentType]
    else:
        given = _Given({TOKENS: source}, where)
    columns = {name: given.required(name) for name in budgets}
    columns |= {name: values for name in optional if (values := given.optional(name)) is not None}
    for name, column in columns.items():
        if len(column) != len(columns[TOKENS]):
            raise InvalidError(
                f"{where}{name} has {len(column)} values, {TOKENS} has {len(columns[TOKENS])}; each sample needs one"
            )
    return columns


class _Given:
    """Arrays by name."""

    def __init__(self, arrays: Mapping[str, Any], where: str) -> None:
        self._arrays = arrays
        self._where = where

    def required(self, name: str) -> "npt.NDArray[np.uint32]":
        if name not in self._arrays:
            raise KeyError(f"{self._where}no sizes are given for {name!r}{hint(name, self._arrays)}")
        return checked(self._arrays[name], f"{self._where}{name}")

    def optional(self, name: str) -> "npt.NDArray[np.uint32] | None":
        return self.required(name) if name in self._arrays else None


class _Indexed:
    """Columns of a dataset that are known without reading samples."""

    def __init__(self, dataset: Reader, lengths: str, where: str) -> None:
        self._dataset = dataset
        self._lengths = lengths
        self._where = where

    def required(self, name: str) -> "npt.NDArray[np.uint32]":
        if not len(self._dataset):  # the columns of an empty dataset may be unknown
            return checked([], name)
        if self._dataset._transforms:
            raise InvalidError(
                f"{self._where}a plan calls no functions, and this dataset has some of map or with_transform: make the "
                "plan of the dataset without them, which also fits the dataset with them, or give an array of lengths"
            )
        column, path, by_length = self._place(name)
        names = column_names(self._dataset)
        if names and path not in names and "." not in path:
            raise KeyError(
                f"{self._where}no column {path!r}{hint(path, names)}; `jinx annotate` adds the number of tokens, "
                "images and patches"
            )
        stored = self._stored(path, by_length=by_length)
        if stored is None and self._is_own(path) and not self._is_function(path):
            return self._read(column, path, by_length=by_length)
        if stored is None:
            has_lengths = name == TOKENS and not by_length and self._stored(path, by_length=True) is not None
            by_its_length = f"; if it holds lists of tokens: lengths='len({path})'" if has_lengths else ""
            raise InvalidError(
                f"{self._where}{column!r} is not in the index as numbers, and a plan reads no samples: write it with "
                f"Writer(..., indexed=[{path!r}]), add it with `jinx annotate`, or give an array of lengths"
                f"{by_its_length}"
            )
        return self._sizes(column, *stored)

    def shown(self, name: str) -> "npt.NDArray[np.uint32] | None":
        """The sizes as samples show them; None if they are hidden, or stored and not indexed."""
        if not len(self._dataset):
            return checked([], name)
        column, path, by_length = self._place(name)
        names = column_names(self._dataset)
        top = path if path in names else parse_path(path)[0]
        if top not in names:
            return None
        stored = self._stored(path, by_length=by_length)
        if stored is not None:
            return self._sizes(column, *stored)
        return self._read(column, path, by_length=by_length) if self._is_own(path) else None

    def _is_own(self, path: str) -> bool:
        """Whether views add the column: then its values are read without the samples of files."""
        return self._own_name(path) in self._dataset._own_columns()

    def _is_function(self, path: str) -> bool:
        """Whether a function gives the values of an added column."""
        return is_function(self._dataset, self._own_name(path))

    def _own_name(self, path: str) -> str:
        return path if path in self._dataset._own_columns() else parse_path(path)[0]

    def _read(self, column: str, path: str, *, by_length: bool) -> "npt.NDArray[np.uint32]":
        values: Any = lengths_of(self._dataset, path) if by_length else read_column(self._dataset, path)
        if isinstance(values, list) and any(map(_is_several, cast("list[Any]", values))):
            raise InvalidError(
                f"{self._where}{column!r} is no number, but has a length in each sample: lengths='len({path})' takes "
                "that as the number of tokens"
            )
        return checked(values, f"{self._where}{column}")

    def _place(self, name: str) -> tuple[str, str, bool]:
        """The column of a size, its path, and whether the size is the length of the value."""
        column = self._lengths if name == TOKENS else name
        path, by_length, is_descending = parse_key(column, column_names(self._dataset))
        if is_descending:
            raise InvalidError(f"{self._where}{column!r}: lengths have no order; leave out the minus sign")
        return column, path, by_length

    def _stored(self, path: str, *, by_length: bool) -> tuple[Any, Any] | None:
        """The numbers of a path in the index, and a mask of the samples with a number."""
        stored = from_index(self._dataset, parse_name(self._dataset, path), "length" if by_length else "value")
        return None if stored is None or isinstance(stored[0], list) else stored

    def _sizes(self, column: str, values: Any, present: Any) -> "npt.NDArray[np.uint32]":
        if present is not None:
            sample = int(present.argmin())
            raise InvalidError(
                f"{self._where}sample {sample} has no {column!r}; select the samples that have one first"
            )
        return checked(values, f"{self._where}{column}")

    def optional(self, name: str) -> "npt.NDArray[np.uint32] | None":
        if len(self._dataset) and name not in column_names(self._dataset):
            return None
        try:
            return self.required(name)
        except InvalidError:
            return None


def _is_several(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str)


def checked(values: Any, name: str) -> "npt.NDArray[np.uint32]":
    """Sizes as uint32.

    Raises:
        InvalidError: The sizes are not a one-dimensional array of integers, or a size is negative.
    """
    import numpy as np

    array: Any = np.asarray(values)
    if array.size == 0:
        array = array.astype(np.uint32)
    mask: Any = getattr(values, "mask", None)
    if mask is not None and np.any(mask):
        raise InvalidError(f"{name}: sample {int(np.argmax(mask))} has no value")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InvalidError(f"{name} is a one-dimensional array of integers, not {array.dtype} of shape {array.shape}")
    if array.dtype.kind == "i" and array.size and array.min() < 0:
        sample = int((array < 0).argmax())
        raise InvalidError(f"{name}: sample {sample} has the size {array[sample]}; a size is 0 or more")
    if array.dtype.itemsize > np.dtype(np.uint32).itemsize:
        array = np.minimum(array, _LARGEST)
    # The plan has its own copy, which nobody else can change.
    return np.array(array, dtype=np.uint32, order="C")
