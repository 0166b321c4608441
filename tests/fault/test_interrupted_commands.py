"""Ctrl-C while a command rewrites a dataset: it ends at once with one line, and leaves nothing behind."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import jinx

ROWS = 120_000
COMMANDS = {
    "shuffle": ["shuffle", "in.jinx", "out/all.jinx"],
    "shuffle in two passes": ["shuffle", "in.jinx", "out/all.jinx", "--memory", "2MB"],
    "sort": ["sort", "in.jinx", "out/all.jinx", "--by", "k"],
    "sort by code": ["sort", "in.jinx", "out/all.jinx", "--code", "keys.py:key", "--workers", "2"],
    "dedup": ["dedup", "in.jinx", "out/all.jinx", "--by", "k", "--removed", "out/removed.npy"],
    "shards": ["shuffle", "in.jinx", "out/all", "--shard-size", "5MB"],
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("interrupted")
    with jinx.Writer(place / "in.jinx") as writer:
        writer.write_many({"k": i * 7919 % ROWS, "text": "x" * (i % 500)} for i in range(ROWS))
    (place / "keys.py").write_text("def key(sample):\n    return sample['k']\n")
    return place


def run(
    place: Path, words: list[str], environment: dict[str, str], interrupt_after: float | None
) -> tuple[int, str, float]:
    """Exit code, what was said, and the seconds since the command had opened its input."""
    shutil.rmtree(place / "out", ignore_errors=True)
    (place / "out").mkdir()
    command = [sys.executable, "-m", "jinx", *words]
    # A terminal interrupts the whole group: the command and its worker processes.
    with subprocess.Popen(
        command, cwd=place, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        # Before Python has loaded the command, it is Python that answers.
        while process.poll() is None and not has_open(process.pid, place / "in.jinx"):
            time.sleep(0.001)
        start = time.perf_counter()
        if interrupt_after is not None:
            time.sleep(interrupt_after)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
        return process.returncode, said, time.perf_counter() - start


def has_open(pid: int, path: Path) -> bool:
    try:
        return any(file.samefile(path) for file in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:  # one was closed, or the process has ended
        return False


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_leaves_nothing(name, place, child_environment):
    code, _, calm = run(place, COMMANDS[name], child_environment, None)
    assert code == 0
    whole = sorted(path.name for path in (place / "out").iterdir())
    interrupted, after = 0, 0.85 * calm
    for _ in range(20):
        code, said, _ = run(place, COMMANDS[name], child_environment, after)
        left = sorted(path.name for path in (place / "out").iterdir())
        if name == "dedup" and code != 0 and left == ["all.binx", "all.jinx"]:
            left = whole  # It was interrupted between the two, of which the list comes second.
        if "all.jinx" in left or "all" in left:  # It had ended, all but the process.
            assert left == whole
            assert len(jinx.open(place / COMMANDS[name][2])) == ROWS
            after /= 2  # The calm run had less of the machine, or this process was told late of the open input.
            continue
        # Which of the two Python chooses for `-m` does not matter: a shell reports both as 130.
        assert code in {130, -signal.SIGINT}
        assert said.strip() == "jinx: interrupted"
        assert left == []
        interrupted += 1
        if interrupted == 5:
            break
        after *= 0.75
    assert interrupted, "every command ended before it was interrupted"
