"""A float column added to a Lance dataset of as many rows, in the environment that has Lance.

python -m bench.views.lance_column DATASET VALUES.npy

The dataset is written first if it is missing. Prints the seconds as JSON.
"""

import json
import os
import sys
import time
from pathlib import Path

import lance  # pyright: ignore[reportMissingImports] - it is in an environment of its own
import numpy as np
import pyarrow as pa

ROWS_AT_ONCE = 1 << 20


def sync(directory: Path) -> None:
    """Make every file durable."""
    for path in directory.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)


def main() -> None:
    """Add the column."""
    path, values = Path(sys.argv[1]), np.load(sys.argv[2])
    if not path.exists():
        lance.write_dataset(pa.table({"n": np.arange(len(values))}), str(path))
        sync(path)
    dataset = lance.dataset(str(path))
    table = pa.table({f"score_{dataset.version}": values})
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(ROWS_AT_ONCE))
    before, start = time.process_time(), time.perf_counter()
    dataset.add_columns(reader)
    sync(path)
    print(json.dumps({"wall": time.perf_counter() - start, "cpu": time.process_time() - before}))


if __name__ == "__main__":
    main()
