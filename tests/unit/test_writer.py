"""Writing: what is published, and what is not."""

import itertools
import json
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jinx
import samples
from jinx._cli.program import run
from jinx._sizes import natural_size, parse_size


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def write_one(path: Path, sample: dict[str, Any], **options: Any) -> None:
    with jinx.Writer(path, **options) as writer:
        writer.write(sample)


def fail_in_the_middle(path: Path, **options: Any) -> None:
    with jinx.Writer(path, **options) as writer:
        writer.write(samples.sample(1))
        raise ZeroDivisionError


def test_an_exception_publishes_nothing(tmp_path):
    path = tmp_path / "a.jinx"
    with pytest.raises(ZeroDivisionError):
        fail_in_the_middle(path)
    assert names(tmp_path) == []


def test_an_existing_dataset_is_replaced_only_when_asked(tmp_path):
    path = samples.write(tmp_path / "a.jinx", 3)
    with pytest.raises(FileExistsError):
        jinx.Writer(path)
    old = jinx.open(path)
    with pytest.raises(ZeroDivisionError):
        fail_in_the_middle(path, overwrite=True)
    assert len(jinx.open(path)) == 3
    samples.write(path, 5, overwrite=True)
    assert len(jinx.open(path)) == 5
    assert len(old) == 3
    assert names(tmp_path) == ["a.binx", "a.jinx"]


def test_the_same_samples_give_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one = samples.write(tmp_path / "one" / "a.jinx", threads=1)
    two = samples.write(tmp_path / "two" / "a.jinx", threads=2)
    for suffix in (".jinx", ".binx"):
        assert one.with_suffix(suffix).read_bytes() == two.with_suffix(suffix).read_bytes()


def test_without_a_sidecar_there_is_one_file(tmp_path):
    path = samples.write(tmp_path / "a.jinx", sidecar=False)
    assert names(tmp_path) == ["a.jinx"]
    assert samples.plain(jinx.open(path)[9]) == samples.plain(samples.sample(9))


@pytest.mark.parametrize("compression", [None, "none", "zstd", "zstd:9"])
def test_compression(tmp_path, compression):
    with jinx.Writer(tmp_path / "a.jinx", compression=compression) as writer:
        writer.write({"data": bytes(100_000)})
    size = (tmp_path / "a.binx").stat().st_size
    assert (size > 100_000) == (compression in {None, "none"})
    assert jinx.open(tmp_path / "a.jinx")[0]["data"] == bytes(100_000)


def test_columns_can_stay_uncompressed(tmp_path):
    with jinx.Writer(tmp_path / "a.jinx", uncompressed=["b"]) as writer:
        writer.write({"a": bytes(50_000), "b": bytes(50_000)})
    assert 50_000 < (tmp_path / "a.binx").stat().st_size < 60_000


@pytest.mark.parametrize("compression", ["gzip", "zstd:0", "zstd:x", "zstd:23"])
def test_unknown_compression_is_named(tmp_path, compression):
    with pytest.raises(ValueError, match="is not written"):
        jinx.Writer(tmp_path / "a.jinx", compression=compression)


def test_shards_and_appending(tmp_path):
    directory = samples.write(tmp_path / "out", shard_size="4kB")
    before = names(directory)
    assert "jinx.json" in before
    assert len(before) > 4
    with jinx.Writer(directory, append=True) as writer:
        writer.write(samples.sample(50))
    assert jinx.open(directory)["n"].tolist() == list(range(51))


def test_meta_and_split_are_kept(tmp_path):
    path = samples.write(tmp_path / "a.jinx", 2, meta={"licence": "CC0"}, split="train")
    info = jinx.open(path).info()
    assert info.meta == {"licence": "CC0"}
    assert info.split == "train"
    assert len(jinx.open(path, split="train")) == 2
    assert len(jinx.open(path, split="test")) == 0


@pytest.mark.parametrize("value", [{1, 2}, object(), {1: 2}, "\ud800", 1j])
def test_what_cannot_be_stored_is_an_error_that_names_the_field(tmp_path, value):
    with (
        pytest.raises(jinx.InvalidError, match=r"sample 0, \w+ 'x': "),
        jinx.Writer(tmp_path / "a.jinx") as writer,
    ):
        writer.write({"ok": 1, "x": value})
    assert names(tmp_path) == []


