"""kill -9 at random moments: the whole old or the whole new dataset, and nothing left behind."""

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
from fault.rows import digest, files_in, files_of, stored
from fault.writing import CASES, Case
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
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        yield process
        process.stdin.close()


def write(nursery: subprocess.Popen[str], name: str, path: Path, version: int, kill_after: float | None) -> int:
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    nursery.stdin.write(f"{name}|{path}|{version}|{'' if kill_after is None else kill_after}\n")
    nursery.stdin.flush()
    return int(nursery.stdout.readline())


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", CASES)
def test_killed_writer_leaves_old_or_new(name, nursery, directory, soak, record_property):
    draw = random.Random(name)
    case = CASES[name]
    calm = []
    for number in range(3):
        path = directory / f"calm{number}" / "target" / case.file
        case.prepare(path, 0)
        case.prepare_source(path, 1)
        start = time.perf_counter()
        assert write(nursery, name, path, 1, None) == 0
        calm.append(time.perf_counter() - start)
    outcomes = {"killed": 0, "old": 0, "new": 0}
    for number in range(2000 if soak else 40):
        path = directory / "round" / "target" / case.file
        before = case.prepare(path, 1)
        case.prepare_source(path, 2)
        code = write(nursery, name, path, 2, draw.uniform(0, 1.2 * sorted(calm)[1]))
        assert code in {0, -signal.SIGKILL}
        found = check(case, path, before, must_be_new=code == 0, clean=number % 2 == 0)
        outcomes["killed"] += code != 0
        outcomes[found] += 1
        shutil.rmtree(directory / "round")
    record_property("outcomes", outcomes)
    assert outcomes["killed"], "every writer ended before it was killed"


def check(case: Case, path: Path, before: list | None, *, must_be_new: bool, clean: bool) -> str:
    """What is there is whole, a next writer works, and nothing else remains; says which of the two is there."""
    after = case.after(before, 2)
    found = stored(path)
    is_new = found == digest(after)
    assert is_new or (not must_be_new and found == (digest(before) if before else None)), "a mix, or lost"
    assert found is None or jinx.verify(path) == []
    if clean:
        _core.clean(str(path.parent))
        assert stored(path) == found
    else:
        case.prepare_source(path, 3)
        case.write(path, 3)
        assert stored(path) == digest(case.after(after if is_new else before, 3))
        assert jinx.verify(path) == []
    left = files_in(path.parent) - files_of(path)
    assert not left, f"after {'jinx clean' if clean else 'the next writer'} there is {left}"
    return "new" if is_new else "old"
