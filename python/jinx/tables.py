"""Batches, and the way into tables: Arrow, pandas, Hugging Face."""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from jinx._optional import require
from jinx.columns import packed
from jinx.views import Views

ARROW_BATCH_ROWS = 1000

Format = Literal["dicts", "columns", "arrow", "numpy"]
Mixed = Literal["error", "json"]


class Tables(Views):
    """Whole batches at once, and other libraries' tables."""

    def iter_batches(
        self,
        batch_size: int,
        *,
        fields: Iterable[str] | None = None,
        format: Format = "dicts",
        drop_last: bool = False,
    ) -> Iterator[Any]:
        """The samples in order, `batch_size` at a time, read and decoded in parallel.

        Args:
            batch_size: Samples in a batch; the last may be smaller.
            fields: Only these fields.
            format: `"dicts"` gives a list of samples; `"columns"` a dict of lists; `"numpy"` a dict of ndarrays, of
                dtype object where the values have no common shape; `"arrow"` a pyarrow RecordBatch.
            drop_last: Leave out a last batch that is smaller.
        """
        if batch_size < 1:
            raise ValueError(f"a batch of {batch_size} samples is impossible")
        if format not in {"dicts", "columns", "arrow", "numpy"}:
            raise ValueError(f"format {format!r} is not known; use 'dicts', 'columns', 'arrow' or 'numpy'")
        chosen = self if fields is None else self.select_columns(fields)
        return chosen._batches(batch_size, format, drop_last=drop_last)

    def _batches(self, batch_size: int, format: Format, *, drop_last: bool) -> Iterator[Any]:
        stop = len(self) - len(self) % batch_size if drop_last else len(self)
        if format == "arrow":
            yield from self._arrow_batches(batch_size, stop)
            return
        # Named here, so that every batch has the same columns in the same order.
        names = self.column_names if format != "dicts" and not self._transforms else None
        for start in range(0, stop, batch_size):
            samples = self.take(range(start, min(start + batch_size, stop)))
            if format == "dicts":
                yield samples
            else:
                columns = to_columns(samples, names)
                yield columns if format == "columns" else {name: to_array(column) for name, column in columns.items()}

    def to_list(self) -> list[dict[str, Any]]:
        """All samples as plain dicts, everything decoded, in memory."""
        return [dict(sample) for batch in self._batches(ARROW_BATCH_ROWS, "dicts", drop_last=False) for sample in batch]

    def to_pandas(self, fields: Iterable[str] | None = None) -> Any:
        """A pandas DataFrame whose cells are the samples' values, unchanged.

        Raises:
            ImportError: pandas is not installed.
        """
        pandas = require("pandas", extra="pandas", what="to_pandas")
        chosen = self if fields is None else self.select_columns(fields)
        return pandas.DataFrame(to_columns(chosen.to_list(), chosen.column_names))

    def to_arrow(self, fields: Iterable[str] | None = None, *, mixed: Mixed = "error") -> Any:
        """A pyarrow Table.

        The types are those the data came with, when it came from Arrow or Parquet; otherwise they are inferred from
        all samples.

        Args:
            fields: Only these fields.
            mixed: What to do with a field whose values have no common type: an error that names it, or its values
                as JSON text (`"json"`).
        """
        pyarrow = require("pyarrow", extra="arrow", what="to_arrow")
        chosen = self if fields is None else self.select_columns(fields)
        reader = pyarrow.RecordBatchReader.from_stream(ArrowView(chosen, ARROW_BATCH_ROWS, mixed_json=mixed == "json"))
        return reader.read_all()

    def to_hf(self, *, streaming: bool = True) -> Any:
        """A Hugging Face `datasets` object over the same samples.

        Args:
            streaming: An `IterableDataset` that reads samples as they are needed; otherwise a `Dataset` with a copy
                in memory.
        """
        datasets = require("datasets", extra="hf", what="to_hf")
        if not streaming:
            return datasets.Dataset(self.to_arrow())
        features = None
        if self._arrow_schema() is not None and not self._transforms:
            pyarrow = require("pyarrow", extra="arrow", what="to_hf")
            features = datasets.Features.from_arrow_schema(pyarrow.schema(self))
        parts = max(1, min(len(self), 64))
        shards = [self.shard(index, parts) for index in range(parts)]
        return datasets.IterableDataset.from_generator(_rows, features=features, gen_kwargs={"shards": shards})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The samples as an Arrow stream, for polars, DuckDB, pyarrow and others; it may be opened many times.

        A schema that a consumer asks for is not applied: the protocol leaves the cast to the consumer.
        """
        del requested_schema
        return self._stream(ARROW_BATCH_ROWS, mixed_json=False)

    def __arrow_c_schema__(self) -> object:
        """The Arrow schema of `__arrow_c_stream__`."""
        if self._transforms:
            return self._mapped_reader(ARROW_BATCH_ROWS).schema.__arrow_c_schema__()
        return self._arrow_schema_capsule(False)  # noqa: FBT003

    def _stream(self, batch_rows: int, *, mixed_json: bool) -> object:
        if self._transforms:
            return self._mapped_reader(batch_rows).__arrow_c_stream__()
        return self._arrow_stream(batch_rows, mixed_json)

    def _mapped_reader(self, batch_rows: int) -> Any:
        """A pyarrow reader over samples that a function returned; their types are those of the first batch."""
        pyarrow = require("pyarrow", extra="arrow", what="Arrow output of a mapped dataset")
        batches = self._batches(batch_rows, "dicts", drop_last=False)
        nothing: list[Any] = []
        first = pyarrow.RecordBatch.from_pylist([dict(sample) for sample in next(batches, nothing)])

        def rest() -> Iterator[Any]:
            yield first
            for batch in batches:
                yield pyarrow.RecordBatch.from_pylist([dict(sample) for sample in batch], schema=first.schema)

        return pyarrow.RecordBatchReader.from_batches(first.schema, rest())

    def _arrow_batches(self, batch_size: int, stop: int) -> Iterator[Any]:
        pyarrow = require("pyarrow", extra="arrow", what="iter_batches(format='arrow')")
        chosen = self if stop == len(self) else self.select(range(stop))
        pending: list[Any] = []
        rows = 0
        for batch in pyarrow.RecordBatchReader.from_stream(ArrowView(chosen, batch_size, mixed_json=False)):
            pending.append(batch)  # a batch of large values comes in pieces
            rows += batch.num_rows
            while rows >= batch_size:
                table = pyarrow.Table.from_batches(pending)
                yield table.slice(0, batch_size).combine_chunks().to_batches()[0]
                pending, rows = table.slice(batch_size).to_batches(), rows - batch_size
        if rows:
            yield pyarrow.Table.from_batches(pending).combine_chunks().to_batches()[0]


class ArrowView:
    """A dataset's Arrow stream with options that the protocol has no place for."""

    def __init__(self, dataset: Tables, batch_rows: int, *, mixed_json: bool) -> None:
        self.dataset = dataset
        self.batch_rows = batch_rows
        self.mixed_json = mixed_json

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A new stream from the first sample."""
        del requested_schema
        return self.dataset._stream(self.batch_rows, mixed_json=self.mixed_json)  # pyright: ignore[reportPrivateUsage]


def to_columns(samples: list[Any], names: list[str] | None = None) -> dict[str, list[Any]]:
    """A dict of lists; None where a sample lacks a field."""
    found = dict.fromkeys(names or ())
    for sample in samples:
        found.update(dict.fromkeys(sample))
    return {name: [sample.get(name) for sample in samples] for name in found}


def to_array(values: list[Any]) -> Any:
    """An ndarray: numbers and arrays of one shape and dtype stacked, everything else as objects of shape (n,)."""
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


def _rows(shards: list[Tables]) -> Iterator[dict[str, Any]]:
    for shard in shards:
        for sample in shard:
            yield dict(sample)
