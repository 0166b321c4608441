"""Two living writers on one target: one clear error; one that failed or died blocks nobody."""

import os
import resource
import signal

import pytest

import jinx
from fault.rows import digest, files_in, files_of, rows, stored
from fault.writing import CASES

DIRECTORY_WRITERS = [{"overwrite": True}, {"append": True}]


def start(path, **options):
    writer = jinx.Writer(path, shard_size=2000, **options)
    writer.write_many(rows(5, 600))
    return writer


@pytest.mark.parametrize("second", DIRECTORY_WRITERS, ids=str)
@pytest.mark.parametrize("first", DIRECTORY_WRITERS, ids=str)
def test_a_directory_has_one_writer_whether_it_replaces_or_appends(first, second, directory):
    path = directory / "target" / "data"
    before = CASES["append"].prepare(path, 1)
    living = start(path, **first)
    with pytest.raises(OSError, match="another process is writing this"):
        jinx.Writer(path, **second)
    assert stored(path) == digest(before)
    living.close()
    assert stored(path) == digest(([] if "overwrite" in first else before) + rows(5, 600))
    with jinx.Writer(path, **second) as writer:
        writer.write_many(rows(6))
    assert jinx.verify(path) == []


def test_appenders_in_turn_lose_nothing(directory):
    path = directory / "target" / "data"
    expected = CASES["append"].prepare(path, 1)
    for version in range(2, 6):
        with jinx.Writer(path, append=True) as writer:
            writer.write_many(rows(version))
        expected = expected + rows(version)
    assert stored(path) == digest(expected)
    assert files_in(path.parent) == files_of(path)


@pytest.mark.parametrize("name", ["replace pair", "replace directory", "append"])
def test_a_writer_that_failed_holds_no_lock_while_its_error_is_remembered(name, directory):
    case = CASES[name]
    path = directory / "target" / case.file
    before = case.prepare(path, 1)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    # A file too large is the one fault that needs no shim.
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large") as remembered:
            case.write(path, 2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert stored(path) == digest(before)
    assert files_in(path.parent) == files_of(path)
    case.write(path, 3)
    assert stored(path) == digest(case.after(before, 3))
    del remembered


def test_a_forked_child_of_an_appender_removes_nothing(directory):
    path = directory / "target" / "data"
    before = CASES["append"].prepare(path, 1)
    writer = start(path, append=True)
    child = os.fork()
    if child == 0:
        writer.abort()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    writer.close()
    assert stored(path) == digest(before + rows(5, 600))
    assert jinx.verify(path) == []
