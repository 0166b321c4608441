"""Hugging Face `datasets` as Arrow streams, nothing decoded."""

from collections.abc import Iterator
from typing import Any

from jinx._optional import require

_BATCH_ROWS = 1000


def arrow_reader(source: Any) -> Any:
    """A pyarrow RecordBatchReader over a `Dataset` (its index mapping respected) or an `IterableDataset`.

    Files that image and audio columns only point to are read in, as `Dataset.to_parquet` does.
    """
    pyarrow = require("pyarrow", extra="arrow", what="converting a Hugging Face dataset")
    table_module = require("datasets.table", extra="hf", what="converting a Hugging Face dataset")
    tables = source.with_format("arrow").iter(batch_size=_BATCH_ROWS)
    schema = None if source.features is None else source.features.arrow_schema

    def batches() -> Iterator[Any]:
        for table in tables:
            yield from _embedded(table, schema, table_module).to_batches()

    if schema is not None:
        return pyarrow.RecordBatchReader.from_batches(schema, batches())
    found = batches()
    first = next(found, None)
    if first is None:
        raise ValueError("the dataset has no rows and no features, so there is nothing to convert")

    def all_batches() -> Iterator[Any]:
        yield first
        yield from found

    return pyarrow.RecordBatchReader.from_batches(first.schema, all_batches())


def _embedded(table: Any, schema: Any, table_module: Any) -> Any:
    if schema is None:
        return table
    return table_module.embed_table_storage(table_module.table_cast(table, schema))
