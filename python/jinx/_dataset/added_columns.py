"""Columns that a view adds to its samples: arrays, lists, functions, and tables joined by a key."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as short
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from jinx._arguments import encodable
from jinx._core import Reader
from jinx._dataset.columns import column, column_names
from jinx._dataset.own_copy import array_copy, own_copy
from jinx._dataset.positions import positions
from jinx._dataset.selection import at as at_positions
from jinx._dataset.typed_values import TypedValues, of_array, of_arrow, of_codes
from jinx._dataset.view_definition import ViewDefinition
from jinx._optional import require
from jinx._unpickle import rebuild

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

D = TypeVar("D", bound=Reader)
Missing = Literal["null", "drop", "fail"]
_NAMED = 5
# The columns of lengths that training needs, and the metadata key of their settings in Arrow tables.
_LENGTHS = ("num_tokens", "input_ids")
_ARROW_LENGTHS = b"jinx.annotate"
# The number of values from which the type of a list is inferred.
_LOOKED_AT = 1000
_OF_DTYPES = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str", "S": "bytes", "M": "str"}
_OF_ARROW = {
    "bool": ["is_boolean"],
    "int": ["is_integer"],
    "float": ["is_floating"],
    "str": ["is_string", "is_large_string", "is_string_view", "is_timestamp"],
    "bytes": ["is_binary", "is_large_binary", "is_fixed_size_binary", "is_binary_view"],
    "list": ["is_list", "is_large_list", "is_fixed_size_list", "is_list_view", "is_large_list_view"],
    "dict": ["is_struct"],
}


@dataclass(frozen=True, eq=False)
class ListColumn:
    """A list of any Python values."""

    values: Sequence[Any]

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, ("ListColumn", self.values)

    def __getitem__(self, i: Any) -> Any:
        return own_copy(self.values[i])

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self) -> None:
        """None, because the values may be of any type."""

    def type_text(self) -> str:
        """The types of the first values."""
        return types_of(self.values[:_LOOKED_AT])


@dataclass(frozen=True, eq=False)
class ArrayColumn:
    """A numpy array; the rows of a multidimensional array are arrays."""

    values: Any
    # The time zone in which times in UTC are shown.
    zone: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, ("ArrayColumn", self.values, self.zone)

    def __getitem__(self, i: Any) -> Any:
        if self.values.ndim > 1:
            return array_copy(self.values[i])
        import numpy as np

        value: Any = self.values[i]
        if value is np.ma.masked:
            return None
        return cast("Any", value.item()) if isinstance(value, np.generic) else own_copy(value)

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self) -> TypedValues | None:
        """The values of an array of numbers, vectors or times; None for other arrays."""
        return of_array(self.values, self.zone)

    def type_text(self) -> str:
        """The Python type for the dtype."""
        import numpy as np

        if self.values.ndim > 1:
            return "ndarray"
        if self.values.dtype.kind == "O":
            return types_of(self.values[:_LOOKED_AT].tolist())
        text = _OF_DTYPES.get(self.values.dtype.kind) or str(self.values.dtype)
        return f"{text} or None" if np.ma.is_masked(self.values) else text


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

    def numbers(self) -> TypedValues | None:
        """See `ArrayColumn.numbers`."""
        return of_arrow(self.values)

    def type_text(self) -> str:
        """The Python type for the Arrow type."""
        types, kind = require("pyarrow.types", extra="arrow", what="An Arrow column"), self.values.type
        if types.is_null(kind):
            return "None"
        if types.is_dictionary(kind):
            kind = kind.value_type
        text = next(
            (name for name, tests in _OF_ARROW.items() if any(getattr(types, test)(kind) for test in tests)), ""
        )
        return f"{text or kind} or None" if self.values.null_count else text or str(kind)


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """Strings with few different values, as in pandas' categories."""

    codes: Any
    strings: Sequence[str]

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, ("CategoryColumn", self.codes, self.strings)

    def __getitem__(self, i: Any) -> Any:
        code = int(self.codes[i])
        return None if code < 0 else self.strings[code]

    def __len__(self) -> int:
        return len(self.codes)

    def numbers(self) -> TypedValues:
        """See `ArrayColumn.numbers`."""
        return of_codes(self.codes, self.strings)

    def type_text(self) -> str:
        """Always strings."""
        return "str or None" if (self.codes < 0).any() else "str"


@dataclass(frozen=True, eq=False)
class FunctionColumn:
    """The results of a function of the sample, which is called when a value is accessed."""

    function: Callable[[Any], Any]
    dataset: Any

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, ("FunctionColumn", self.function, self.dataset)

    def __getitem__(self, i: Any) -> Any:
        return self.function(self.dataset[i])

    def __len__(self) -> int:
        return len(self.dataset)

    def numbers(self) -> None:
        """None, because the values are not known yet."""

    def type_text(self) -> str:
        """Unknown, because the function is not called for this."""
        return "function"