def test_a_closed_writer_refuses(tmp_path):
    writer = jinx.Writer(tmp_path / "a.jinx")
    writer.write({"a": 1})
    assert writer.close().samples == 1
    with pytest.raises((ValueError, jinx.JinxError)):
        writer.write({"a": 2})


@pytest.mark.parametrize("threads", [1, 3])
def test_names_with_nul_are_kept_apart(tmp_path, threads):
    data = bytes(range(200))
    rows = [{"x": {"a": {"b": data}}}, {"x": {"a\0kb": data}}, {"x": [{"a\0": data}]}, {"x": {"a": {"b": data}}}]
    with jinx.Writer(tmp_path / "a.jinx", threads=threads) as writer:
        writer.write_many(rows)
    ds = jinx.open(tmp_path / "a.jinx")
    assert [samples.plain(sample) for sample in ds] == rows
    assert jinx.verify(tmp_path / "a.jinx") == []
    paths = [field["path"] for field in json.loads(ds._footer(0))["fields"]]
    assert ["x", "a\0kb"] in paths
    assert ["x", "a", "b"] in paths


def nested(depth: int) -> Any:
    """A sample whose value in the sidecar lies deeper than rows may be, which only encoding tells."""
    value: Any = bytes(1000)
    for _ in range(depth):
        value = {"d": value}
    return value


def test_a_sample_that_is_too_long_raises_by_its_own_call_and_is_left_out(tmp_path):
    kept = []
    with jinx.Writer(tmp_path / "a.jinx", max_row_bytes=1000) as writer:
        for i in range(1500):
            if i % 300 == 7:
                with pytest.raises(jinx.LimitError) as caught:
                    writer.write({"n": i, "text": "x" * 5000})
                assert caught.value.sample == len(kept)
            else:
                writer.write({"n": i, "text": "x" * 10})
                kept.append(i)
        assert writer.samples == len(kept) == 1495
    assert jinx.open(tmp_path / "a.jinx")["n"].tolist() == kept


@pytest.mark.parametrize("bad", [{0}, {600}, {511, 512}, {3, 4, 599}])
def test_samples_that_are_refused_late_cost_themselves_alone(tmp_path, bad):
    refused = 0
    writer = jinx.Writer(tmp_path / "a.jinx")
    for i in range(601):
        try:
            writer.write(nested(256) if i in bad else {"n": i})
        except jinx.LimitError:
            refused += 1
    while refused < len(bad):
        with pytest.raises(jinx.LimitError, match=r"a\.jinx: sample \d+, column 'd\.d"):
            writer.close()
        refused += 1
    assert writer.close().samples == 601 - len(bad)
    assert jinx.open(tmp_path / "a.jinx")["n"].tolist() == [i for i in range(601) if i not in bad]


