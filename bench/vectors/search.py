"""Vectors written, and searched exactly."""

import os
from pathlib import Path
from typing import Any

import numpy as np

import jinx
from bench.vectors import peers
from bench.vectors.columns import sync
from bench.views.columns import write_many
from bench.views.rounds import Record, Step, alternate

WRITE, NEAREST = "write vectors", "exact top 10"
DISK, PARQUET, LANCE, FAISS, JINX = "write and fsync", "pyarrow, Parquet", "Lance", "faiss, flat", "jinx"
K = 10
_BLOCK = 1 << 23


def run(place: Path, count: int, width: int, queries: int, rounds: int) -> list[Record]:
    """Write float16 vectors, and find the nearest ones of some queries by cosine.

    Args:
        place: A directory for the files.
        count: The number of vectors.
        width: How many numbers each has.
        queries: The number of queries.
        rounds: How often each contestant takes its turn.
    """
    base = jinx.open(write_many(place / "base.jinx", count))
    vectors = made(count, width)
    values, view = place / "vectors.npy", place / "vectors.jinx"
    np.save(values, vectors)
    writers: dict[str, Step] = {
        DISK: lambda: _raw(vectors, place / "vectors.raw"),
        JINX: lambda: base.with_columns({"emb": vectors}).save(view, overwrite=True) and None,
        PARQUET: lambda: _parquet(vectors, place / "vectors.parquet"),
        LANCE: lambda: peers.measured("bench.vectors.lance_vectors", place / "vectors.lance", values),
    }
    records = alternate(WRITE, writers, count=count, rounds=rounds)
    for name in ("vectors.raw", "vectors.parquet"):
        (place / name).unlink()
    asked = made(queries, width, seed=9).astype(np.float32)
    np.save(place / "queries.npy", asked)
    dataset = jinx.open(view)
    dataset.nearest(asked[:1], "emb", k=1)  # faiss has its vectors in memory, too
    found: dict[str, Any] = {}

    def ours() -> None:
        found["jinx"] = dataset.nearest(asked, "emb", k=K).positions

    def theirs() -> dict[str, Any]:
        told = peers.measured("bench.vectors.faiss_flat", values, place / "queries.npy", K)
        found["faiss"] = told.pop("positions", None)
        return told

    records += alternate(NEAREST, {JINX: ours, FAISS: theirs}, count=queries, rounds=rounds)
    if found["faiss"] is not None:
        # faiss adds float32 up: neighbours that are equally near to seven digits may change places.
        shared = [len(set(a) & set(b)) for a, b in zip(found["jinx"].tolist(), found["faiss"], strict=True)]
        records[-1]["agreement"] = sum(shared) / (K * queries)
    return records


def made(count: int, width: int, seed: int = 5) -> Any:
    """Random float16 vectors."""
    random = np.random.Generator(np.random.PCG64(seed))
    vectors = np.empty((count, width), np.float16)
    for start in range(0, count, 8192):
        rows = min(8192, count - start)
        vectors[start : start + rows] = random.standard_normal((rows, width), dtype=np.float32)
    return vectors


def _raw(vectors: Any, path: Path) -> None:
    """The bytes of the vectors, as fast as the disk takes them."""
    data = memoryview(vectors).cast("B")
    with path.open("wb", buffering=0) as file:
        for start in range(0, len(data), _BLOCK):
            file.write(data[start : start + _BLOCK])
        os.fsync(file.fileno())


def _parquet(vectors: Any, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    pq.write_table(pa.table({"emb": lists}), path, compression="none", use_dictionary=False)
    sync(path)
