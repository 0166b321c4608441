"""Conversions that are interrupted, meet broken rows, or are shared by many writers."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import jinx
from jinx._cli.program import run


def write_rows(path: Path, rows: range) -> Path:
    path.write_text("".join(json.dumps({"n": n, "text": "x" * 200}) + "\n" for n in rows), "utf-8")
    return path


@pytest.fixture
def inputs(tmp_path: Path) -> list[Path]:
    (tmp_path / "in").mkdir()
    return [write_rows(tmp_path / "in" / f"{k}.jsonl", range(k * 3000, k * 3000 + 3000)) for k in range(4)]


class Stop:
    """Interrupts a conversion after a while."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def __call__(self, rows: int, *_: object) -> None:
        if rows >= self.rows:
            raise KeyboardInterrupt


def interrupt(source: Any, out: Path, **options: Any) -> None:
    # Reports come every 80 ms: a large input makes sure that there is one.
    with pytest.raises(KeyboardInterrupt):
        jinx.convert(source, out, shard_size="100kB", progress=Stop(1), **options)


@pytest.fixture
def long_input(tmp_path: Path) -> Path:
    path = tmp_path / "long.jsonl"
    path.write_bytes(write_rows(tmp_path / "piece.jsonl", range(3000)).read_bytes() * 150)
    return path


def test_resume_gives_the_same(tmp_path, long_input):
    out = tmp_path / "out"
    interrupt(long_input, out)
    assert not out.exists()
    notes = json.loads((tmp_path / ".out.tmp" / ".progress.json.tmp").read_text("utf-8"))
    assert notes["shards"]
    first = tmp_path / ".out.tmp" / "shard-00000.jinx"
    inode = first.stat().st_ino
    done = jinx.convert(long_input, out, shard_size="100kB", resume=True)
    assert (out / "shard-00000.jinx").stat().st_ino == inode
    assert done.samples == len(jinx.open(out)) == 450_000
    whole = tmp_path / "whole"
    assert replace(jinx.convert(long_input, whole, shard_size="100kB"), path=str(out)) == done
    assert [path.name for path in sorted(out.iterdir())] == [path.name for path in sorted(whole.iterdir())]
    assert jinx.open(out).info().ids == jinx.open(whole).info().ids
    assert sorted(path.name for path in tmp_path.iterdir()) == ["long.jsonl", "out", "piece.jsonl", "whole"]


