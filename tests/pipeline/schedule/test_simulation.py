"""Every order of events: nothing is lost or done twice, and nothing hangs."""

import os
from collections import Counter

import pytest

from pipeline.schedule.simulation import simulate

# 100,000 take five minutes.
SCHEDULES = 100_000 if os.environ.get("JINX_SOAK") else 2_000


@pytest.mark.timeout(1800 if os.environ.get("JINX_SOAK") else 120)
def test_no_schedule_loses_repeats_or_hangs():
    seen: Counter[str] = Counter()
    for seed in range(SCHEDULES):
        try:
            seen += simulate(seed)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
    # The simulation is worth something only if all of this happens.
    rare = {"resume", "decided", "disagreement", "copy", "throttled", "stale", "bad receipt", "quarantined"}
    assert not {kind for kind in {*rare, "losers of a division", "ahead", "given back"} if seen[kind] < 20}, seen
