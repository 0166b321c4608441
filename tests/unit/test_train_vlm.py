"""The training script of the examples: killed and started again, it has the same losses."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("tokenizers")

import train_vlm

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SCRIPT = Path(train_vlm.__file__)


def start(work: Path, steps: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, SCRIPT, "--work", work, "--steps", str(steps), "--samples", "60"])


def losses(work: Path) -> list[str]:
    log = work / "log.txt"
    return log.read_text("utf-8").splitlines() if log.exists() else []


def test_a_killed_run_resumes_with_the_same_losses(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert start(whole, 24).wait(200) == 0
    process = start(killed, 24)
    while process.poll() is None and len(losses(killed)) < 8:
        time.sleep(0.005)
    process.kill()
    process.wait(30)
    assert len(losses(killed)) < 24
    assert (killed / "checkpoint.pt").exists()
    assert start(killed, 24).wait(200) == 0
    assert losses(killed) == losses(whole)
    first, last = (float(losses(whole)[i].split()[1]) for i in (0, -1))
    assert last < 0.9 * first