def test_clean_removes_what_was_kept(tmp_path, long_input):
    interrupt(long_input, tmp_path / "out")
    assert (tmp_path / ".out.tmp").exists()
    assert run(["clean", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["long.jsonl", "piece.jsonl"]


def test_resume_refuses_other_inputs_and_options(tmp_path, long_input):
    out = tmp_path / "out"
    interrupt(long_input, out)
    with pytest.raises(jinx.MismatchError, match=r"not those of the interrupted run.*leave out --resume"):
        jinx.convert(long_input, out, shard_size="100kB", resume=True, columns=["n"])
    assert (tmp_path / ".out.tmp" / "shard-00000.jinx").exists()
    write_rows(long_input, range(10))
    with pytest.raises(jinx.MismatchError, match="interrupted run"):
        jinx.convert(long_input, out, shard_size="100kB", resume=True)
    assert jinx.convert(long_input, out).samples == 10
    with pytest.raises(ValueError, match="directory of shards can be resumed"):
        jinx.convert(long_input, tmp_path / "a.jinx", resume=True)


def test_resume_refuses_an_input_that_another_one_of_its_size_and_time_has_replaced(tmp_path, long_input):
    status = long_input.stat()
    interrupt(long_input, tmp_path / "out")
    other = tmp_path / "other.jsonl"
    other.write_bytes(long_input.read_bytes().replace(b"x", b"y"))
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(long_input)
    found = long_input.stat()
    assert (found.st_size, found.st_mtime_ns) == (status.st_size, status.st_mtime_ns)
    with pytest.raises(jinx.MismatchError, match="interrupted run"):
        jinx.convert(long_input, tmp_path / "out", shard_size="100kB", resume=True)


def test_broken_rows_are_listed(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"n":0}\n{"n":\n{"n":2}\n[3]\n{"n":4}\n', "utf-8")
    for name in ("out.jinx", "out", "out.jsonl", "out.msgpack", "out.parquet"):
        done = jinx.convert(path, tmp_path / name, on_error="skip")
        assert (done.samples, done.skipped) == (3, 2)
        assert [row["n"] for row in jinx.stream(tmp_path / name)] == [0, 2, 4]
        lines = (tmp_path / f"{name}.rejected.jsonl").read_text("utf-8").splitlines()
        found = [json.loads(line) for line in lines]
        assert [(Path(one["source"]).name, one["line"]) for one in found] == [("a.jsonl", 2), ("a.jsonl", 4)]
        assert all(one["reason"] for one in found)


def test_broken_rows_and_resume(tmp_path, long_input):
    with long_input.open("ab") as file:
        file.write(b'broken\n{"n":-1}\n')
    out = tmp_path / "out"
    options: dict[str, Any] = {"on_error": "skip"}
    interrupt(long_input, out, **options)
    done = jinx.convert(long_input, out, shard_size="100kB", resume=True, **options)
    assert (done.samples, done.skipped) == (450_001, 1)
    assert jinx.open(out)[-1] == {"n": -1}


def test_parts_by_convert(tmp_path, inputs):
    out = tmp_path / "out"
    for part in (2, 0, 1):
        jinx.convert(inputs, out, part=(part, 3), shard_size="100kB")
    with pytest.raises(jinx.MismatchError, match="jinx merge"):
        jinx.open(out)
    done = jinx.merge(out)
    assert done.samples == 12_000
    assert jinx.open(out)["n"].tolist() == list(range(12_000))
    assert {path.suffix for path in out.iterdir()} <= {".jinx", ".binx", ".json"}
    assert jinx.verify(out) == []
    with pytest.raises(FileExistsError, match="is a dataset already"):
        jinx.convert(inputs, out, part=(0, 3))
    with pytest.raises(ValueError, match="4 input files cannot be divided into 5 parts; use at most 4"):
        jinx.convert(inputs, tmp_path / "more", part=(0, 5))


def test_a_limit_of_several_parts_is_refused(tmp_path, inputs):
    """Each part took that many samples of its own share."""
    with pytest.raises(ValueError, match="limit counts the samples of all inputs"):
        jinx.convert(inputs, tmp_path / "out", part=(0, 2), limit=3)
    assert not (tmp_path / "out").exists()
    jinx.convert(inputs, tmp_path / "out", part=(0, 1), limit=3)
    assert jinx.merge(tmp_path / "out").samples == 3


def test_parts_by_writers(tmp_path):
    out = tmp_path / "out"
    for part in range(3):
        with jinx.Writer(out, part=(part, 3)) as writer:
            writer.write_many({"n": part * 10 + k, "data": bytes([part]) * 100} for k in range(part * 2))
    with jinx.Writer(out, part=(3, 4)) as writer:
        writer.write({"n": 0})
    with pytest.raises(jinx.MismatchError, match="parts of 3 and parts of 4"):
        jinx.merge(out)
    for file in (out / ".part-00003-of-00004").iterdir():
        file.unlink()
    (out / ".part-00003-of-00004").rmdir()
    with jinx.Writer(out, part=(1, 3)) as writer:  # again: replaces
        writer.write({"n": 5, "data": b"new"})
    assert jinx.merge(out).samples == 5
    ds = jinx.open(out)
    assert ds["n"].tolist() == [5, 20, 21, 22, 23]
    assert (ds[0]["data"], ds[4]["data"]) == (b"new", b"\2" * 100)


def test_missing_and_unfinished_parts_are_named(tmp_path):
    out = tmp_path / "out"
    with jinx.Writer(out, part=(1, 4)) as writer:
        writer.write({"n": 1})
    with pytest.raises(jinx.MismatchError, match="parts 0, 2, 3 of 4 are missing"):
        jinx.merge(out)
    with pytest.raises(RuntimeError), jinx.Writer(out, part=(0, 4)):
        raise RuntimeError
    with pytest.raises(jinx.MismatchError, match="parts 0, 2, 3 of 4 are missing"):
        jinx.merge(out)
    (tmp_path / "empty").mkdir()
    with pytest.raises(jinx.JinxError, match="no parts here"):
        jinx.merge(tmp_path / "empty")
    refused: list[dict[str, Any]] = [{"part": (4, 4)}, {"part": (-1, 4)}, {"part": (0, 4), "append": True}]
    for wrong in refused:
        with pytest.raises(ValueError, match="part"):
            jinx.Writer(out, **wrong)
    with pytest.raises(TypeError, match=r"part=0: give number and count"):
        jinx.Writer(out, part=0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="parts make a directory"):
        jinx.Writer(tmp_path / "a.jinx", part=(0, 4))


def test_an_interrupted_merge_goes_on(tmp_path):
    out = tmp_path / "out"
    for part in range(2):
        with jinx.Writer(out, part=(part, 2)) as writer:
            writer.write({"n": part, "data": bytes(100)})
    for suffix in (".binx", ".jinx"):
        (out / f".part-00000-of-00002/shard-00000{suffix}").rename(out / f"shard-00000{suffix}")
        (out / f".part-00001-of-00002/shard-00000{suffix}").rename(out / f"shard-00001{suffix}")
        if suffix == ".binx":
            continue
    assert jinx.merge(out).samples == 2
    assert jinx.open(out)["n"].tolist() == [0, 1]


def test_a_part_whose_writer_died_is_named(tmp_path):
    child = os.fork()
    if child == 0:
        writer = jinx.Writer(tmp_path / "out", part=(0, 2), shard_size=1000)
        writer.write_many({"n": i, "data": bytes([i % 256]) * 100} for i in range(2000))
        os._exit(0)
    os.waitpid(child, 0)
    assert list((tmp_path / "out").rglob("shard-*.jinx"))
    with pytest.raises(jinx.MismatchError, match="part 0 of 2 is not finished; write it again, then run: jinx merge"):
        jinx.open(tmp_path / "out")


@pytest.mark.parametrize("changed", ["a file more", "a file less", "an option"])
def test_parts_of_other_inputs_are_refused(tmp_path, changed):
    """Each part takes its share of the files, so that of others samples would be missing or appear twice."""

    def written(name: str) -> Path:
        (tmp_path / name).mkdir()
        for k in range(4):
            write_rows(tmp_path / name / f"{k}.jsonl", range(k * 3, k * 3 + 3))
        return tmp_path / name

    folder, out = written("in"), tmp_path / "out"
    jinx.convert(folder, out, part=(0, 2))
    options: dict[str, Any] = {"where": "n > 5"} if changed == "an option" else {}
    if changed == "a file more":
        write_rows(folder / "00.jsonl", range(3))
    elif changed == "a file less":
        (folder / "0.jsonl").unlink()
    with pytest.raises(jinx.MismatchError, match="made of other input files or with other options"):
        jinx.convert(folder, out, part=(1, 2), **options)
    jinx.convert(written("elsewhere"), out, part=(1, 2), threads=1)
    assert jinx.merge(out).samples == 12
    assert not [path for path in out.iterdir() if path.name.startswith(".")]


def test_parts_and_splits_list_their_own_rejects(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("train", "test"):
        (folder / f"{name}.jsonl").write_text('{"n": 1}\nbroken\n')
    for part in range(2):
        jinx.convert(folder, tmp_path / "parts", part=(part, 2), on_error="skip")
    jinx.convert(folder, tmp_path / "splits", on_error="skip")
    listed = sorted(path.name for path in tmp_path.glob("*.rejected*.jsonl"))
    assert listed == [
        "parts.rejected-00000-of-00002.jsonl",
        "parts.rejected-00001-of-00002.jsonl",
        "splits.rejected-test.jsonl",
        "splits.rejected-train.jsonl",
    ]
