"""Datasets are written at URLs: a reader sees the old one or the new one, whatever happens to the writer."""

import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bucket
import jinx
import samples
from jinx._cli.program import run
from jinx.errors import JinxError


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[bucket.Bucket]:
    (tmp_path / "bucket").mkdir()
    with bucket.served(tmp_path / "bucket") as store:
        for name, value in {**store.environment, "JINX_CACHE": "off"}.items():
            monkeypatch.setenv(name, value)
        yield store


@pytest.fixture
def local(tmp_path: Path) -> Path:
    path = tmp_path / "local.jinx"
    samples.write(path)
    return path


def plain(dataset: Any) -> Any:
    return samples.plain(list(dataset))


def names(store: bucket.Bucket) -> list[str]:
    return sorted(path.relative_to(store.directory).as_posix() for path in store.directory.rglob("*.*"))


def test_a_writer_writes_at_urls(store, local):
    for name in ("a/out.jinx", "shards"):
        url = store.url(name)
        with jinx.Writer(url, **({"shard_size": 4_000} if name == "shards" else {})) as writer:
            assert writer.path == url
            writer.write_many(samples.sample(i) for i in range(50))
        assert plain(jinx.open(url)) == plain(jinx.open(local))
        with pytest.raises(FileExistsError, match="--overwrite"):
            jinx.Writer(url)
        with jinx.Writer(url, overwrite=True) as writer:
            writer.write({"n": 1})
        assert writer.close().path == url
        assert plain(jinx.open(url)) == [{"n": 1}]

    writer = jinx.Writer(store.url("none.jinx"))
    writer.write({"n": 1})
    writer.abort()
    assert not (store.directory / "none.jinx").exists()
    for options in ({"append": True}, {"part": (0, 2)}):
        with pytest.raises(ValueError, match="outputs on this machine"):
            jinx.Writer(store.url("shards"), **options)
    with pytest.raises(ValueError, match="only JINX is written"):
        jinx.Writer(store.url("a.parquet"))


REWRITING: dict[str, Callable[[Any, str, dict[str, Any]], Any]] = {
    "shuffle": lambda source, out, options: jinx.shuffle(source, out, seed=3, **options),
    "sort": lambda source, out, options: jinx.sort(source, out, by="-n", **options),
    "select": lambda source, out, options: jinx.select(source, out, [5, 3, 9], **options),
    "concat": lambda source, out, options: jinx.concat([source, source], out, **options),
    "dedup": lambda source, out, options: jinx.dedup(source, out, **options),
    "compact": lambda source, out, options: jinx.compact(source, out, **options),
    "convert": lambda source, out, options: jinx.convert(source, out, **options),
}


@pytest.mark.parametrize("name", REWRITING)
def test_rewriting_at_urls(store, local, tmp_path, name):
    call = REWRITING[name]
    expected = call(str(local), str(tmp_path / "expected.jinx"), {})
    run(["cp", str(local), store.url("in.jinx")])
    for source in (str(local), store.url("in.jinx")):
        for out in (store.url("out.jinx"), store.url("out")):
            done = call(source, out, {"overwrite": source != str(local)})
            assert (done.path, done.samples) == (out, expected.samples)
            assert plain(jinx.open(out)) == plain(jinx.open(expected.path))
            with pytest.raises(FileExistsError):
                call(source, out, {})
    if name != "convert":
        with pytest.raises(ValueError, match=r"ds\.save"):
            call(str(local), store.url("view.jinx"), {"view": True})


REPLACE = """
import sys, jinx
jinx.convert(sys.argv[1], sys.argv[2], overwrite=True, **eval(sys.argv[3]))
"""


