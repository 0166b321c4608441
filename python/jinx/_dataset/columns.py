"""Reads one column of all samples: from the index if it contains the column, otherwise by scanning the rows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from jinx._core import Reader, parse_path
from jinx._suggest import unknown_column, unknown_member
from jinx.errors import InvalidError, MismatchError, UnsupportedError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

D = TypeVar("D", bound=Reader)

_SCANNED_FOR_NAMES = 1000
_SCALAR_KINDS = {"null", "bool", "int", "float", "str"}
_ABSENT = object()
# The types of columns that are not indexed, by files and path. They are found by reading all rows, once.
_KINDS: dict[tuple[Any, ...], "tuple[np.dtype[Any], bool] | None"] = {}
_MAX_KINDS = 256


def column_names(dataset: Reader) -> list[str]:
    """The top-level names of the view, in the order in which they were first seen."""
    if dataset._transforms:
        first: Any = dataset[0] if len(dataset) else {}
        return list(first) if isinstance(first, Mapping) else []  # pyright: ignore[reportUnknownArgumentType]
    if dataset._shown_columns is not None:
        return list(dataset._shown_columns)
    return dataset._stored_names()


def schema_if_empty(dataset: Reader) -> str | None:
    """The Arrow schema in a file without samples, where nothing else lists the columns; None for any other file.

    Columns whose values have no common Arrow type, such as arrays of several types, are left out.
    """
    names = column_names(dataset)
    if len(dataset) or not names:
        return None
    return dataset._schema_text()


def column(dataset: Reader, name: str) -> Any:
    """See `Dataset.column`."""
    path = parse_name(dataset, name)
    stored = _indexed(dataset, path, "value")
    if stored is not None:
        values, present, is_nullable, is_typed = stored
        if isinstance(values, list):
            return values  # pyright: ignore[reportUnknownVariableType]
        return _masked(values if is_typed else _widened(values), present, is_nullable=is_nullable)
    return _typed_by_files(dataset, path, _values(dataset, path))


def lengths(dataset: Reader, name: str) -> "npt.NDArray[np.int64]":
    """See `Dataset.lengths`."""
    import numpy as np

    values, present = measured_lengths(dataset, parse_name(dataset, name))
    return values if present is None else np.where(present, values, 0)


def measured_lengths(dataset: Reader, path: list[str]) -> "tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_] | None]":
    """Lengths of shape (n,), and a mask of the samples with a value (None: all)."""
    import numpy as np

    stored = from_index(dataset, path, "length")
    if stored is not None and not isinstance(stored[0], list):
        return stored[0].astype(np.int64, copy=False), stored[1]
    if dataset._transforms:
        scanned = [_length_of(value) for value in _gather(dataset, path)]
    else:
        try:
            scanned, exists = dataset._scan(path, "length")
        except UnsupportedError:  # only torch knows the length of a tensor
            scanned = [_length_of(value) for value in _gather(dataset, path)]
        except MismatchError as error:
            if error.path is not None and error.column is None:  # the error concerns a replaced file, not a value
                raise
            raise TypeError(str(error)) from None
        else:
            require_path(dataset, path, exists=exists)
    values = np.array([0 if value is None else value for value in scanned], dtype=np.int64)
    if None not in scanned:
        return values, None
    return values, np.array([value is not None for value in scanned], dtype=np.bool_)


def parse_name(dataset: Reader, name: str) -> list[str]:
    """The names in a column's name or path.

    Raises:
        KeyError: No sample has this column.
    """
    names = column_names(dataset)
    if name in names:
        return [name]
    if not is_encodable(name):
        raise KeyError(unknown_column(name, names))
    path = parse_path(name)
    # Files that do not list their columns, or have no samples, may have any column; the view may hide it.
    if path[0] in names or dataset._transforms or not (names or dataset._hides(path[0])):
        return path
    raise KeyError(unknown_column(name, names) if len(path) == 1 else unknown_member(path, 0, names))


def is_encodable(name: str) -> bool:
    """Whether a file can contain the name: it has no lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def from_index(dataset: Reader, path: list[str], kind: Literal["value", "length"]) -> "tuple[Any, Any] | None":
    """(values, presence or None) of an indexed column in view order; strings are a list of str or None."""
    stored = _indexed(dataset, path, kind)
    return None if stored is None else stored[:2]


def _indexed(
    dataset: Reader, path: list[str], kind: Literal["value", "length"]
) -> "tuple[Any, Any, bool, bool] | None":
    """Like `from_index`, plus whether any sample of the files lacks a value, and if the type is the column's own."""
    if dataset._transforms:
        return None
    stored = _stored(dataset, path, kind)
    if stored is None:
        return None
    values, rows, present, offsets, is_nullable, is_typed, codes = stored
    if offsets is not None and codes is not None:
        return _coded_strings(bytes(values), offsets, codes, rows, present), present, is_nullable, is_typed
    if offsets is not None:
        return _strings(bytes(values), offsets, rows, present), present, is_nullable, is_typed
    return (values if rows is None else values[rows]), present, is_nullable, is_typed


