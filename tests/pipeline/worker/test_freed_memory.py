"""A worker does not fetch the memory of each batch from the system again."""

import os
import platform
import subprocess
import sys

import pytest

BATCHES = """
import resource
from jinx_pipeline.worker.task_runner import TaskRunner
TaskRunner()

def batch():
    return len(b"".join([bytes(500_000) for _ in range(20)]))

batch()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    batch()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library than glibc")


def pages_of_10_batches(**settings: str) -> int:
    """Pages that the system gave, of the 49,000 that the batches have."""
    calm = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    command = [sys.executable, "-c", BATCHES]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**calm, **settings})
    return int(done.stdout)


def test_the_pages_of_a_batch_serve_the_next_one():
    assert pages_of_10_batches() < 5_000


def test_settings_of_the_user_stay():
    assert pages_of_10_batches(MALLOC_TRIM_THRESHOLD_="100000", MALLOC_MMAP_THRESHOLD_="100000") > 40_000
