"""Private memory does not grow with the data: conversions and a pass over all columns, at two small sizes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc"),
    pytest.mark.timeout(300),  # ends hangs; a busy machine needs minutes for the first test's conversions
]

BOUND = 200_000_000


@pytest.fixture(scope="module")
def peaks(tmp_path_factory) -> dict[tuple[float, str], dict]:
    """What `bench.memory` measured, by size and step."""
    directory = tmp_path_factory.mktemp("memory")
    command = [sys.executable, "-m", "bench.memory", "--gb", "0.2", "0.4", "--directory", str(directory), "--json"]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {(line["gb"], line["step"]): line for line in lines}


def test_conversion_and_iteration_are_bounded(peaks):
    assert all(peak["private"] < BOUND for peak in peaks.values())
    whole = peaks[0.4, "iterate jinx"]
    assert whole["private"] < BOUND // 4
    assert int(whole["output"]) == whole["rows"] == 8333


def test_memory_does_not_grow_with_the_size(peaks):
    steps = {step for _, step in peaks}
    assert len(steps) == 5
    for step in steps:
        assert peaks[0.4, step]["private"] < peaks[0.2, step]["private"] + 50_000_000, step