def typed_array(dataset: Reader, path: list[str]) -> "tuple[Any, Any, Any] | None":
    """A column with its own type: the memory-mapped values of all files, the rows of the view, which of them have none.

    The rows are None if the view shows all in their order, and the presence is None if it lacks no value.
    """
    stored = _stored(dataset, path, "value")
    if stored is None or not stored[5] or stored[3] is not None:
        return None
    return stored[:3]


def _stored(dataset: Reader, path: list[str], kind: Literal["value", "length"]) -> "tuple[Any, ...] | None":
    """Values of all files, rows of the view, presence in the view, offsets of strings as in `_indexed`, and codes."""
    if dataset._transforms:
        return None
    stored = dataset._column(path, kind)
    if stored is None:
        return None
    import numpy as np

    dtype, data, validity, offsets, width, is_typed, codes = stored
    rows = None if dataset._indices is None else np.frombuffer(dataset._indices, dtype="<u8").astype(np.int64)
    present, is_nullable = None, False
    if validity is not None:
        bits = np.unpackbits(np.frombuffer(validity, dtype=np.uint8), bitorder="little")
        present = bits[: dataset._base_len()].astype(np.bool_)
        is_nullable = not present.all()
        present = present if rows is None else present[rows]
        present = None if present.all() else present
    if dtype == "utf8":
        if codes is not None:
            width = len(codes) // dataset._base_len() if codes else 1
            codes = np.frombuffer(codes, dtype=f"<i{width}")
        return data, rows, present, offsets or b"", is_nullable, is_typed, codes
    values = np.frombuffer(data, dtype=np.dtype(dtype).newbyteorder("<") if dtype != "bool" else np.bool_)
    values = values if width is None else values.reshape(-1, width)
    return values, rows, present, None, is_nullable, is_typed, None


def packed(values: list[Any]) -> Any:
    """An ndarray if all values are bools, ints or floats that one dtype represents exactly; otherwise the list."""
    kind = _number_kind(values)
    if kind is None:
        return values
    import numpy as np

    try:
        array = np.array(values)
    except OverflowError:
        return values
    # numpy turns lists with both negative integers and integers beyond int64 into floats.
    return array if array.dtype.kind in kind else values


def _number_kind(values: Iterable[Any]) -> str | None:
    """The numpy kinds that can represent all values; None if no kind can."""
    types: set[type[Any]] = {type(value) for value in values}
    if len(types) != 1:
        return None
    return {bool: "b", int: "iu", float: "f"}.get(types.pop())


def _widened(values: Any) -> Any:
    """Integers as int64: the index uses the narrowest type, in which sums and products would overflow."""
    import numpy as np

    is_narrow = values.dtype.kind in "iu" and values.dtype.itemsize < 8  # noqa: PLR2004 - the size of int64
    return values.astype(np.int64) if is_narrow else values


def _masked(values: Any, present: Any, *, is_nullable: bool) -> Any:
    """Numbers as `Dataset.column` returns them: masked if any sample of the files lacks a number."""
    if not is_nullable:
        return values
    import numpy as np

    mask = np.zeros(len(values), dtype=np.bool_) if present is None else ~present
    mask = np.broadcast_to(mask.reshape(-1, *[1] * (values.ndim - 1)), values.shape)
    if values.dtype.kind in "fM" and mask.any():
        values = values.copy()
        values[mask] = np.nan if values.dtype.kind == "f" else np.datetime64("NaT")
    return np.ma.MaskedArray(values, mask=mask)


def _typed_by_files(dataset: Reader, path: list[str], values: list[Any]) -> Any:
    """Values as an array, a masked array or a list; this depends on all samples of the files, not only on this view."""
    present_values = [value for value in values if value is not None]
    if present_values and isinstance(packed(present_values), list):
        return values
    kind = _kind_in_files(dataset, path, values)
    if kind is None:
        return values
    import numpy as np

    dtype, is_nullable = kind
    mask = np.array([value is None for value in values], dtype=np.bool_)
    filler = np.nan if dtype.kind == "f" else 0
    array = np.array([filler if value is None else value for value in values], dtype=dtype)
    return np.ma.MaskedArray(array, mask=mask) if is_nullable else array


def _kind_in_files(dataset: Reader, path: list[str], values: list[Any]) -> "tuple[np.dtype[Any], bool] | None":
    """(dtype, whether any sample lacks a value) for all samples of the files; None if no dtype represents all values.

    If there is a transform, only this view counts: the function is not called for other samples.
    """
    if dataset._indices is not None and not dataset._transforms and dataset._definition is None:
        key = (tuple(dataset._shard_paths), tuple(dataset._identities()), tuple(path))
        if key not in _KINDS:
            if len(_KINDS) >= _MAX_KINDS:
                _KINDS.clear()
            _KINDS[key] = _kind_of(_values(dataset._derive(indices=None), path))
        return _KINDS[key]
    return _kind_of(values)


