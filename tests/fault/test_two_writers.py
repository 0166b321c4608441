"""Two living writers on one target: one clear error; one that failed or died blocks nobody."""

import os
import resource
import signal

import pytest

import jinx
from fault.rows import digest, files_in, files_of, rows, stored
from fault.writing import CASES
from jinx.mds import MDSWriter

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


def outcome(act, is_silent):
    """0 if the act of a forked child raises the error that it must, or does nothing."""
    try:
        act()
    except jinx.InvalidError as error:
        return int(is_silent or "this writer belongs to process" not in str(error))
    return int(not is_silent)


@pytest.mark.parametrize("act", ["write", "write_many", "copy", "close", "abort", "drop", "leave"])
@pytest.mark.parametrize("name", ["data.jinx", "data"])
def test_a_forked_child_does_not_touch_what_its_parent_writes(tmp_path, name, act):
    """It shares the open files of the parent, and would publish half a dataset over a good one."""
    path = tmp_path / name
    with jinx.Writer(path) as old:
        old.write_many({"n": i} for i in range(5))
    dataset = jinx.open(path)
    writer = jinx.Writer(path, overwrite=True)
    # More than one batch, so that the buffers for the files are not empty.
    writer.write_many({"n": i} for i in range(600))
    acts = {
        "write": lambda: writer.write({"n": -1}),
        "write_many": lambda: writer.write_many([{"n": -1}]),
        "copy": lambda: writer.copy(dataset),
        "close": writer.close,
        "abort": writer.abort,
        "leave": lambda: writer.__exit__(None, None, None),
    }
    child = os.fork()
    if child == 0:
        if act == "drop":
            acts.clear()
            del writer
            os._exit(0)
        os._exit(outcome(acts[act], act == "abort"))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert jinx.open(path)["n"].tolist() == [0, 1, 2, 3, 4]
    writer.write({"n": 600})
    writer.close()
    assert jinx.open(path)["n"].tolist() == list(range(601))
    assert jinx.verify(path) == []


@pytest.mark.parametrize("act", ["write", "finish", "abort"])
def test_a_forked_child_does_not_touch_the_mds_directory_of_its_parent(tmp_path, act):
    def started(rows):
        writer = MDSWriter(columns={"n": "int"}, out=tmp_path / "mds", exist_ok=True, size_limit=1000)
        for i in rows:
            writer.write({"n": i})
        return writer

    started(range(5)).finish()
    writer = started(range(600))
    acts = {"write": lambda: writer.write({"n": -1}), "finish": writer.finish, "abort": writer.abort}
    child = os.fork()
    if child == 0:
        os._exit(outcome(acts[act], act == "abort"))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert jinx.open(tmp_path / "mds")["n"].tolist() == [0, 1, 2, 3, 4]
    writer.write({"n": 600})
    writer.finish()
    assert jinx.open(tmp_path / "mds")["n"].tolist() == list(range(601))
    assert jinx.verify(tmp_path / "mds") == []
