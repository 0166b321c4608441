"""Batches, and exports to other libraries: Arrow, pandas, Hugging Face."""

from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any, Literal

from jinx._core import Reader, take_stream_failure
from jinx._dataset.columns import column_names, packed
from jinx._dataset.positions import positions
from jinx._dataset.selection import at, select_columns, shard
from jinx._failed_iteration import refuses_after_error
from jinx._optional import require
from jinx.errors import UnsupportedError

ARROW_BATCH_ROWS = 1000
# Batches without a fixed size: a thousand rows each; all rows, without a copy, if only typed columns are requested.
_ANY_ROWS = 0

Columns = str | Iterable[str] | None
Format = Literal["dicts", "columns", "arrow", "numpy"]
Mixed = Literal["error", "json"]


def iter_batches(
    dataset: Reader, batch_size: int, columns: Columns, format: Format, remainder: Literal["drop"] | None
) -> Iterator[Any]:
    """See `Dataset.iter_batches`."""
    if batch_size < 1:
        raise ValueError(f"a batch of {batch_size} samples is impossible")
    if format not in {"dicts", "columns", "arrow", "numpy"}:
        raise ValueError(f"format {format!r} is not known; use 'dicts', 'columns', 'arrow' or 'numpy'")
    if remainder not in {None, "drop"}:
        raise ValueError(f"remainder={remainder!r} is not known; use 'drop' or None")
    return _batches(_chosen(dataset, columns), batch_size, format, drop=remainder == "drop")


def to_list(dataset: Reader) -> list[dict[str, Any]]:
    """See `Dataset.to_list`."""
    return [dict(sample) for batch in _batches(dataset, ARROW_BATCH_ROWS, "dicts") for sample in batch]


def to_pandas(dataset: Reader, columns: Columns) -> Any:
    """See `Dataset.to_pandas`."""
    pandas = require("pandas", extra="pandas", what="to_pandas")
    chosen = _chosen(dataset, columns)
    names = column_names(chosen)
    columns = to_columns(to_list(chosen), names)
    # Without columns, only the index gives the number of samples.
    frame = pandas.DataFrame(columns, index=pandas.RangeIndex(len(chosen)))
    for name, values in columns.items():
        if _changes_as_float(frame[name].dtype, values):
            frame[name] = _exact_series(pandas, values)
    return frame


def _changes_as_float(dtype: Any, values: list[Any]) -> bool:
    """Whether pandas turned integers into floats that do not equal them."""
    return dtype == "float64" and any(isinstance(value, Integral) and float(value) != int(value) for value in values)


def _exact_series(pandas: Any, values: list[Any]) -> Any:
    """A nullable column of 64-bit integers; a column of objects if there are other values."""
    import numpy as np

    integers = [value for value in values if value is not None]
    if all(isinstance(value, Integral) for value in integers):
        for dtype in (np.int64, np.uint64):
            limits = np.iinfo(dtype)
            if limits.min <= min(integers) and max(integers) <= limits.max:
                mask = np.array([value is None for value in values])
                cells = np.array([0 if value is None else int(value) for value in values], dtype=dtype)
                return pandas.Series(pandas.arrays.IntegerArray(cells, mask))
    return pandas.Series(values, dtype=object)


def to_arrow(dataset: Reader, columns: Columns, mixed: Mixed) -> Any:
    """See `Dataset.to_arrow`."""
    pyarrow = require("pyarrow", extra="arrow", what="to_arrow")
    schema, batches = _record_batches(_chosen(dataset, columns), _ANY_ROWS, mixed_json=mixed == "json")
    return pyarrow.Table.from_batches(batches, schema)


def to_hf(dataset: Reader, *, streaming: bool) -> Any:
    """See `Dataset.to_hf`."""
    datasets = require("datasets", extra="hf", what="to_hf")
    if not streaming:
        table = to_arrow(dataset, None, "error")
        if len(dataset) and not table.num_columns:
            raise UnsupportedError("no sample has a column, and a Hugging Face dataset without columns has no rows")
        return datasets.Dataset(table)
    features = None
    if dataset._arrow_schema() is not None and not dataset._transforms:
        pyarrow = require("pyarrow", extra="arrow", what="to_hf")
        features = datasets.Features.from_arrow_schema(pyarrow.schema(dataset))
    parts = max(1, min(len(dataset), 64))
    shards = [shard(dataset, parts, index, None) for index in range(parts)]
    return datasets.IterableDataset.from_generator(_samples, features=features, gen_kwargs={"shards": shards})


def stream(dataset: Reader) -> object:
    """An Arrow C stream over the samples."""
    if dataset._transforms:
        return _transformed_reader(dataset, ARROW_BATCH_ROWS).__arrow_c_stream__()
    return dataset._arrow_stream(_ANY_ROWS, False)  # noqa: FBT003


