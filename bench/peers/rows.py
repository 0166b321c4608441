"""Rows of the source Parquet file, as every peer without a Parquet reader of its own takes them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any


def parquet_rows(source: Path, batch: int = 100) -> Iterator[dict[str, Any]]:
    """Plain dicts; the image is its bytes, out of the struct that Hugging Face writes."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(source) as file:
        for records in file.iter_batches(batch_size=batch):
            for row in records.to_pylist():
                row["image"] = row["image"]["bytes"]
                yield row
