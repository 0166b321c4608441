"""A panic of the core: an error of ours, no end of the process, and nothing half written or published.

A Python callback that raises `PanicError` is a real panic in Rust from there on. `rust/jinx-core/tests/panics.rs` has
panics on the core's own threads.
"""

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import jinx
from fault.rows import digest, files_in, rows, stored
from jinx.errors import PanicError


def panic(*_: object) -> Any:
    raise PanicError("boom")


class Panics:
    """Iterating over it panics."""

    __iter__ = panic


def panics_after(count: int) -> Iterator[dict[str, Any]]:
    yield from rows(2, count)
    panic()


def write(path: Path, **options: Any) -> None:
    with jinx.Writer(path, **options) as writer:
        writer.write_many(panics_after(600))


CALLS: dict[str, Callable[[Path], object]] = {
    "verify": lambda path: jinx.verify(path, progress=panic),
    "convert": lambda path: jinx.convert(path, path.with_name("out.jinx"), progress=panic),
    "convert to jsonl": lambda path: jinx.convert(path, path.with_name("out.jsonl"), progress=panic),
    "write a pair": lambda path: write(path.with_name("out.jinx")),
    "write a directory": lambda path: write(path.with_name("out"), shard_size=5000),
    "replace": lambda path: write(path, overwrite=True),
    "change a sample": lambda path: jinx.open(path)[0].update(Panics()),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_panic_is_an_error_of_ours_and_leaves_what_was_there(name, directory):
    path = directory / "a.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many(rows(1))
    with pytest.raises(jinx.InternalError, match=r"boom.* this is a bug in jinx, please report it") as caught:
        CALLS[name](path)
    assert isinstance(caught.value, PanicError)
    assert isinstance(caught.value, jinx.JinxError)
    assert isinstance(caught.value, RuntimeError)
    assert files_in(directory) == {"a.jinx", "a.binx"}
    assert stored(path) == digest(rows(1))


def test_a_panic_travels_between_processes():
    for error in (PanicError("boom"), jinx.InternalError("boom")):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert str(again) == str(error) == "boom; this is a bug in jinx, please report it"


def test_a_reader_goes_on_after_a_panic(directory):
    path = directory / "a.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many(rows(1))
    dataset = jinx.open(path)
    sample = dataset[0]
    with pytest.raises(jinx.InternalError):
        sample.update(Panics())
    assert digest([sample, *dataset[1:]]) == digest(rows(1))


def test_a_process_goes_on_after_a_panic(directory, child_environment):
    with jinx.Writer(directory / "a.jinx") as writer:
        writer.write_many(rows(1))
    code = """
import sys, jinx
from jinx.errors import PanicError
def panic(*_):
    raise PanicError("boom")
try:
    jinx.verify(sys.argv[1], progress=panic)
except Exception as error:
    print(type(error).__name__, len(jinx.open(sys.argv[1])), jinx.verify(sys.argv[1]))
"""
    words = [sys.executable, "-c", code, str(directory / "a.jinx")]
    done = subprocess.run(words, env=child_environment, check=False, capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stdout) == (0, "PanicError 20 []\n"), done.stderr[-1000:]
