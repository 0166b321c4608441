"""An exact search by faiss: python -m bench.vectors.faiss_flat VECTORS.npy QUERIES.npy K. Prints the seconds.

The index is filled before the clock starts.
"""

import json
import sys
import time

import faiss  # pyright: ignore[reportMissingImports] - it is in an environment of its own
import numpy as np


def main() -> None:
    """Search."""
    vectors = np.load(sys.argv[1], mmap_mode="r")
    queries, k = np.load(sys.argv[2]).astype(np.float32), int(sys.argv[3])
    index = faiss.IndexFlatIP(vectors.shape[1])
    for start in range(0, len(vectors), 65_536):
        block = vectors[start : start + 65_536].astype(np.float32)
        faiss.normalize_L2(block)
        index.add(block)
    faiss.normalize_L2(queries)
    before, begin = time.process_time(), time.perf_counter()
    _, found = index.search(queries, k)
    times = {"wall": time.perf_counter() - begin, "cpu": time.process_time() - before}
    print(json.dumps({**times, "positions": found.tolist()}))


if __name__ == "__main__":
    main()