def is_function(dataset: Any, name: str) -> bool:
    """Whether the values of a view's column, or of part of it, come from a function."""
    definition = dataset._definition
    if definition is None or hasattr(definition, "files"):  # a saved view stores values
        return False
    own = dict(definition.own)
    if name in own:
        return isinstance(own[name], FunctionColumn)
    return any(is_function(part, name) for part in definition.parts)


@dataclass(frozen=True, eq=False)
class JoinedColumn:
    """A column of another dataset, at the positions found by a key; -1 means None."""

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
        """None, because the values are read on access."""

    def type_text(self) -> str:
        """The type of the column in the other dataset."""
        text: str = self.dataset.schema[self.name]
        return f"{text} or None" if (self.positions < 0).any() and "None" not in text.split(" or ") else text


def types_of(values: Sequence[Any]) -> str:
    """The Python types of values, in words."""
    names = {None if value is None else type(value).__name__ for value in values}
    return " or ".join([*sorted(name for name in names if name), *(["None"] if None in names or not names else [])])


def with_columns(dataset: D, added: Any, on: str | None, missing: Missing) -> D:
    """See `Dataset.with_columns`."""
    if missing not in {"null", "drop", "fail"}:
        raise ValueError(f"missing={missing!r} is not known; use 'null', 'drop' or 'fail'")
    if on is not None:
        return _join(dataset, added, on, missing)
    if not isinstance(added, Mapping):
        kind = type(added).__name__
        raise TypeError(f"columns are given as a dict of names and values, not as {kind}; to join, give on=")
    own = [(name, _column(dataset, name, values)) for name, values in cast("Mapping[str, Any]", added).items()]
    return _added(dataset, own)


def _added(dataset: D, own: "list[tuple[str, Any]]", lengths: str | None = None) -> D:
    for name, values in own:
        if len(values) != len(dataset):
            raise ValueError(f"the column {name!r} has {len(values)} values for {len(dataset)} samples")
    definition = ViewDefinition((dataset._derive(transforms=[], decoders=None),), tuple(own), lengths)
    return dataset._derive(rows=definition.rows(), indices=None, columns=None, definition=definition)


def with_lengths_text(dataset: D, lengths: str) -> D:
    """The dataset with other settings of its lengths; see `ViewDefinition.lengths`."""
    name = next((name for name in _LENGTHS if name in column_names(dataset)), None)
    return (
        dataset if name is None else _added(dataset, [(name, _column(dataset, name, column(dataset, name)))], lengths)
    )


def with_replaced(dataset: D, names: Sequence[str]) -> D:
    """The dataset as if some columns had other values: only to query its facts, not to read it."""
    return _added(dataset, [(name, FunctionColumn(_no_value, dataset)) for name in names])


def _no_value(sample: Any) -> None:
    del sample


def _column(dataset: Reader, name: str, values: Any) -> Any:
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"a column's name is a str, not {type(name).__name__}")
    encodable("the column", name)
    if isinstance(values, ListColumn | ArrayColumn | ArrowColumn | CategoryColumn | FunctionColumn | JoinedColumn):
        return values
    if hasattr(values, "dtype") and (of_pandas := _of_pandas(values)) is not None:
        return of_pandas
    if hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__"):
        return _arrow(values)
    if hasattr(values, "dtype") and hasattr(values, "ndim"):
        return ArrayColumn(_numpy(values))
    if callable(values):
        return FunctionColumn(values, dataset)
    if not _is_sequence(values):
        raise TypeError(f"the column {name!r} is a list, an array or a function, not {type(values).__name__}")
    return ListColumn(list(values))


def _of_pandas(values: Any) -> "ArrayColumn | CategoryColumn | None":
    """A pandas column with a type that numpy does not have; None for other columns."""
    import numpy as np

    dtype = values.dtype
    if hasattr(dtype, "categories") and hasattr(dtype, "ordered"):
        strings = list(dtype.categories)
        if all(isinstance(text, str) for text in strings):
            codes = np.asarray(values.cat.codes if hasattr(values, "cat") else values.codes)
            return CategoryColumn(codes.copy(), strings)
    if hasattr(dtype, "tz") and hasattr(dtype, "unit"):
        return ArrayColumn(np.array(values, dtype=f"datetime64[{dtype.unit}]"), str(dtype.tz))
    return None


def _is_sequence(values: object) -> bool:
    """Whether the values have an order that counts: a set has none, and iterating over a dict would give its keys."""
    return hasattr(values, "__len__") and not isinstance(values, str | bytes | set | frozenset | Mapping)


def _numpy(values: Any) -> Any:
    import numpy as np

    array: Any = np.asanyarray(values)
    # A column of numbers is copied at once, and any other column when it is pickled: copies must not differ because the
    # caller changed the array in between.
    return array.copy() if array.ndim == 1 else array


def _arrow(values: Any) -> ArrowColumn:
    pyarrow = require("pyarrow", extra="arrow", what="A column given as an Arrow array")
    array = values if isinstance(values, pyarrow.Array | pyarrow.ChunkedArray) else pyarrow.chunked_array(values)
    return ArrowColumn(array.combine_chunks() if isinstance(array, pyarrow.ChunkedArray) else array)


