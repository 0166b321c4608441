"""Values of one type, as the arrays in which a saved view stores them."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from jinx._optional import require

# The size in bytes of the largest number in a typed column, and the length of the longest vector.
_LARGEST, _LONGEST = 8, 1 << 20
# Units of times that a file can store, and coarser units that are stored as the first of these.
_UNITS = ("s", "ms", "us", "ns")
_COARSE = ("W", "D", "h", "m")
# For each integer type of codes, the largest number of different strings.
_CODES = ((1 << 7, "<i1"), (1 << 15, "<i2"), (1 << 31, "<i4"))


class TypedValues(NamedTuple):
    """The arrays of a column; all numbers are little-endian.

    Attributes:
        dtype: The type of the cells.
        data: The cells, or the UTF-8 of all strings.
        validity: One bit a sample, lowest first, 1 for a value; None if no value is missing.
        width: The numbers of each vector; None for single values.
        offsets: Of strings: where each begins and the last ends, as uint64.
        codes: Of strings: which one each sample has, in the narrowest signed type.
        zone: Of times: a time zone; the times are in UTC.
    """

    dtype: str
    data: bytes
    validity: bytes | None = None
    width: int | None = None
    offsets: bytes | None = None
    codes: bytes | None = None
    zone: str | None = None


def of_array(values: Any, zone: str | None = None) -> TypedValues | None:
    """An array of numbers, vectors or times; None for other arrays."""
    import numpy as np

    if values.ndim == 1 and values.dtype.kind == "M":
        return _of_times(values, zone)
    if not _is_typed(values):
        return None
    plain = cast("Any", np.ma.getdata(values))
    plain = plain.astype("<f8" if plain.dtype.itemsize > _LARGEST else plain.dtype.newbyteorder("<"), copy=False)
    mask = np.ma.getmaskarray(values).reshape(len(plain), plain[:1].size or 1)
    if not (mask == mask[:, :1]).all():
        return None  # a vector has missing numbers
    width = plain.shape[1] if plain.ndim > 1 else None
    return TypedValues(plain.dtype.name, plain.tobytes(), _validity(~mask[:, 0]), width)


def of_codes(codes: Any, strings: Sequence[str]) -> TypedValues:
    """Strings by their codes; a negative code is a missing value.

    Args:
        codes: Integers of shape (n,).
        strings: The strings.
    """
    import numpy as np

    strings = list(strings) or [""]
    dtype = next(dtype for most, dtype in _CODES if len(strings) <= most)
    present = np.asarray(codes) >= 0
    texts = [text.encode() for text in strings]
    return TypedValues(
        "utf8",
        b"".join(texts),
        _validity(present),
        offsets=np.cumsum([0, *map(len, texts)]).astype("<u8").tobytes(),
        codes=np.where(present, codes, 0).astype(dtype).tobytes(),
    )


def of_arrow(values: Any) -> TypedValues | None:
    """A pyarrow array of numbers, bools, times, strings with a dictionary, or vectors; None for others."""
    import numpy as np

    types = require("pyarrow.types", extra="arrow", what="An Arrow column")
    kind = values.type
    if types.is_dictionary(kind):
        return _of_dictionary(values)
    missing = values.is_null().to_numpy(zero_copy_only=False)
    if types.is_timestamp(kind):
        pyarrow = require("pyarrow", extra="arrow", what="An Arrow column")
        ticks = values.view(pyarrow.int64()).fill_null(0).to_numpy(zero_copy_only=False).astype("<i8", copy=False)
        return TypedValues(f"datetime64[{kind.unit}]", ticks.tobytes(), _validity(~missing), zone=kind.tz)
    if types.is_fixed_size_list(kind):
        return _of_lists(values, missing)
    if not (types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)):
        return None
    filled = values.fill_null(False if types.is_boolean(kind) else 0)
    numbers = filled.to_numpy(zero_copy_only=False)
    return of_array(np.ma.MaskedArray(numbers, mask=missing))


def _of_lists(values: Any, missing: Any) -> TypedValues | None:
    """Vectors; None if there is anything but numbers, or if a vector lacks numbers."""
    import numpy as np

    types = require("pyarrow.types", extra="arrow", what="An Arrow column")
    kind = values.type
    if not (types.is_integer(kind.value_type) or types.is_floating(kind.value_type)):
        return None
    width = kind.list_size
    items = values.values.slice(values.offset * width, len(values) * width)
    if items.null_count:
        if items.is_null().to_numpy(zero_copy_only=False).reshape(-1, width)[~missing].any():
            return None
        items = items.fill_null(0)
    numbers = items.to_numpy(zero_copy_only=False).reshape(-1, width)
    if not missing.any():
        return of_array(numbers)
    numbers = np.where(missing[:, None], np.zeros(1, numbers.dtype), numbers)
    return of_array(np.ma.MaskedArray(numbers, mask=np.repeat(missing[:, None], width, axis=1)))


def _of_dictionary(values: Any) -> TypedValues | None:
    import numpy as np

    types = require("pyarrow.types", extra="arrow", what="An Arrow column")
    kind = values.type.value_type
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)):
        return of_arrow(values.dictionary_decode())
    strings = values.dictionary.to_pylist()
    codes = values.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    is_null = np.array([text is None for text in strings] or [True])
    missing = values.indices.is_null().to_numpy(zero_copy_only=False)
    missing = missing | is_null[np.where(missing, 0, codes)]
    return of_codes(np.where(missing, -1, codes), [text or "" for text in strings])


def _of_times(values: Any, zone: str | None) -> TypedValues | None:
    import numpy as np

    unit, count = np.datetime_data(values.dtype)
    if unit not in _UNITS + _COARSE:
        return None  # no unit, months, or finer than nanoseconds
    plain = np.ma.getdata(values)
    wanted = unit if unit in _UNITS else "s"
    times = plain.astype(f"<M8[{wanted}]")
    missing = np.isnat(plain) | np.ma.getmaskarray(values)
    if (unit, count) != (wanted, 1) and not (times.astype(plain.dtype) == plain)[~missing].all():
        return None  # the times do not fit into 64 bits of this unit
    ticks = np.where(missing, 0, times.view("<i8"))
    return TypedValues(f"datetime64[{wanted}]", ticks.astype("<i8").tobytes(), _validity(~missing), zone=zone)


def _validity(present: Any) -> bytes | None:
    import numpy as np

    return None if present.all() else np.packbits(present, bitorder="little").tobytes()


def _is_typed(values: Any) -> bool:
    """Whether an array has numbers, or vectors of numbers, of one type."""
    if values.ndim == 1:
        return values.dtype.kind in "biuf"
    return values.ndim == 2 and values.dtype.kind in "iuf" and 0 < values.shape[1] <= _LONGEST  # noqa: PLR2004 - vectors: two dimensions