def stream_schema(dataset: Reader) -> object:
    """The Arrow schema of `stream`."""
    if dataset._transforms:
        return _transformed_reader(dataset, ARROW_BATCH_ROWS).schema.__arrow_c_schema__()
    return dataset._arrow_schema_capsule(False)  # noqa: FBT003


def _chosen(dataset: Reader, columns: Columns) -> Reader:
    return dataset if columns is None else select_columns(dataset, columns)


@refuses_after_error
def _batches(dataset: Reader, batch_size: int, format: Format, *, drop: bool = False) -> Iterator[Any]:
    stop = len(dataset) - len(dataset) % batch_size if drop else len(dataset)
    if format == "arrow":
        yield from _arrow_batches(dataset, batch_size, stop)
        return
    # Read the names once, so that every batch has the same columns in the same order.
    names = column_names(dataset) if format != "dicts" and not dataset._transforms else None
    for start in range(0, stop, batch_size):
        samples = dataset.take(range(start, min(start + batch_size, stop)))
        if format == "dicts":
            yield samples
        else:
            columns = to_columns(samples, names)
            yield columns if format == "columns" else {name: to_array(column) for name, column in columns.items()}


def _transformed_reader(dataset: Reader, batch_rows: int) -> Any:
    """A pyarrow reader of samples from a function; the first batch determines the types."""
    pyarrow = require("pyarrow", extra="arrow", what="Arrow output of a transformed dataset")
    batches = _batches(dataset, batch_rows, "dicts")
    nothing: list[Any] = []
    first = pyarrow.RecordBatch.from_pylist([dict(sample) for sample in next(batches, nothing)])

    def rest() -> Iterator[Any]:
        yield first
        for batch in batches:
            yield pyarrow.RecordBatch.from_pylist([dict(sample) for sample in batch], schema=first.schema)

    return pyarrow.RecordBatchReader.from_batches(first.schema, rest())


def _arrow_batches(dataset: Reader, batch_size: int, stop: int) -> Iterator[Any]:
    pyarrow = require("pyarrow", extra="arrow", what="iter_batches(format='arrow')")
    chosen = dataset if stop == len(dataset) else at(dataset, positions(range(stop), len(dataset)))
    pending: list[Any] = []
    rows = 0
    _, batches = _record_batches(chosen, batch_size, mixed_json=False)
    for batch in batches:
        pending.append(batch)  # large values come in several batches
        rows += batch.num_rows
        while rows >= batch_size:
            table = pyarrow.Table.from_batches(pending)
            yield table.slice(0, batch_size).combine_chunks().to_batches()[0]
            pending, rows = table.slice(batch_size).to_batches(), rows - batch_size
    if rows:
        yield pyarrow.Table.from_batches(pending).combine_chunks().to_batches()[0]


def _record_batches(dataset: Reader, batch_rows: int, *, mixed_json: bool) -> tuple[Any, Iterator[Any]]:
    """The schema of a dataset and its pyarrow batches."""
    if dataset._transforms:
        reader = _transformed_reader(dataset, batch_rows or ARROW_BATCH_ROWS)
        return reader.schema, reader
    pyarrow = require("pyarrow", extra="arrow", what="Arrow output")
    reader = pyarrow.RecordBatchReader.from_stream(ArrowView(dataset, batch_rows, mixed_json=mixed_json))

    def batches() -> Iterator[Any]:
        try:
            yield from reader
        except pyarrow.ArrowException:
            # pyarrow's exception has only the message of our error, so raise our error itself.
            failure = take_stream_failure()
            if failure is None:
                raise
            raise failure from None

    return reader.schema, batches()


class ArrowView:
    """A dataset's Arrow stream with options that the protocol cannot carry."""

    def __init__(self, dataset: Reader, batch_rows: int, *, mixed_json: bool) -> None:
        self.dataset = dataset
        self.batch_rows = batch_rows
        self.mixed_json = mixed_json

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A new stream from the first sample."""
        del requested_schema
        return self.dataset._arrow_stream(self.batch_rows, self.mixed_json)


def to_columns(samples: list[Any], names: list[str] | None = None) -> dict[str, list[Any]]:
    """A dict of lists; None if a sample lacks a column."""
    all_names = dict.fromkeys(names or ())
    for sample in samples:
        all_names.update(dict.fromkeys(sample))
    return {name: [sample.get(name) for sample in samples] for name in all_names}


def to_array(values: list[Any]) -> Any:
    """An ndarray: numbers, and arrays of one shape and dtype, are stacked; others become objects of shape (n,)."""
    import numpy as np

    array = packed(values)
    if isinstance(array, np.ndarray):
        return array  # pyright: ignore[reportUnknownVariableType]
    shapes = {(getattr(value, "dtype", None), getattr(value, "shape", None)) for value in values}
    if len(shapes) == 1 and all(isinstance(value, np.ndarray | np.generic) for value in values):
        return np.stack(values)
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


def _samples(shards: list[Reader]) -> Iterator[dict[str, Any]]:
    for part in shards:
        for sample in part:
            yield dict(sample)
