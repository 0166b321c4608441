"""Hugging Face `datasets` as Arrow streams, without decoding anything."""

from collections.abc import Iterator
from typing import Any

from jinx._optional import require

_BATCH_ROWS = 1000


def arrow_reader(source: Any) -> Any:
    """A pyarrow RecordBatchReader over a `Dataset` (with its index mapping) or an `IterableDataset`.

    The features must be known. Files that image and audio columns only point to are embedded, as in `push_to_hub`.
    """
    pyarrow = require("pyarrow", extra="arrow", what="converting a Hugging Face dataset")
    table_module = require("datasets.table", extra="hf", what="converting a Hugging Face dataset")
    schema = source.features.arrow_schema

    def batches() -> Iterator[Any]:
        for table in source.with_format("arrow").iter(batch_size=_BATCH_ROWS):
            yield from table_module.embed_table_storage(table_module.table_cast(table, schema)).to_batches()

    return pyarrow.RecordBatchReader.from_batches(schema, batches())


def plain_rows(source: Any) -> Iterator[dict[str, Any]]:
    """The rows of an `IterableDataset` without known features, with images as the bytes of their files.

    Arrow batches would need a type for each column, and the first rows alone do not show it.
    """
    features = require("datasets.features.features", extra="hf", what="converting a Hugging Face dataset")
    for row in source:
        yield features.cast_to_python_objects(row, optimize_list_casting=False)
