"""Each fault of a store ends in the right bytes or in one named error, in bounded time, and shows no secret."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bucket
import jinx
from fault.answers import (
    Answer,
    another_range,
    closed,
    damaged,
    endless_redirect,
    short,
    slow,
    stalled,
    stalled_body,
    status,
    truncated,
    whole_object,
)
from jinx.errors import CorruptFileError, JinxError, MismatchError, TruncatedFileError, UnsupportedError

COUNT = 150
IMAGE = 30_000
# A fault that never ends is given up after three tries, which take half a second where the store sends nothing.
OPTIONS: dict[str, Any] = {"retries": 2, "stall_time": 30, "retry_time": 60}
STALLING: dict[str, Any] = {**OPTIONS, "stall_time": 0.5}
# Without limits, it would be waited for longer.
BOUND_SECONDS = 40


def options(name: str) -> dict[str, Any]:
    return STALLING if "stalled" in name else OPTIONS


def image(i: int) -> bytes:
    return np.random.default_rng(i).bytes(IMAGE)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("faults")
    with jinx.Writer(root / "a.jinx") as writer:
        writer.write_many({"n": i, "image": image(i)} for i in range(COUNT))
    return root


@pytest.fixture
def store(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[bucket.Bucket]:
    with bucket.served(root) as store:
        for name, value in {**store.environment, "JINX_CACHE": "off"}.items():
            monkeypatch.setenv(name, value)
        yield store


def only(fault: Answer, times: int) -> Answer:
    """The fault, for the first `times` requests of a value in the sidecar."""
    left = [times]

    def answer(handler: bucket.Handler, request: bucket.Request) -> bool:
        if left[0] <= 0 or not request.key.endswith(".binx"):
            return False
        left[0] -= 1
        return fault(handler, request)

    return answer


PASSING = {
    "429": status(429, "SlowDown"),
    "500": status(500, "InternalError"),
    "503": status(503, "SlowDown"),
    "stalled": stalled,
    "truncated": truncated,
    "short": short,
    "stalled body": stalled_body,
    "slow": slow,
    "closed": closed,
    "damaged": damaged,
}


@pytest.mark.parametrize("name", PASSING)
def test_a_fault_that_passes_changes_nothing(store, name):
    dataset = jinx.open(store.url("a.jinx"), storage=options(name))
    store.faults.append(only(PASSING[name], 1))
    began = time.monotonic()
    assert dataset[5]["image"] == image(5)
    assert [sample["image"] for sample in dataset.take([9, 70, 30])] == [image(9), image(70), image(30)]
    assert time.monotonic() - began < BOUND_SECONDS


LASTING: dict[str, tuple[Answer, type[BaseException], str]] = {
    "403": (status(403, "AccessDenied"), PermissionError, "403 Forbidden AccessDenied, request R77"),
    "expired": (status(400, "ExpiredToken"), OSError, "ExpiredToken"),
    "404": (status(404, "NoSuchKey"), FileNotFoundError, "no such object"),
    "412": (status(412, "PreconditionFailed"), MismatchError, "was replaced"),
    "429": (status(429, "SlowDown"), OSError, "SlowDown"),
    "500": (status(500, "InternalError"), OSError, "InternalError"),
    "503": (status(503, "SlowDown"), OSError, "SlowDown"),
    "stalled": (stalled, OSError, "the store failed"),
    "truncated": (truncated, (OSError, JinxError), ""),  # type: ignore[dict-item]
    "short": (short, TruncatedFileError, "the store sent"),
    "closed": (closed, OSError, "the store failed"),
    "another range": (another_range, CorruptFileError, "another range"),
    "whole object": (whole_object, UnsupportedError, "ignores ranges"),
    "damaged": (damaged, CorruptFileError, "checksum"),
    "redirects": (endless_redirect, OSError, "the store failed"),
}


@pytest.mark.parametrize("name", LASTING)
def test_a_fault_that_stays_is_one_named_error(store, name):
    fault, expected, message = LASTING[name]
    dataset = jinx.open(store.url("a.jinx"), storage=options(name))
    store.faults.append(only(fault, 10**9))
    began = time.monotonic()
    with pytest.raises(expected) as caught:
        dataset[5]["image"]
    assert time.monotonic() - began < BOUND_SECONDS
    text = str(caught.value)
    assert message in text
    assert text.startswith(store.url("a."))
    assert "\n" not in text
    assert bucket.SECRET not in text
    assert "Signature" not in text
    # Once it passes, the same dataset goes on.
    store.faults.clear()
    assert dataset[5]["image"] == image(5)


def test_a_short_body_is_resumed_where_it_ended(store):
    """Nothing that arrived is fetched again, and a store that never sends the rest is asked as often as for a retry."""
    dataset = jinx.open(store.url("a.jinx"), storage=OPTIONS)
    wanted: list[str] = []

    def noting(handler: bucket.Handler, request: bucket.Request) -> bool:
        if request.key.endswith(".binx"):
            wanted.append(handler.headers["Range"])
        return False

    store.faults += [noting, only(short, 2)]
    assert dataset[5]["image"] == image(5)
    begin, end = map(int, wanted[0].removeprefix("bytes=").split("-"))
    length = end + 1 - begin
    second = begin + length // 2
    third = second + (end + 1 - second) // 2
    assert wanted == [f"bytes={start}-{end}" for start in (begin, second, third)]
    wanted.clear()
    store.faults[1] = only(short, 10**9)
    with pytest.raises(TruncatedFileError, match=rf"the store sent \d+ of {length} bytes"):
        dataset[90]["image"]
    assert len(wanted) == 1 + OPTIONS["retries"]


@pytest.mark.parametrize("fault", [truncated, short, stalled_body, closed])
@pytest.mark.parametrize("ending", [".jinx", ".binx"])
def test_a_body_that_ends_early_while_a_dataset_is_opened_is_fetched_again(store, fault, ending):
    left = [1]

    def once(handler: bucket.Handler, request: bucket.Request) -> bool:
        if not left[0] or not request.key.endswith(ending) or "bytes=-" not in (handler.headers.get("Range") or ""):
            return False
        left[0] -= 1
        return fault(handler, request)

    store.faults.append(once)
    dataset = jinx.open(store.url("a.jinx"), storage=options(fault.__name__))
    assert dataset[5]["image"] == image(5)
    assert left == [0]
    assert dataset.io_stats()["fetched_bytes"] > 0


def test_damaged_rows_and_columns_are_fetched_again(store, tmp_path):
    """Whatever was damaged on the way: a row, the index, a column."""
    path = tmp_path / "rows.jinx"
    count = 60_000
    with jinx.Writer(path) as writer:
        writer.write_many({"n": i, "text": f"{i:040}"} for i in range(count))
    store.directory = tmp_path
    left = [0]

    def once(handler: bucket.Handler, request: bucket.Request) -> bool:
        if not left[0]:
            return False
        left[0] -= 1
        return damaged(handler, request)

    dataset = jinx.open(store.url("rows.jinx"), storage=OPTIONS)
    store.faults.append(once)
    for i in (3, 20_000, 41_000):
        left[0] = 1
        assert dataset[i]["text"] == f"{i:040}"
    left[0] = 1
    assert [sample["n"] for sample in dataset.take(range(30_000, 30_050))] == list(range(30_000, 30_050))
    left[0] = 1
    assert dataset.column("n").tolist() == list(range(count))
    left[0] = 10**9
    with pytest.raises(CorruptFileError, match=store.url("rows")):
        dataset[10_000]["text"]


@pytest.mark.parametrize("name", [*PASSING, "403", "another range", "whole object"])
def test_faults_while_opening(store, name):
    fault = PASSING.get(name) or LASTING[name][0]
    store.faults.append(fault if name not in PASSING else only(fault, 1))
    began = time.monotonic()
    if name in PASSING:
        assert len(jinx.open(store.url("a.jinx"), storage=options(name))) == COUNT
    else:
        with pytest.raises((OSError, JinxError)):
            jinx.open(store.url("a.jinx"), storage=OPTIONS)
    assert time.monotonic() - began < BOUND_SECONDS


@pytest.mark.parametrize("tag", ["kept", "weak", "none"])
def test_an_object_that_is_replaced_while_it_is_read(tmp_path, store, monkeypatch, tag):
    """Whether the store compares tags or not: never a mix of both states."""
    for name in ("a.jinx", "a.binx"):
        (tmp_path / name).write_bytes((store.directory / name).read_bytes())
    store.directory = tmp_path
    if tag != "kept":
        tags = {"weak": 'W/"1"', "none": ""}[tag]
        store.tags = {"a.jinx": tags, "a.binx": tags}
    dataset = jinx.open(store.url("a.jinx"), storage=OPTIONS)
    assert dataset[3]["image"] == image(3)
    with jinx.Writer(tmp_path / "a.jinx", overwrite=True) as writer:
        writer.write_many({"n": -i, "image": image(i + 1000)} for i in range(COUNT))
    os.utime(tmp_path / "a.binx", ns=(0, time.time_ns() + 5_000_000_000))
    with pytest.raises((MismatchError, CorruptFileError)):
        dataset[90]["image"]
    assert jinx.open(store.url("a.jinx"))[90]["image"] == image(1090)


def test_a_store_that_asks_for_a_pause_gets_it(store):
    dataset = jinx.open(store.url("a.jinx"), storage=OPTIONS)
    times: list[float] = []

    def busy(handler: bucket.Handler, request: bucket.Request) -> bool:
        if not request.key.endswith(".binx"):
            return False
        times.append(time.monotonic())
        if len(times) > 1:
            return False
        handler.refuse(request, 429, "SlowDown", Retry_After="2")
        return True

    store.faults.append(busy)
    assert dataset[3]["image"] == image(3)
    # Without the pause, a request is repeated after a tenth of a second.
    assert len(times) == 2
    assert times[1] - times[0] >= 2


def test_a_pause_is_no_longer_than_the_user_wants_to_wait(store):
    dataset = jinx.open(store.url("a.jinx"), storage={**OPTIONS, "retry_time": 12})
    store.faults.append(only(refused_for_a_day, 1))
    assert dataset[3]["image"] == image(3)


def refused_for_a_day(handler: bucket.Handler, request: bucket.Request) -> bool:
    handler.refuse(request, 503, "SlowDown", Retry_After="86400")
    return True
