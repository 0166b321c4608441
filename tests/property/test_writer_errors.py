"""Whatever goes wrong while samples are written, caught: what was accepted is there, or the dataset is not."""

import contextlib
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import jinx
import samples


def nested(leaf: object, depth: int) -> Any:
    for _ in range(depth):
        leaf = {"d": leaf}
    return leaf


def stops(number: int) -> Iterator[dict[str, Any]]:
    """A sample, and then an error of the caller's own."""
    yield {"n": number, "how": "good"}
    raise ZeroDivisionError


MAX_LINE = 2000
# What makes a sample good or bad, besides its number.
GOOD: dict[str, Any] = {
    "short": None,
    "media": bytes(range(256)) * 20,
    "text": "x" * 1000,
    "nested": {"a\0b": [1, {"c": b"x" * 100}]},
    "deep": nested(1, 250),
}
BAD: dict[str, Any] = {
    "object": object(),
    "name": {1: 2},
    "surrogate": "\ud800",
    "long": "x" * 3000,
    "many": [{"k": b"x" * 100}] * 50,
    "depth": nested(1, 300),
    "pointer": nested(b"x" * 1000, 255),
}
STEPS = st.lists(st.sampled_from([*GOOD, *BAD, "stops"]), max_size=40)
OPTIONS = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["a.jinx", "directory"]),
        "threads": st.integers(1, 3),
        "compression": st.sampled_from([None, "zstd"]),
        "repeat": st.sampled_from([1, 30]),
    }
)


def caught(call: Callable[[], object]) -> bool:
    with contextlib.suppress(TypeError, ValueError, jinx.LimitError, ZeroDivisionError):
        call()
        return False
    return True


def closed(writer: jinx.Writer) -> int:
    """Closes the writer; returns how many samples of its last batch it refused."""
    refused = 0
    while True:
        try:
            writer.close()
        except jinx.LimitError:
            refused += 1
        else:
            return refused


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS, options=OPTIONS)
def test_what_was_accepted_is_there_whatever_else_was_refused(steps, options):
    steps = steps * options.pop("repeat")
    with TemporaryDirectory() as directory:
        path = Path(directory) / options.pop("name")
        shard_size = None if path.suffix else 5000
        writer = jinx.Writer(path, max_row_bytes=MAX_LINE, shard_size=shard_size, **options)
        errors = 0
        for number, how in enumerate(steps):
            if how == "stops":
                errors += caught(lambda number=number: writer.write_many(stops(number)))
            else:
                sample = {"n": number, "how": how, "value": (GOOD | BAD)[how]}
                errors += caught(lambda sample=sample: writer.write(sample))
        errors += closed(writer)
        assert errors == sum(how not in GOOD for how in steps)
        expected = [number for number, how in enumerate(steps) if how not in BAD]
        ds = jinx.open(path, verify="full")
        assert [sample["n"] for sample in ds] == expected
        assert all(samples.plain(sample["value"]) == GOOD[sample["how"]] for sample in ds if sample["how"] in GOOD)
        assert jinx.verify(path) == []


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    before=st.integers(0, 600),
    room=st.integers(0, 3_000_000),
    after=st.integers(0, 600),
    name=st.sampled_from(["a.jinx", "directory"]),
)
def test_after_a_full_disk_there_is_all_or_nothing(before, room, after, name):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with TemporaryDirectory() as directory:
        path = Path(directory) / name
        writer = jinx.Writer(path, compression=None, shard_size=None if path.suffix else 100_000)
        failed = 0
        for number in range(before + after):
            resource.setrlimit(resource.RLIMIT_FSIZE, (room if number == before else soft, hard))
            try:
                writer.write({"n": number, "data": bytes(17_000_000 if number == before else 5000)})
            except (OSError, ValueError):
                failed += 1
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        if failed:
            with pytest.raises(ValueError, match="an earlier write failed"):
                writer.close()
            writer.abort()
            assert list(Path(directory).iterdir()) == []
        else:
            writer.close()
            assert [sample["n"] for sample in jinx.open(path)] == list(range(before + after))