def _kind_of(values: list[Any]) -> "tuple[np.dtype[Any], bool] | None":
    present_values = [value for value in values if value is not None]
    array = packed(present_values)
    return None if isinstance(array, list) else (array.dtype, len(present_values) < len(values))


def _values(dataset: Reader, path: list[str]) -> list[Any]:
    """The value of every sample, by reading rows; None for samples without one."""
    if not (dataset._transforms or _is_decoded(dataset, path)) and _is_scalar(dataset, path):
        try:
            values, exists = dataset._scan(path, "value")
        except (InvalidError, MismatchError):  # an integer over 64 bits, a list or a dict
            pass
        else:
            require_path(dataset, path, exists=exists)
            return values
    return _gather(dataset, path)


def _gather(dataset: Reader, path: list[str]) -> list[Any]:
    """The value at a path of every sample, as a Python object."""
    values = [_lookup(sample, path, _ABSENT) for sample in _only(dataset, path[0])]
    require_path(dataset, path, exists=any(value is not _ABSENT for value in values))
    return [None if value is _ABSENT else value for value in values]


def require_path(dataset: Reader, path: list[str], *, exists: bool) -> None:
    """Refuse a nested path that no sample has; such a path is a mistake, like an unknown column.

    Args:
        dataset: The view.
        path: The path.
        exists: Whether a sample of this view has the path.

    Raises:
        KeyError: No sample of the files has the path.
    """
    if exists:
        return
    if len(path) == 1:
        # The names in files were checked earlier; names that a transform returns are known only now.
        if dataset._transforms and len(dataset):
            raise KeyError(unknown_column(path[0], column_names(dataset)))
        return
    whole = dataset if dataset._transforms else _only(dataset._derive(indices=None), path[0])
    if not len(whole) or (whole is not dataset and _has(whole, path)):
        return
    members = [levels for sample in whole[:_SCANNED_FOR_NAMES] if (levels := _members(sample, path))]
    depth = max(map(len, members), default=1)
    names = dict.fromkeys(name for levels in members if len(levels) == depth for name in levels[-1])
    if path[depth] in names:  # no sample has a dict there
        depth, names = depth + 1, {}
    raise KeyError(unknown_member(path, depth, names))


def _has(dataset: Reader, path: list[str]) -> bool:
    """Whether any sample has a value at a path."""
    try:
        return dataset._scan(path, "length")[1]
    except (MismatchError, UnsupportedError):  # the value has no length
        return True


def _only(dataset: D, name: str) -> D:
    """The samples with only this column, or with every column if a transform may need it."""
    return dataset if dataset._transforms else dataset._derive(columns=[name])


def _is_decoded(dataset: Reader, path: Sequence[str]) -> bool:
    return path[0] in (dataset._decoders or {})


def _is_scalar(dataset: Reader, path: Sequence[str]) -> bool:
    """Whether all values may be numbers, bools and strings, according to the footers."""
    for entry in dataset._path_stats():
        if list(entry["path"]) == list(path):
            return not entry.get("coded") and not entry.get("media") and set(entry["kinds"]) <= _SCALAR_KINDS
    return True


def _lookup(sample: Any, path: Sequence[str], default: Any = None) -> Any:
    """The value at a path of names; `default` if a step is missing."""
    value = sample
    for name in path:
        try:
            value = value[name]
        except (KeyError, TypeError, IndexError):
            return default
    return value


def _members(sample: Any, path: Sequence[str]) -> list[list[str]]:
    """The names in each dict along a path, as far as the path exists."""
    levels: list[list[str]] = []
    value = sample
    for name in path[:-1]:
        value = _lookup(value, [name])
        if not isinstance(value, Mapping):
            break
        levels.append([str(member) for member in value])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return levels


def _strings(data: bytes | bytearray, offsets: bytes, rows: Any, present: Any) -> list[str | None]:
    """The strings of a utf8 column, for the given rows (None: all)."""
    import numpy as np

    bounds = np.frombuffer(offsets, dtype="<u8").astype(np.int64)
    starts, stops = bounds[:-1], bounds[1:]
    if rows is not None:
        starts, stops = starts[rows], stops[rows]
    values: list[str | None] = [
        data[start:stop].decode("utf-8") for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
    ]
    if present is None:
        return values
    return [value if is_present else None for value, is_present in zip(values, present.tolist(), strict=True)]


def _coded_strings(data: bytes, offsets: bytes, codes: Any, rows: Any, present: Any) -> list[str | None]:
    """The strings of a column with codes, for the given rows (None: all); equal strings share one object."""
    import numpy as np

    strings = np.array(_strings(data, offsets, None, None), dtype=object)
    chosen = strings[codes if rows is None else codes[rows]]
    if present is not None:
        chosen[~present] = None
    values: list[str | None] = chosen.tolist()
    return values


def _length_of(value: Any) -> int | None:
    """`len(value)`, or None for None.

    Raises:
        TypeError: The value has no length.
    """
    return None if value is None else len(value)
