"""A whole pipeline run is killed at each of its file-system calls; the same command then ends with the same bytes."""

import pytest

from fault.killing_runs import OUTPUTS, SITUATIONS

# Of the calls of a run, one in so many; all with `make soak`.
EVERY = 31
CASES = [f"{situation} {output}" for situation in SITUATIONS for output in OUTPUTS]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("case", CASES)
def test_a_run_that_is_killed_at_call_n_is_finished_by_the_same_command(case, kill_runs, soak):
    # Other calls for each case.
    result = kill_runs(case, 1, 1) if soak else kill_runs(case, EVERY, 1 + 7 * CASES.index(case) % EVERY)
    assert result["wrong"] == {}
    # A shim that kills nothing would pass as well.
    assert result["tried"] >= 1
    assert result["calls"] > 30