def test_after_a_failed_write_nothing_more_is_taken_or_published(tmp_path):
    writer = jinx.Writer(tmp_path / "a.jinx", compression=None)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000_000, hard))
    try:
        with pytest.raises(OSError, match=r"File too large.*a\.binx"):
            writer.write({"data": bytes(30_000_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    for call in (lambda: writer.write({"n": 1}), writer.close):
        with pytest.raises(ValueError, match="an earlier write failed"):
            call()
    assert names(tmp_path) == []


@pytest.mark.parametrize("depth", [1, 100, 125, 126, 127, 128, 200])
def test_meta_is_refused_at_once_or_opens(tmp_path, depth):
    meta: Any = 1
    for _ in range(depth):
        meta = {"m": meta}
    try:
        writer = jinx.Writer(tmp_path / "a.jinx", meta=meta)
    except ValueError:
        assert depth > 100
        assert names(tmp_path) == []
    else:
        writer.close()
        assert jinx.open(tmp_path / "a.jinx").info().meta == meta


def test_longer_lines_than_readers_take_cannot_be_asked_for(tmp_path):
    with pytest.raises(ValueError, match="max_row_bytes is 300000000; readers accept"):
        jinx.Writer(tmp_path / "a.jinx", max_row_bytes=300_000_000)
    assert names(tmp_path) == []


def test_samples_of_a_dataset_can_be_written(tmp_path):
    source = jinx.open(samples.write(tmp_path / "a.jinx", 4))
    with jinx.Writer(tmp_path / "b.jinx") as writer:
        writer.write_many(source)
        writer.write({**source[0], "n": 4})
    copy = jinx.open(tmp_path / "b.jinx")
    assert [samples.plain(sample) for sample in copy[:4]] == [samples.plain(sample) for sample in source]
    assert copy[4]["n"] == 4


def test_nothing_written_is_an_empty_dataset(tmp_path):
    samples.write(tmp_path / "a.jinx", 0)
    ds = jinx.open(tmp_path / "a.jinx")
    assert len(ds) == 0
    assert list(ds) == ds.column_names == []
    assert "0 samples" in repr(ds)


@pytest.mark.parametrize(
    ("text", "size"), [("512MB", 512_000_000), ("1GiB", 1 << 30), ("1.5 kb", 1500), (77, 77), ("8_000", 8000)]
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "big", "12 parsecs", "-1MB", 0, "nan", "inf"])
def test_bad_sizes(text):
    with pytest.raises(ValueError, match="size"):
        parse_size(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (15_731, "15.7 kB"), (999_960, "1.0 MB"), (3.2e9, "3.2 GB")],
)
def test_natural_sizes(size, text):
    assert natural_size(size) == text


@pytest.mark.parametrize("value", [b"x" * 1001, "x" * 40_001, np.zeros(1000, np.uint8)])
def test_a_value_beyond_the_limit_of_readers_is_refused_with_its_field(tmp_path, value):
    limit = 1000 if isinstance(value, bytes) else 900 if isinstance(value, np.ndarray) else 40_000
    with pytest.raises(jinx.LimitError, match=f"is longer than {limit}; max_value_bytes") as caught:
        write_one(tmp_path / "a.jinx", {"a": {"b": value}}, max_value_bytes=limit)
    assert caught.value.column == "a.b"
    assert names(tmp_path) == []


def test_verify_takes_the_limit_that_the_writer_was_given(tmp_path, capsys):
    path = tmp_path / "a.jinx"
    with jinx.Writer(path, max_value_bytes=2000) as writer:
        writer.write({"a": bytes(2000)})
    [problem] = jinx.verify(path, max_value_bytes=1999)
    assert (problem.cause, problem.column) == ("limit", "a")
    assert jinx.verify(path, max_value_bytes=2000) == []
    assert jinx.open(path, max_value_bytes=2000)[0]["a"] == bytes(2000)
    assert run(["verify", str(path), "--max-value-bytes", "1kB"]) == 1
    assert "column a: decodes to more than 1000 bytes" in capsys.readouterr().out
    assert run(["verify", str(path), "--max-value-bytes", "2kB"]) == 0
    assert capsys.readouterr().out == f"{path}: intact\n"


class Acting(Mapping[str, Any]):
    """A value that does something when it is written, as a `__del__`, a property or another thread may."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act

    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        self.act()
        return iter(())

    def __len__(self) -> int:
        return 2**62


def grow_dict(value: dict[str, Any]) -> None:
    value["late"] = 1


def shrink_dict(value: dict[str, Any]) -> None:
    del value["last"]


def grow_list(value: list[Any]) -> None:
    value.append(1)


def shrink_list(value: list[Any]) -> None:
    value.pop()


@pytest.mark.parametrize("change", [grow_dict, shrink_dict, grow_list, shrink_list])
@pytest.mark.parametrize("depth", [0, 1])
def test_a_container_that_changes_while_it_is_written(tmp_path, change, depth):
    is_dict = change in {grow_dict, shrink_dict}
    if is_dict:
        value: Any = {"first": 1, "last": 2}
        value = {"act": Acting(lambda: change(value)), **value}
    else:
        value = [1, 2]
        value.insert(0, Acting(lambda: change(value)))
    sample = value if is_dict and not depth else {"x": value}
    path = tmp_path / "a.jinx"
    with jinx.Writer(path) as writer:
        writer.write({"n": 1})
        with pytest.raises(jinx.InvalidError, match="was changed while it was being written") as raised:
            writer.write(sample)
        assert raised.value.sample == 1
        writer.write({"n": 2})
    assert jinx.open(path)["n"].tolist() == [1, 2]


def test_a_sample_that_is_changed_by_another_thread(tmp_path):
    shared: dict[str, Any] = {"n": 0, "act": Acting(lambda: time.sleep(0.0005)), "array": np.arange(4)}
    done = threading.Event()

    def change() -> None:
        for turn in itertools.count():
            if done.is_set():
                return
            shared[f"k{turn % 50}"] = turn
            shared.pop(f"k{(turn + 25) % 50}", None)

    thread = threading.Thread(target=change)
    thread.start()
    written = 0
    try:
        with jinx.Writer(tmp_path / "a.jinx") as writer:
            for _ in range(50):
                with suppress(jinx.InvalidError):
                    writer.write(shared)
                    written += 1
    finally:
        done.set()
        thread.join()
    assert len(jinx.open(tmp_path / "a.jinx")) == written
    assert jinx.verify(tmp_path / "a.jinx") == []


def test_a_writer_that_is_aborted_by_its_own_sample(tmp_path):
    writer = jinx.Writer(tmp_path / "a.jinx")
    with pytest.raises(jinx.InvalidError, match="the writer is closed"):
        writer.write({"x": Acting(writer.abort)})
    assert names(tmp_path) == []


class Hostile:
    """Everything that is asked of it is an error of its own."""

    def __getattr__(self, name: str) -> Any:
        raise ZeroDivisionError(name)


class Falsely(Hostile):
    @property
    def __class__(self) -> Any:
        raise ZeroDivisionError("class")


def test_values_that_raise_when_they_are_looked_at(tmp_path):
    def fail() -> None:
        raise ZeroDivisionError("items")

    path = tmp_path / "a.jinx"
    with jinx.Writer(path) as writer:
        for value in (Acting(fail), [Acting(fail)], Falsely(), {"deep": Falsely()}):
            with pytest.raises(ZeroDivisionError):
                writer.write({"x": value})
        with pytest.raises(jinx.InvalidError, match="column 'x': a value of type"):
            writer.write({"x": Hostile()})
        writer.write({"x": Acting(lambda: None)})
    assert jinx.open(path)[0]["x"] == {}


def test_decoders_that_are_changed_while_they_are_looked_at(tmp_path):
    path = samples.write(tmp_path / "a.jinx", 3)
    decoders: dict[str, Any] = {}

    class Adding:
        def __getattr__(self, name: str) -> Any:
            decoders[f"more {len(decoders)}"] = str
            raise AttributeError(name)

        def __call__(self, value: Any) -> Any:
            return value

    decoders.update(n=Adding(), id=Adding())
    assert jinx.open(path)._derive(decoders=decoders)[1]["n"] == 1


def test_long_values_are_kept_without_a_copy(tmp_path):
    values = {"long": os.urandom(100_000), "list": [os.urandom(5000)], "short": os.urandom(100)}
    counts = [sys.getrefcount(values["long"]), sys.getrefcount(values["list"][0]), sys.getrefcount(values["short"])]

    def added() -> list[int]:
        now = [sys.getrefcount(values["long"]), sys.getrefcount(values["list"][0]), sys.getrefcount(values["short"])]
        return [after - before for before, after in zip(counts, now, strict=True)]

    for end in (jinx.Writer.close, jinx.Writer.abort):
        writer = jinx.Writer(tmp_path / "a.jinx", overwrite=True)
        writer.write(values)
        assert added() == [1, 1, 0]
        end(writer)
        assert added() == [0, 0, 0]
    assert jinx.open(tmp_path / "a.jinx")[0].to_dict() == values


def test_a_full_batch_lets_go_of_its_values(tmp_path):
    value = os.urandom(5000)
    before = sys.getrefcount(value)
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write_many({"n": n, "value": value} for n in range(512))
        assert sys.getrefcount(value) == before
    assert jinx.open(tmp_path / "a.jinx")[511]["value"] == value


@pytest.mark.parametrize("name", ["a.jinx", "a"])
def test_a_close_that_failed_is_not_repaired_by_another(tmp_path, name):
    """The last values go to the disk when the writer is closed, and a disk may be full for that moment."""
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with jinx.Writer(tmp_path / name) as writer:
        writer.write({"old": 1})
    writer = jinx.Writer(tmp_path / name, compression=None, overwrite=True)
    try:
        for _ in range(10):
            writer.write({"b": os.urandom(30_000)})
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
        with pytest.raises(OSError, match="too large"):
            writer.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    with pytest.raises(jinx.InvalidError):
        writer.close()
    assert [dict(sample) for sample in jinx.open(tmp_path / name)] == [{"old": 1}]
    assert names(tmp_path) == [name]


def test_a_name_without_a_stem_is_refused(tmp_path):
    with pytest.raises(jinx.InvalidError, match=r"must be NAME\.jinx"):
        jinx.Writer(tmp_path / "..jinx")
    assert list(tmp_path.iterdir()) == []
