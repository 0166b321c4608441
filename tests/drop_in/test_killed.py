"""Training with two workers, killed in the middle of an epoch and resumed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from drop_in.shards import write_small

SCRIPT = Path(__file__).with_name("training.py")


def run(remote: Path, work: Path, kind: str) -> list[str]:
    """The samples in the order in which they came, over two processes, of which the first is killed."""
    work.mkdir()
    command = [
        sys.executable,
        str(SCRIPT),
        str(remote),
        str(work / "local"),
        str(work / "state"),
        str(work / "log"),
        kind,
    ]
    # A group of its own, so that the workers are killed too.
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        os.killpg(process.pid, signal.SIGKILL)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (work / "log").read_text().split()


@pytest.mark.timeout(300)
def test_killed_and_resumed_it_gives_what_the_unpatched_reader_gives(tmp_path: Path) -> None:
    remote = write_small(tmp_path / "remote", compression="zstd")
    theirs = run(remote, tmp_path / "theirs", "plain")
    ours = run(remote, tmp_path / "ours", "patched")
    assert len(theirs) >= 200
    assert ours == theirs
