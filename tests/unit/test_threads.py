"""How many threads the core starts in a process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import jinx

READ_AND_LIST = """
import sys, jinx
from pathlib import Path
ds = jinx.open(sys.argv[1])
ds.column("text")
sum(len(sample["blob"]) for sample in ds.take(range(64)))
names = {task.joinpath("comm").read_text().strip() for task in Path("/proc/self/task").iterdir()}
print(*sorted(name for name in names if name.startswith("jinx")))
"""


@pytest.mark.skipif(sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2, reason="needs /proc and two cores")
@pytest.mark.parametrize(("most", "helpers"), [("1", ""), ("0", "jinx-shared"), ("many", "jinx-shared")])
def test_the_variable_of_rust_libraries_bounds_the_threads(tmp_path: Path, most: str, helpers: str) -> None:
    path = tmp_path / "a.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many({"text": f"text {i}", "blob": bytes(100_000)} for i in range(200))
    done = subprocess.run(
        [sys.executable, "-c", READ_AND_LIST, str(path)],
        env={**os.environ, "RAYON_NUM_THREADS": most},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == helpers
