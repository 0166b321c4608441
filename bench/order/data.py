"""The datasets, in the form that each contestant reads."""

import subprocess
import sys
from pathlib import Path

import numpy as np

import jinx
from bench.order.contestants import MLDATAFORGE
from bench.order.rows import media_rows

ROWS_AT_ONCE = 1 << 20


def make_media(place: Path, count: int, *, is_large: bool) -> None:
    """Media samples for all contestants; the large ones without MLDataForge's files."""
    place.mkdir(parents=True)
    with jinx.Writer(place / "in.jinx", compression=None) as writer:
        writer.write_many(media_rows(count))
    jinx.convert(place / "in.jinx", place / "in.parquet", compression="none")
    save_hugging_face(place)
    if is_large:
        return
    subprocess.run([MLDATAFORGE, "-W", "ignore", "-m", "bench.order.old", place, str(count)], check=True)


def make_rows(place: Path, count: int) -> None:
    """Small rows: an id, a float key and a short string."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    place.mkdir(parents=True)
    draw = np.random.Generator(np.random.PCG64(1))
    schema = pa.schema([("id", pa.int64()), ("score", pa.float64()), ("name", pa.string())])
    with pq.ParquetWriter(place / "in.parquet", schema) as writer:
        for start in range(0, count, ROWS_AT_ONCE):
            ids = np.arange(start, min(start + ROWS_AT_ONCE, count))
            names = [f"name {number % 9973}" for number in ids.tolist()]
            writer.write_table(pa.table([ids, draw.random(len(ids)), names], schema=schema))
    jinx.convert(place / "in.parquet", place / "in.jinx")
    save_hugging_face(place)


def save_hugging_face(place: Path) -> None:
    """The Parquet file as `save_to_disk` writes it, by a process of its own, so that its memory is not ours."""
    code = (
        "import sys; from datasets import Dataset; "
        "Dataset.from_parquet(sys.argv[1], cache_dir=sys.argv[2]).save_to_disk(sys.argv[3])"
    )
    paths = [place / "in.parquet", place / "cache", place / "hf"]
    subprocess.run([sys.executable, "-W", "ignore", "-c", code, *paths], check=True, capture_output=True)
