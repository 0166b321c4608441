"""kill -9 at random moments of commands that rewrite: inputs stay, and an output is whole or not there."""

import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import jinx
from fault.rewriting import COMMANDS, inputs_of, prepare
from fault.rows import digest, files_in
from jinx import _core


@pytest.fixture(scope="module")
def nursery(child_environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "fault.nursery"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=child_environment,
    )
    with process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def run(nursery: subprocess.Popen[str], name: str, out: Path, version: int, kill_after: float | None) -> int:
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    nursery.stdin.write(f"{name}|{out}|{version}|{'' if kill_after is None else kill_after}\n")
    nursery.stdin.flush()
    return int(nursery.stdout.readline())


def contents(out: Path) -> dict[str, str]:
    """The parts of an output, or the output itself, each with a hash of all it holds; empty if there is none."""
    if not out.exists():
        return {}
    if tables := sorted(out.glob("*.parquet")):
        return {table.name: digest(jinx.stream(table)) for table in tables}
    parts = sorted(out.glob("*.jinx")) if out.is_dir() and not (out / "jinx.json").exists() else [out]
    return {part.name: digest(jinx.open(part, verify="full")) for part in parts}


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", COMMANDS)
def test_killed_commands_leave_old_or_new(name, nursery, directory, soak, record_property):
    draw, command = random.Random(name), COMMANDS[name]
    calm, expected, files = [], [], []
    for version in (1, 2):
        out = directory / f"calm{version}" / "target" / command.file
        prepare(out)
        start = time.perf_counter()
        assert run(nursery, name, out, version, None) == 0
        calm.append(time.perf_counter() - start)
        expected.append(contents(out))
        files.append(files_in(out.parent))
    assert expected[0] != expected[1]
    untouched = {path: (inputs_of(out) / path).stat() for path in files_in(inputs_of(out))}
    outcomes = {"killed": 0, "old": 0, "new": 0, "none": 0}
    rounds = 100 if soak else 6
    for number in range(10 * rounds):
        # On a machine that becomes faster meanwhile, commands may end before they are killed.
        if number >= rounds and outcomes["killed"]:
            break
        out = directory / "round" / "target" / command.file
        shutil.copytree(inputs_of(directory / "calm2" / "target" / command.file), inputs_of(out))
        out.parent.mkdir()
        is_there = number % 3 > 0
        if is_there:
            assert run(nursery, name, out, 1, None) == 0
        code = run(nursery, name, out, 2, draw.uniform(0, 1.2 * min(calm)))
        assert code in {0, -signal.SIGKILL}
        found = contents(out)
        is_new = found == expected[1]
        assert is_new or (code and found == (expected[0] if is_there else {})), "a mix, or lost"
        if number % 2:
            _core.clean(str(out.parent))
            assert contents(out) == found
            left = files_in(out.parent) - files[1 if is_new else 0]
            assert left <= {"removed.npy"}
        else:
            assert run(nursery, name, out, 2, None) == 0
            assert contents(out) == expected[1]
            assert files_in(out.parent) == files[1]
        outcomes["killed"] += code != 0
        outcomes["new" if is_new else "old" if is_there else "none"] += 1
        assert {path: (inputs_of(out) / path).stat().st_size for path in files_in(inputs_of(out))} == {
            path: status.st_size for path, status in untouched.items()
        }
        shutil.rmtree(directory / "round")
    record_property("outcomes", outcomes)
    assert outcomes["killed"], "every command ended before it was killed"
