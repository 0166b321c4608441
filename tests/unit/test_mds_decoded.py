"""Where shards that are compressed as files are decoded to, and who removes them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jinx
from jinx.mds import MDSWriter, RamReader

COUNT = 40


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    out = tmp_path / "d"
    with MDSWriter(columns={"id": "int", "data": "bytes"}, out=out, size_limit="4kb", compression="zstd") as writer:
        for k in range(COUNT):
            writer.write({"id": k, "data": bytes([k]) * 1000})
    return out


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary directory."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    return place


def is_read(dataset: Any, *numbers: int) -> bool:
    return all(dict(dataset[k]) == {"id": k, "data": bytes([k]) * 1000} for k in numbers or range(COUNT))


def forked(work: Callable[..., bool], *arguments: Any) -> int:
    """A forked process that ends by `os._exit`, as workers do."""
    pid = os.fork()
    if pid == 0:
        done = False
        try:
            done = work(*arguments)
        finally:
            os._exit(0 if done else 1)
    return pid


def ended(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def killed(directory: Path) -> None:
    """A process that decodes a shard and is killed."""
    code = "import jinx, os, sys; ds = jinx.open(sys.argv[1]); ds[7]['id']; os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", code, directory], check=False).returncode == -signal.SIGKILL


def decoded(temporary: Path) -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in temporary.rglob("*.mds")}


def test_nothing_is_made_before_it_is_needed(directory: Path, temporary: Path) -> None:
    dataset = jinx.open(directory)
    assert len(dataset) == len(list(dataset)) == COUNT
    assert list(temporary.iterdir()) == []


def test_forked_workers_share_what_they_decode_and_leave_nothing(directory: Path, temporary: Path) -> None:
    dataset = jinx.open(directory)
    assert [ended(forked(is_read, dataset, 7)) for _ in range(3)] == [0] * 3
    found = decoded(temporary)
    assert len(found) == 1
    assert is_read(dataset, 7)
    assert decoded(temporary) == found
    workers = [forked(is_read, dataset) for _ in range(4)]
    assert [ended(pid) for pid in workers] == [0] * 4
    del dataset
    assert list(temporary.iterdir()) == []


def test_a_worker_goes_on_when_its_parent_has_removed_the_directory(directory: Path, temporary: Path) -> None:
    dataset = jinx.open(directory)
    assert is_read(dataset, 0)
    wait, go = os.pipe()

    def late(given: Any) -> bool:
        os.close(go)
        return os.read(wait, 1) == b"x" and is_read(given)

    pid = forked(late, dataset)
    del dataset
    assert list(temporary.iterdir()) == []
    os.write(go, b"x")
    assert ended(pid) == 0
    assert is_read(jinx.open(directory), 0)
    assert list(temporary.iterdir()) == []


def test_what_a_killed_process_decoded_is_removed_by_the_next(directory: Path, temporary: Path) -> None:
    killed(directory)
    (dead,) = temporary.iterdir()
    dataset = jinx.open(directory)
    assert is_read(dataset, 7)
    (living,) = temporary.iterdir()
    assert living != dead
    killed(directory)
    other = jinx.open(directory)
    assert is_read(other, 7)
    assert living in temporary.iterdir()
    assert len(list(temporary.iterdir())) == 2
    assert is_read(dataset, COUNT - 1)
    del dataset, other
    assert list(temporary.iterdir()) == []


def test_the_directory_of_a_worker_outlives_its_killed_parent(directory: Path, temporary: Path) -> None:
    wait, go = os.pipe()
    back, say = os.pipe()

    def parent() -> bool:
        dataset = jinx.open(directory)

        def worker() -> bool:
            first = is_read(dataset, 7)
            os.write(say, b"1")
            os.read(wait, 1)
            is_right = first and is_read(dataset, 7, COUNT - 1)
            return os.write(say, b"y" if is_right else b"n") == 1

        forked(worker)
        signal.pause()
        return False

    pid = forked(parent)
    os.close(say)
    is_read_first = os.read(back, 1) == b"1"
    os.kill(pid, signal.SIGKILL)
    assert ended(pid) == -signal.SIGKILL
    assert is_read_first
    # Somebody else comes while the worker still reads.
    assert is_read(jinx.open(directory), 0)
    assert len(decoded(temporary)) == 1
    os.write(go, b"x")
    assert os.read(back, 1) == b"y"


def test_forked_processes_choose_names_of_their_own(directory: Path, temporary: Path, tmp_path: Path) -> None:
    # Each begins with the random numbers of this process.
    def other() -> bool:
        mine = jinx.open(directory)
        is_right = is_read(mine, 0)
        (name,) = (path.parent.name for path in temporary.rglob("*.mds"))
        return is_right and (tmp_path / name).write_text("") == 0

    assert [ended(forked(other)) for _ in range(3)] == [0] * 3
    assert len(list(tmp_path.glob(".jinx-decoded-*"))) == 3


def test_what_others_have_in_the_temporary_directory_stays(directory: Path, temporary: Path) -> None:
    for name in ("jinx-mds-mine", ".jinx-decoded-mine", "other"):
        (temporary / name).mkdir()
        (temporary / name / "0-shard.00000.mds").write_bytes(b"mine")
    (temporary / ".jinx-decoded-0123456789abcdef").symlink_to(temporary / "other")
    before = sorted(temporary.rglob("*"))
    assert is_read(jinx.open(directory), 0)
    assert sorted(temporary.rglob("*")) == before


def test_a_cache_loses_what_killed_processes_did_not_finish(directory: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert is_read(RamReader(directory, cache=cache), 0)
    (shard,) = cache.rglob("*.mds")
    shard.unlink()
    unfinished = [shard.with_name(f".{shard.name}.{pid}.0.tmp") for pid in (1, 2)]
    for path in unfinished:
        path.write_bytes(b"half")
    long_ago = time.time() - 1000
    os.utime(unfinished[0], (long_ago, long_ago))
    assert is_read(RamReader(directory, cache=cache), 0)
    assert sorted(shard.parent.iterdir()) == sorted([unfinished[1], shard])
