"""A whole pipeline run is killed at each of its file-system calls; the same command then ends with the same bytes."""

import json
import subprocess
import sys

import pytest

from fault.killing_runs import OUTPUTS, SITUATIONS

# Of the calls of a run, one in so many; all with `make soak`.
EVERY = 31
CASES = [f"{situation} {output}" for situation in SITUATIONS for output in OUTPUTS]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("case", CASES)
def test_a_run_that_is_killed_at_call_n_is_finished_by_the_same_command(case, shim, directory, child_environment, soak):
    # Other calls for each case.
    first = 1 + 7 * CASES.index(case) % EVERY
    calls = ("1", "1") if soak else (str(EVERY), str(first))
    command = [shim, sys.executable, "-m", "fault.killing_runs", *case.split(), directory, *calls]
    done = subprocess.run(command, env=child_environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["wrong"] == {}
    # A shim that kills nothing would pass as well.
    assert result["tried"] >= 1
    assert result["calls"] > 30