@pytest.mark.parametrize("out", ["a.jinx", "shards"])
def test_killed_at_every_request(store, tmp_path, out):
    """A reader sees the old dataset or the new one, and the next attempt succeeds."""
    options = "{}" if out == "a.jinx" else "{'shard_size': 9_000_000}"
    old, new = tmp_path / "old.jinx", tmp_path / "new.jinx"
    for path, first in ((old, 0), (new, 100)):
        with jinx.Writer(path) as writer:
            rng = np.random.default_rng(first)
            writer.write_many({"n": i, "image": rng.bytes(4_500_000)} for i in range(first, first + 4))
    url = store.url(out)
    jinx.convert(old, url, overwrite=True, **eval(options))
    states = [[0, 1, 2, 3], [100, 101, 102, 103]]
    step, seen = 0, set()
    while True:
        step += 1
        left = [step]
        program: list[subprocess.Popen[bytes]] = []

        def kill(handler: bucket.Handler, request: bucket.Request, left: Any = left, program: Any = program) -> bool:
            left[0] -= request.method in {"PUT", "POST", "DELETE"}
            if left[0] == 0:
                left[0] = -1
                # Done or not: the writer never learns it.
                if len(request.key) % 2:
                    handler.close_connection = True
                    program[0].send_signal(signal.SIGKILL)
                    return True
                threading.Timer(0.02, program[0].send_signal, [signal.SIGKILL]).start()
            return False

        store.faults[:] = [kill]
        arguments = [sys.executable, "-c", REPLACE, str(new), url, options]
        program.append(subprocess.Popen(arguments, stdout=subprocess.DEVNULL))
        status = program[0].wait(60)
        store.faults.clear()
        found = jinx.open(url)
        numbers = [sample["n"] for sample in found]
        assert numbers in states
        assert [len(sample["image"]) for sample in found] == [4_500_000] * 4
        seen.add(numbers[0])
        if left[0] > 0:  # it ended before its request came
            assert status == 0
            break
        # The next attempt succeeds over what this one left, which would also spare it requests.
        jinx.convert(new, url, overwrite=True, **eval(options))
        assert [sample["n"] for sample in jinx.open(url)] == states[1]
        for path in store.directory.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        jinx.convert(old, url, overwrite=True, **eval(options))
        assert step < 60
    assert step > 4
    assert seen == {0, 100}


def test_an_interrupted_copy_goes_on(store, local, tmp_path):
    jinx.convert(local, tmp_path / "shards", shard_size=2_000)
    sent: list[str] = []

    def fail(handler: bucket.Handler, request: bucket.Request) -> bool:
        if request.method == "PUT":
            sent.append(request.key)
            if len(sent) == 6:
                handler.refuse(request, 403, "AccessDenied")
                return True
        return False

    store.faults.append(fail)
    assert run(["cp", "-r", str(tmp_path / "shards"), store.url("shards")]) == 1
    arrived = set(names(store))
    assert arrived
    with pytest.raises((OSError, JinxError)):
        jinx.open(store.url("shards/jinx.json"))
    store.forget()
    assert run(["cp", "-r", str(tmp_path / "shards"), store.url("shards")]) == 0
    again = {request.key for request in store.requests if request.method == "PUT" and request.status == 200}
    assert not again & {name for name in arrived if name.endswith(".jinx")}
    assert plain(jinx.open(store.url("shards"))) == plain(jinx.open(local))


def test_other_formats_in_a_bucket_are_converted(store, local, tmp_path, chat_parquet):
    (store.directory / "in" / "deep").mkdir(parents=True)
    for name in ("part-10", "part-2", "deep/part-1", "other"):
        shutil.copy(chat_parquet, store.directory / "in" / f"{name}.parquet")
    expected = plain(jinx.open(jinx.convert(chat_parquet, tmp_path / "one.jinx").path))
    done = jinx.convert(store.url("in/part-*.parquet"), tmp_path / "parts.jinx")
    assert plain(jinx.open(done.path)) == expected * 2
    assert jinx.convert(store.url("in/**/part-?.parquet"), tmp_path / "some.jinx").samples == 2 * len(expected)
    assert jinx.convert(store.url("in"), store.url("all.jinx")).samples == 4 * len(expected)
    for nothing in ("in/part-[!0-9].parquet", "none.parquet"):
        with pytest.raises(FileNotFoundError, match="no such file"):
            jinx.convert(store.url(nothing), tmp_path / "none.jinx")
    # Directories that are datasets are read in place.
    jinx.convert(local, store.url("shards"), shard_size=2_000)
    assert plain(jinx.open(jinx.convert(store.url("shards"), tmp_path / "back.jinx").path)) == plain(jinx.open(local))
    jinx.convert(chat_parquet, tmp_path / "mds", output_format="mds")
    shutil.copytree(tmp_path / "mds", store.directory / "mds")
    done = jinx.convert(store.url("mds"), store.url("from-mds.jinx"))
    assert done.samples == len(expected)
    assert jinx.open(done.path)[1]["id"] == jinx.open(tmp_path / "mds")[1]["id"]
