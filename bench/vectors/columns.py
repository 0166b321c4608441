"""A float column of many samples: written, read and opened."""

import os
from pathlib import Path
from typing import Any

import numpy as np

import jinx
from bench.vectors import peers
from bench.views.columns import write_many
from bench.views.rounds import Record, Step, alternate

ADD, BYTES, READ, OPEN = "add a float column", "size of a float column", "read a float column", "open its view"
PARQUET, ARROW, LANCE, JINX = "pyarrow, Parquet", "Arrow IPC, mapped", "Lance, added column", "jinx"


def run(place: Path, count: int, rounds: int) -> list[Record]:
    """All cases, for `count` samples of one integer each.

    Args:
        place: A directory for the files.
        count: The number of samples.
        rounds: How often each contestant takes its turn.
    """
    import pyarrow as pa

    base = jinx.open(write_many(place / "many.jinx", count))
    scores = np.random.Generator(np.random.PCG64(3)).random(count, dtype=np.float32)
    values = place / "values.npy"
    np.save(values, scores)
    view, parquet, arrow = place / "scored.jinx", place / "scored.parquet", place / "scored.arrow"
    lance = place / "many.lance"
    writers: dict[str, Step] = {
        PARQUET: lambda: _write_parquet(scores, parquet),
        JINX: lambda: base.with_columns({"score": scores}).save(view, overwrite=True) and None,
        LANCE: lambda: peers.measured("bench.views.lance_column", lance, values),
    }
    records = alternate(ADD, writers, count=count, rounds=rounds)
    files = [path for path in (view, view.with_suffix(".binx")) if path.exists()]  # small columns are in the first
    sizes = {PARQUET: parquet.stat().st_size, JINX: sum(path.stat().st_size for path in files)}
    for name, size in sizes.items():
        records += alternate(BYTES, {name: lambda size=size: {"bytes": size}}, count=1, rounds=1)
    table = pa.table({"score": scores})
    with pa.OSFile(str(arrow), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    readers: dict[str, Step] = {
        ARROW: lambda: _sum(_arrow_column(arrow)),
        JINX: lambda: _sum(jinx.open(view).column("score")),
        PARQUET: lambda: _sum(_parquet_column(parquet)),
    }
    records += alternate(READ, readers, count=count, rounds=rounds)
    return records + alternate(OPEN, {JINX: lambda: len(jinx.open(view)) and None}, count=1, rounds=rounds)


def _write_parquet(scores: Any, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"score": scores}), path)
    sync(path)


def sync(path: Path) -> None:
    """Make a file durable."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def _arrow_column(path: Path) -> Any:
    import pyarrow as pa

    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()["score"].chunk(0).to_numpy()


def _parquet_column(path: Path) -> Any:
    import pyarrow.parquet as pq

    return pq.read_table(path, columns=["score"])["score"].to_numpy()


def _sum(values: Any) -> None:
    """Read every value, as whoever reads a column does."""
    if not values.sum(dtype=np.float64):
        raise ValueError("the column is empty")