def _without_views(values: Any) -> Any:
    """Strings and bytes in a layout from which pyarrow can select."""
    pyarrow = require("pyarrow", extra="arrow", what="Joining an Arrow table")
    plain = {pyarrow.string_view(): pyarrow.large_string(), pyarrow.binary_view(): pyarrow.large_binary()}
    return values.cast(plain[values.type]) if values.type in plain else values


def _join(dataset: D, table: Any, on: str, missing: Missing) -> D:
    """Add the columns of a table whose rows are matched to samples by a key."""
    import numpy as np

    keys, take = _table(table, on)
    place: dict[Any, int] = {}
    for row, key in enumerate(keys):
        if key in place:
            raise ValueError(f"the key {key!r} of {on!r} appears twice in the table: rows {place[key]} and {row}")
        if key is not None:
            place[key] = row
    wanted = _plain(column(dataset, on))
    at = np.array([place.get(key, -1) if _is_key(key) else -1 for key in wanted], dtype=np.int64)
    matched = np.zeros(len(keys), dtype=np.bool_)
    matched[at[at >= 0]] = True
    messages = [
        *_told("samples have a key in {on!r} that the table lacks", on, wanted, at < 0),
        *_told("rows of the table have a key in {on!r} that no sample has", on, keys, ~matched),
    ]
    if messages and missing == "fail":
        raise KeyError("; ".join(messages))
    if messages:
        import warnings

        warnings.warn("; ".join(messages), stacklevel=4)
    if missing == "drop":
        dataset, at = at_positions(dataset, positions(at >= 0, len(dataset))), at[at >= 0]
    own = take(at)
    has_lengths = any(name in _LENGTHS for name, _ in own)
    return _added(dataset, own, _lengths_of(table) if has_lengths else None)


def _lengths_of(table: Any) -> str | None:
    """The settings with which a table's lengths were counted, as JSON text."""
    if isinstance(table, Reader):
        from jinx._saved_views.meta import lengths_text

        return lengths_text(table)
    if isinstance(table, Mapping):
        return None
    metadata: dict[bytes, bytes] = _as_table(table).schema.metadata or {}
    return metadata[_ARROW_LENGTHS].decode() if _ARROW_LENGTHS in metadata else None


def _plain(values: Any) -> list[Any]:
    """A column's values as Python objects, None if one is missing."""
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _keys(values: Any, on: str) -> list[Any]:
    """The keys of a table.

    Raises:
        TypeError: A key is a list or another value that cannot be looked up.
    """
    keys = values.to_pylist() if hasattr(values, "to_pylist") else _plain(values)
    for key in keys:
        if not _is_key(key):
            raise TypeError(
                f"a key of the table's column {on!r} is of type {type(key).__name__}; join by single values"
            )
    return keys


def _is_key(value: Any) -> bool:
    """Whether a value can be a key: lists, dicts and arrays cannot."""
    return getattr(value, "__hash__", None) is not None


def _told(template: str, on: str, keys: list[Any], lacking: "npt.NDArray[np.bool_]") -> list[str]:
    """A list with a note about keys without a counterpart; empty if there are none."""
    places = lacking.nonzero()[0].tolist()
    if not places:
        return []
    few = ", ".join(short(keys[place]) for place in places[:_NAMED]) + (", ..." if len(places) > _NAMED else "")
    return [f"{len(places):,} {template.format(on=on)} ({few})"]


def _as_table(table: Any) -> Any:
    pyarrow = require("pyarrow", extra="arrow", what="Joining an Arrow table")
    return table if isinstance(table, pyarrow.Table) else pyarrow.table(table)


def _table(table: Any, on: str) -> tuple[list[Any], Callable[[Any], list[tuple[str, Any]]]]:
    """The keys of a table, and its other columns at some rows (-1: None)."""
    if isinstance(table, Reader):
        names = [name for name in cast("Any", table).column_names if name != on]
        return _keys(column(table, on), on), lambda at: [(name, JoinedColumn(table, name, at)) for name in names]
    if isinstance(table, Mapping):
        columns = {name: list(values) for name, values in cast("Mapping[str, Any]", table).items()}
        if on not in columns:
            raise KeyError(f"the table has no column {on!r} to join by; it has {', '.join(columns)}")
        keys = _keys(columns.pop(on), on)
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
    pyarrow, arrow_table = require("pyarrow", extra="arrow", what="Joining an Arrow table"), _as_table(table)
    if on not in arrow_table.column_names:
        raise KeyError(f"the table has no column {on!r} to join by; it has {', '.join(arrow_table.column_names)}")
    other_columns = [name for name in arrow_table.column_names if name != on]

    def taken(at: Any) -> list[tuple[str, Any]]:
        rows = pyarrow.array(at, mask=at < 0)
        return [(name, _arrow(_without_views(arrow_table.column(name)).take(rows))) for name in other_columns]

    return _keys(arrow_table.column(on), on), taken
