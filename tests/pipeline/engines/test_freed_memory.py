"""A worker does not fetch the memory of each batch from the system again."""

import platform
import subprocess
import sys

import pytest

BATCHES = """
import resource
from jinx_pipeline.engines.task_runner import TaskRunner
TaskRunner()

def batch():
    return len(b"".join([bytes(500_000) for _ in range(20)]))

batch()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    batch()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library than glibc")
def test_the_pages_of_a_batch_serve_the_next_one():
    done = subprocess.run([sys.executable, "-c", BATCHES], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 5_000  # and 10 batches have 49,000 pages
