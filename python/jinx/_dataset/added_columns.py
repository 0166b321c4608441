"""Columns that a view adds to its samples: arrays, lists, functions, and tables joined by a key."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from jinx import _core
from jinx._core import Reader
from jinx._dataset.columns import column
from jinx._dataset.positions import positions
from jinx._reopen import rebuild

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

D = TypeVar("D", bound=Reader)
Missing = Literal["null", "drop", "fail"]
_NAMED = 5


@dataclass(frozen=True, eq=False)
class Recipe:
    """What a view with columns of its own, or of several datasets, is made of; it travels in pickles."""

    parts: tuple[Any, ...]
    own: tuple[tuple[str, Any], ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, ("Recipe", self.parts, self.own)

    def rows(self) -> _core.Rows:
        """The samples."""
        return _core.compose(list(self.parts), list(self.own), [])


@dataclass(frozen=True, eq=False)
class ListColumn:
    """Any Python values."""

    values: Sequence[Any]

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, ("ListColumn", self.values)

    def __getitem__(self, i: Any) -> Any:
        return self.values[i]

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self) -> None:
        """None: the values may be of any type."""


@dataclass(frozen=True, eq=False)
class ArrayColumn:
    """A numpy array; the rows of one with several dimensions are arrays."""

    values: Any

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, ("ArrayColumn", self.values)

    def __getitem__(self, i: Any) -> Any:
        if self.values.ndim > 1:
            return self.values[i]
        value = self.values[i]
        import numpy as np

        return None if value is np.ma.masked else value.item()

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self) -> tuple[str, bytes, bytes | None] | None:
        """dtype, little-endian values and validity bits of a one-dimensional array of numbers."""
        import numpy as np

        if self.values.ndim != 1 or self.values.dtype.kind not in "biuf":
            return None
        values = cast("Any", np.ma.getdata(self.values))
        values = values.astype("<f8" if values.dtype.kind == "f" else values.dtype.newbyteorder("<"), copy=False)
        mask = np.ma.getmaskarray(self.values)
        validity = np.packbits(~mask, bitorder="little").tobytes() if mask.any() else None
        return values.dtype.name, values.tobytes(), validity


@dataclass(frozen=True, eq=False)
class ArrowColumn:
    """A pyarrow array."""

    values: Any

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, ("ArrowColumn", self.values)

    def __getitem__(self, i: Any) -> Any:
        return self.values[i].as_py()

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self) -> tuple[str, bytes, bytes | None] | None:
        """As `ArrayColumn.numbers`."""
        import pyarrow as pa

        kind = self.values.type
        if not (pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            return None
        import numpy as np

        missing = self.values.is_null().to_numpy(zero_copy_only=False)
        filled = self.values.fill_null(False if pa.types.is_boolean(kind) else 0)  # noqa: FBT003 - Arrow's own signature
        values = filled.to_numpy(zero_copy_only=False)
        return ArrayColumn(np.ma.MaskedArray(values, mask=missing)).numbers()


@dataclass(frozen=True, eq=False)
class FunctionColumn:
    """What a function returns for each sample of a dataset, called when the value is touched."""

    function: Callable[[Any], Any]
    dataset: Any

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, ("FunctionColumn", self.function, self.dataset)

    def __getitem__(self, i: Any) -> Any:
        return self.function(self.dataset[i])

    def __len__(self) -> int:
        return len(self.dataset)

    def numbers(self) -> None:
        """None: the values are not known yet."""


@dataclass(frozen=True, eq=False)
class JoinedColumn:
    """A column of another dataset, at the positions that a key gives; -1 for None."""

    dataset: Any
    name: str
    positions: Any

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, ("JoinedColumn", self.dataset, self.name, self.positions)

    def __getitem__(self, i: Any) -> Any:
        at = int(self.positions[i])
        return None if at < 0 else self.dataset[at].get(self.name)

    def __len__(self) -> int:
        return len(self.positions)

    def numbers(self) -> None:
        """None: the values are read when they are touched."""


def with_columns(dataset: D, added: Any, on: str | None, missing: Missing) -> D:
    """See `Dataset.with_columns`."""
    if missing not in {"null", "drop", "fail"}:
        raise ValueError(f"missing={missing!r} is not known; use 'null', 'drop' or 'fail'")
    if on is not None:
        return _join(dataset, added, on, missing)
    if not isinstance(added, Mapping):
        raise TypeError(f"columns are given as a dict of names and values, not as {type(added).__name__}; to join, give on=")
    own = [(name, _column(dataset, name, values)) for name, values in cast("Mapping[str, Any]", added).items()]
    return _added(dataset, own)


def _added(dataset: D, own: "list[tuple[str, Any]]") -> D:
    for name, values in own:
        if len(values) != len(dataset):
            raise ValueError(f"the column {name!r} has {len(values)} values for {len(dataset)} samples")
    recipe = Recipe((dataset._derive(transforms=[], decoders=None),), tuple(own))
    return dataset._derive(rows=recipe.rows(), indices=None, fields=None, recipe=recipe)


def _column(dataset: Reader, name: str, values: Any) -> Any:
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"a column's name is a str, not {type(name).__name__}")
    if isinstance(values, ListColumn | ArrayColumn | ArrowColumn | FunctionColumn | JoinedColumn):
        return values
    if hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__"):
        return _arrow(values)
    if hasattr(values, "dtype") and hasattr(values, "ndim"):
        return ArrayColumn(_numpy(values))
    if callable(values):
        return FunctionColumn(values, dataset)
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise TypeError(f"the column {name!r} is a list, an array or a function, not {type(values).__name__}")
    return ListColumn(values if isinstance(values, list | tuple) else list(values))


def _numpy(values: Any) -> Any:
    import numpy as np

    return values if isinstance(values, np.ndarray) else np.asarray(values)


def _arrow(values: Any) -> ArrowColumn:
    from jinx._optional import require

    pyarrow = require("pyarrow", extra="arrow", what="A column given as an Arrow array")
    known = values if isinstance(values, pyarrow.Array | pyarrow.ChunkedArray) else pyarrow.chunked_array(values)
    return ArrowColumn(known.combine_chunks() if isinstance(known, pyarrow.ChunkedArray) else known)


def _join(dataset: D, table: Any, on: str, missing: Missing) -> D:
    """Columns of a table by key."""
    keys, take = _table(table, on)
    place: dict[Any, int] = {}
    for at, key in enumerate(keys):
        if key in place:
            raise ValueError(f"the key {key!r} of {on!r} appears twice in the table: rows {place[key]} and {at}")
        place[key] = at
    import numpy as np

    wanted: list[Any] = list(column(dataset, on))
    wanted = [value.item() if hasattr(value, "item") else value for value in wanted]
    at = np.array([place.get(key, -1) if _hashable(key) else -1 for key in wanted], dtype=np.int64)
    lacking = [wanted[i] for i in np.flatnonzero(at < 0)[:_NAMED]]
    unused = [key for key in keys if key not in set(wanted)][:_NAMED] if len(set(at[at >= 0].tolist())) < len(keys) else []
    if lacking or unused:
        _report(on, lacking, int((at < 0).sum()), unused, len(keys) - len(set(at[at >= 0].tolist())), missing)
    if missing == "drop" and lacking:
        dataset, at = _kept(dataset, at >= 0), at[at >= 0]
    return _added(dataset, take(at))


def _kept(dataset: D, mask: "npt.NDArray[np.bool_]") -> D:
    from jinx._dataset.selection import at

    return at(dataset, positions(mask, len(dataset)))


def _hashable(key: Any) -> bool:
    return not isinstance(key, list | dict)


def _report(on: str, lacking: list[Any], num_lacking: int, unused: list[Any], num_unused: int, missing: Missing) -> None:
    """Say what has no counterpart: an error with `missing="fail"`, else a warning."""
    told: list[str] = []
    if num_lacking:
        told.append(f"{num_lacking} samples have a {on!r} that the table lacks ({_few(lacking, num_lacking)})")
    if num_unused:
        told.append(f"{num_unused} rows of the table match no sample ({_few(unused, num_unused)})")
    if missing == "fail":
        raise KeyError("; ".join(told))
    import warnings

    warnings.warn("; ".join(told), stacklevel=5)


def _few(values: list[Any], total: int) -> str:
    return ", ".join(map(repr, values)) + (", ..." if total > len(values) else "")


def _table(table: Any, on: str) -> tuple[list[Any], Callable[[Any], list[tuple[str, Any]]]]:
    """The keys of a table, and its other columns at some rows (-1: None)."""
    if isinstance(table, Reader):
        names = [name for name in cast("Any", table).column_names if name != on]
        keys = [value.item() if hasattr(value, "item") else value for value in column(table, on)]
        return keys, lambda at: [(name, JoinedColumn(table, name, at)) for name in names]
    if isinstance(table, Mapping):
        columns = {name: list(values) for name, values in cast("Mapping[str, Any]", table).items()}
        if on not in columns:
            raise KeyError(f"the table has no column {on!r} to join by; it has {', '.join(columns)}")
        keys = columns.pop(on)
        for name, values in columns.items():
            if len(values) != len(keys):
                raise ValueError(f"the table's column {name!r} has {len(values)} values for {len(keys)} keys")
        return keys, lambda at: [
            (name, ListColumn([None if i < 0 else values[i] for i in at])) for name, values in columns.items()
        ]
    if not hasattr(table, "__arrow_c_stream__"):
        raise TypeError(
            f"a table to join is a dict of columns, a jinx dataset, or anything Arrow (pyarrow, polars, pandas), "
            f"not {type(table).__name__}"
        )
    from jinx._optional import require

    pyarrow = require("pyarrow", extra="arrow", what="Joining an Arrow table")
    known = table if isinstance(table, pyarrow.Table) else pyarrow.table(table)
    if on not in known.column_names:
        raise KeyError(f"the table has no column {on!r} to join by; it has {', '.join(known.column_names)}")
    others = [name for name in known.column_names if name != on]

    def taken(at: Any) -> list[tuple[str, Any]]:
        rows = pyarrow.array(at, mask=at < 0)
        return [(name, _arrow(known.column(name).take(rows))) for name in others]

    return known.column(on).to_pylist(), taken
