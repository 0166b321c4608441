"""Semantic deduplication next to the products of matrices that it needs.

python -m bench.vectors.dedup VECTORS.npy: prints the seconds of one deduplication, as JSON.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.environments import ROOT
from bench.memory import measure
from bench.views.rounds import Record, alternate

DEDUP, MEMORY, JINX, PRODUCTS = "semantic deduplication", "memory of it", "jinx", "its products of matrices"
_BLOCK = 8192
_ROUNDS = 10
_TRAINED = 256


def run(vectors: Path, rounds: int) -> list[Record]:
    """Deduplicate vectors in a process of its own, and multiply as many numbers.

    Args:
        vectors: A file (.npy) with them.
        rounds: How often.
    """
    count, width = np.load(vectors, mmap_mode="r").shape

    def ours() -> dict[str, Any]:
        command = [sys.executable, "-m", "bench.vectors.dedup", str(vectors)]
        peak = measure(command, ROOT)
        return {**json.loads(peak.output.splitlines()[-1]), "memory": peak.private}

    records = alternate(DEDUP, {JINX: ours, PRODUCTS: lambda: products(count, width)}, count=count, rounds=rounds)
    used = [record.pop("memory") for record in records if "memory" in record]
    return records + alternate(MEMORY, {JINX: lambda: {"bytes": max(used)}}, count=1, rounds=1)


def products(count: int, width: int) -> None:
    """The products of matrices of k-means and of all pairs in clusters of equal size, in blocks of the same shape."""
    clusters = max(round(count**0.5), 1)
    random = np.random.Generator(np.random.PCG64(1))
    block = random.standard_normal((min(_BLOCK, count), width), dtype=np.float32)
    centres = random.standard_normal((clusters, width), dtype=np.float32)
    compared = min(clusters * _TRAINED, count) * _ROUNDS + count
    for _ in range(-(-compared // len(block))):
        block @ centres.T
    members = block[: -(-count // clusters)]
    for _ in range(clusters):
        members @ members.T


def main() -> None:
    """One deduplication."""
    import pyarrow as pa

    from jinx_pipeline import create

    vectors = np.load(sys.argv[1], mmap_mode="r")

    class Tables:
        """The signatures of all samples, as a run reads them from files."""

        def __iter__(self) -> Any:
            for start in range(0, len(vectors), 65_536):
                block = vectors[start : start + 65_536]
                cells = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(block).ravel()), block.shape[1])
                yield pa.table({"vector": cells, "present": np.ones(len(block), np.bool_)})

    operator: Any = create("semantic_deduplicator")
    before, start = time.process_time(), time.perf_counter()
    keep, _ = operator.duplicates(Tables())
    times = {"wall": time.perf_counter() - start, "cpu": time.process_time() - before}
    print(json.dumps({**times, "kept": int(keep.sum())}))


if __name__ == "__main__":
    main()
