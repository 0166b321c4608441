"""An index of faiss: python -m bench.vectors.faiss_ivf VECTORS.npy QUERIES.npy EXACT.npy LISTS TARGET.

Prints the seconds to make it, and those of a search of as few lists, a power of two, as find the target's share of the
exact neighbours.
"""

import json
import sys
import time

import faiss  # pyright: ignore[reportMissingImports] - it is in an environment of its own
import numpy as np


def main() -> None:
    """Make it, and search."""
    vectors = np.load(sys.argv[1], mmap_mode="r")
    queries, exact = np.load(sys.argv[2]).astype(np.float32), np.load(sys.argv[3])
    lists, target = int(sys.argv[4]), float(sys.argv[5])
    width = vectors.shape[1]
    before, begin = time.process_time(), time.perf_counter()
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(width), width, lists, faiss.METRIC_INNER_PRODUCT)
    index.cp.spherical = True
    some = np.random.default_rng(0).permutation(len(vectors))[: 64 * lists]
    index.train(_directions(vectors[np.sort(some)]))
    for start in range(0, len(vectors), 65_536):
        index.add(_directions(vectors[start : start + 65_536]))
    made = {"wall": time.perf_counter() - begin, "cpu": time.process_time() - before}
    asked, probes, recall = _directions(queries), 1, 0.0
    while True:
        index.nprobe = probes
        before, begin = time.process_time(), time.perf_counter()
        _, found = index.search(asked, exact.shape[1])
        times = {"wall": time.perf_counter() - begin, "cpu": time.process_time() - before}
        recall = float(
            np.mean([len({*a} & {*b}) / len(a) for a, b in zip(exact.tolist(), found.tolist(), strict=True)])
        )
        if recall >= target or probes >= lists:
            break
        probes *= 2
    print(json.dumps({**times, "made": made, "recall": recall, "probes": probes}))


def _directions(vectors: np.ndarray) -> np.ndarray:
    block = vectors.astype(np.float32)
    faiss.normalize_L2(block)
    return block


if __name__ == "__main__":
    main()
