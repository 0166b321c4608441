"""Every call of every writer fails once, in every way: an error and the old data, or success, and nothing left."""

import json
import subprocess
import sys

import pytest

from fault.failing import ACTIONS
from fault.writing import CASES


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", CASES)
def test_call_n_fails_for_every_n(name, shim, directory, child_environment, record_property):
    command = [shim, sys.executable, "-m", "fault.failing", name, directory, *ACTIONS[1:]]
    done = subprocess.run(command, env=child_environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    results = json.loads(done.stdout.splitlines()[-1])
    calls = {action: result["calls"] for action, result in results.items()}
    record_property("calls", calls)
    assert [text for result in results.values() for text in result["wrong"]] == []
    # A shim that fails nothing would pass as well.
    assert calls["ENOSPC"] == calls["EIO"] == calls["kill"] >= 10
    assert calls["always short"] > calls["short"]
    assert calls["often EINTR"] > calls["EINTR"]
