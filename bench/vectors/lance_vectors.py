"""Vectors written as a Lance dataset: python -m bench.vectors.lance_vectors DATASET VALUES.npy. Prints the seconds."""

import json
import shutil
import sys
import time
from pathlib import Path

import lance  # pyright: ignore[reportMissingImports] - it is in an environment of its own
import numpy as np
import pyarrow as pa

from bench.views.lance_column import sync


def main() -> None:
    """Write the dataset."""
    path, vectors = Path(sys.argv[1]), np.load(sys.argv[2])
    shutil.rmtree(path, ignore_errors=True)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    before, start = time.process_time(), time.perf_counter()
    lance.write_dataset(pa.table({"emb": lists}), str(path))
    sync(path)
    print(json.dumps({"wall": time.perf_counter() - start, "cpu": time.process_time() - before}))


if __name__ == "__main__":
    main()
