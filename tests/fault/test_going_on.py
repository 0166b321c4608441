"""Writers whose caller catches an error and continues: nothing more is taken, and nothing is published."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import jinx
from jinx.errors import InvalidError
from jinx.mds import MDSWriter

SAMPLES = 60


@contextmanager
def full_disk() -> Iterator[None]:
    """For a moment no file may grow."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def mds(path: Path, **options: Any) -> MDSWriter:
    return MDSWriter(columns={"id": "int", "data": "bytes"}, out=path, size_limit="1mb", **options)


def pair(path: Path) -> jinx.Writer:
    return jinx.Writer(path.with_suffix(".jinx"))


def directory(path: Path) -> jinx.Writer:
    return jinx.Writer(path, shard_size="4MB")


def longer(path: Path) -> jinx.Writer:
    with directory(path) as writer:
        writer.write({"id": -1})
    return jinx.Writer(path, append=True)


WRITERS = {
    "mds": mds,
    "mds on one thread": lambda path: mds(path, compression="zstd", max_workers=1),
    "mds on threads": lambda path: mds(path, compression="zstd:1", hashes=["xxh64"], max_workers=3),
    "mds of compressed samples": lambda path: mds(path, compression="sample::zstd"),
    "pair": pair,
    "directory": directory,
    "append": longer,
}


def sample(k: int) -> dict[str, Any]:
    return {"id": k, "data": os.urandom(500_000)}


def write_all(writer: Any) -> None:
    for k in range(SAMPLES):
        writer.write(sample(k))


def fill_the_disk(writer: Any) -> None:
    """An error that the caller catches."""
    with full_disk(), pytest.raises(OSError, match="File too large"):
        write_all(writer)


@pytest.mark.parametrize("name", WRITERS)
def test_a_writer_that_lost_samples_takes_and_publishes_nothing_more(name: str, tmp_path: Path) -> None:
    writer = WRITERS[name](tmp_path / "d")
    before = sorted(tmp_path.iterdir()) if name == "append" else []
    fill_the_disk(writer)
    for k in range(3):
        with pytest.raises(InvalidError, match=r"an earlier (write|shard) .*nothing is published"):
            writer.write(sample(k))
    with pytest.raises(InvalidError, match="nothing is published"):
        writer.finish() if isinstance(writer, MDSWriter) else writer.close()
    with pytest.raises(InvalidError, match="closed"):
        writer.finish() if isinstance(writer, MDSWriter) else writer.close()
    if name == "append":
        assert [path for path in before if path.name != ".d.tmp.lock"] == sorted(tmp_path.iterdir())
        assert [dict(one) for one in jinx.open(tmp_path / "d")] == [{"id": -1}]
    else:
        assert list(tmp_path.iterdir()) == []


def refused_and_going_on(writer: Any) -> None:
    with writer:
        writer.write(sample(0))
        with pytest.raises((jinx.JinxError, TypeError)):
            writer.write({"id": object(), "data": b""})
        writer.write(sample(1))


@pytest.mark.parametrize("name", WRITERS)
def test_a_sample_that_is_refused_is_left_out_and_the_others_are_there(name: str, tmp_path: Path) -> None:
    refused_and_going_on(WRITERS[name](tmp_path / "d"))
    found = jinx.open(tmp_path / ("d.jinx" if name == "pair" else "d"))
    assert [one["id"] for one in found] == ([-1, 0, 1] if name == "append" else [0, 1])


def leave_with_a_full_disk(writer: Any) -> None:
    with writer:
        fill_the_disk(writer)


@pytest.mark.parametrize("name", ["mds", "mds on threads", "pair", "directory"])
def test_the_end_of_a_with_block_says_that_samples_are_missing(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="nothing is published"):
        leave_with_a_full_disk(WRITERS[name](tmp_path / "d"))
    assert list(tmp_path.iterdir()) == []


TASKS = Path("/proc/self/task")
EXITING = 0x4  # PF_EXITING of the kernel


def threads() -> int:
    """The threads that have not ended: one that has is in the list for a moment more."""
    number = 0
    for task in TASKS.iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            flags = int((task / "stat").read_text("utf-8").rpartition(")")[2].split()[6])
            number += not flags & EXITING
    return number


@pytest.mark.skipif(not TASKS.is_dir(), reason="counts threads in /proc")
def test_an_aborted_writer_has_no_thread_that_still_writes(tmp_path: Path) -> None:
    before = threads()
    writer = mds(tmp_path / "d", compression="br:11", max_workers=4)
    for k in range(6):
        writer.write(sample(k))
    writer.abort()
    assert threads() <= before
    assert list(tmp_path.iterdir()) == []


def test_finishing_and_aborting_again_change_nothing(tmp_path: Path) -> None:
    with mds(tmp_path / "d") as writer:
        writer.write(sample(0))
        done = writer.finish()
        writer.abort()
    assert done == writer.finish()
    assert done.samples == len(jinx.open(tmp_path / "d")) == 1
    with mds(tmp_path / "e") as writer:
        writer.write(sample(0))
        writer.abort()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d"]
