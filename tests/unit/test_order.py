"""`jinx.shuffle` and `jinx.sort`: a whole dataset in another order."""

import contextlib
import enum
import errno
import json
import math
import multiprocessing
import os
import random
import re
import signal
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jinx
import jinx._disk_space
import samples
from jinx import _core
from jinx._cli.program import run

TWO_PASSES = 20_000  # bytes of memory, less than any dataset here


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("order") / "in.jinx"
    return samples.write(path, 700, indexed=["id", "meta.width"], meta={"made": "here"}, media={"image": "Image"})


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    with jinx.Writer(path) as writer:
        writer.write_many(rows)
    return path


def everything(dataset: Any) -> list[Any]:
    return [samples.plain(sample) for sample in dataset]


def positions(ordering: _core.Ordering) -> list[int]:
    return np.frombuffer(ordering.positions(0, len(ordering)), dtype="<u8").tolist()


def files(path: Path) -> list[bytes]:
    return [path.read_bytes(), path.with_suffix(".binx").read_bytes()]


@pytest.mark.parametrize("memory", ["1GB", TWO_PASSES])
def test_shuffled_file_is_what_copying_in_that_order_writes(source, tmp_path, memory):
    (tmp_path / "copied").mkdir()
    copy = tmp_path / "copied" / "out.jinx"
    done = jinx.shuffle(source, tmp_path / "out.jinx", seed=5, memory=memory)
    dataset = jinx.open(source)
    order = positions(_core.Ordering.shuffled(len(dataset), 5))
    assert sorted(order) == list(range(700))
    with jinx.Writer(copy, indexed=["id", "meta.width"]) as writer:
        writer.copy(dataset, order)
    assert files(tmp_path / "out.jinx") == files(copy)
    assert everything(jinx.open(tmp_path / "out.jinx")) == everything(dataset[order])
    assert jinx.verify(tmp_path / "out.jinx") == []
    assert (done.samples, done.seed, done.missing) == (700, 5, 0)
    assert (done.plan, done.temporary_bytes > 0) == (
        ("two passes", True) if memory == TWO_PASSES else ("one pass", False)
    )
    size = sum(len(file) for file in files(tmp_path / "out.jinx"))
    assert (done.bytes, done.temporary_bytes <= 1.1 * size) == (size, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copied", "out.binx", "out.jinx"]


@pytest.mark.local
def test_same_seed_gives_same_order_in_any_form(source, tmp_path):
    dataset = jinx.open(source)
    jinx.shuffle(source, tmp_path / "a.jinx", seed=2**64 - 1)
    jinx.shuffle(dataset, tmp_path / "view.jinx", seed=2**64 - 1, view=True)
    done = jinx.shuffle(source, tmp_path / "shards", seed=2**64 - 1, shard_size=20_000, memory=TWO_PASSES)
    jinx.shuffle(source, tmp_path / "b.jinx", seed=1)
    assert done.shards > 2
    ids = [list(jinx.open(tmp_path / name)["id"]) for name in ("a.jinx", "view.jinx", "shards", "b.jinx")]
    assert ids[0] == ids[1] == ids[2] != ids[3]
    assert sorted(ids[0]) == sorted(ids[3]) == sorted(dataset["id"])
    assert jinx.open(tmp_path / "view.jinx").info().bases[0].path == str(source)
    assert jinx.shuffle(source, tmp_path / "c.jinx").seed is not None
    again = jinx.shuffle(tmp_path / "shards", tmp_path / "d.jinx", seed=9)
    assert again.samples == 700


def test_permutation_is_the_one_that_the_documentation_shows():
    assert positions(_core.Ordering.shuffled(10, 0)) == [9, 5, 4, 8, 6, 2, 0, 1, 3, 7]
    assert positions(_core.Ordering.shuffled(0, 0)) == []
    assert positions(_core.Ordering.shuffled(1, 0)) == [0]


@pytest.mark.parametrize("memory", ["1GB", TWO_PASSES])
@pytest.mark.parametrize(
    ("by", "key"),
    [
        ("n", lambda row: row["n"]),
        ("-n", lambda row: -row["n"]),
        ("id", lambda row: row["id"]),
        ("score", lambda row: (row["score"] is None, row["score"])),
        ("-score", lambda row: (row["score"] is None, -(row["score"] or 0))),
        ("len(messages)", lambda row: len(row["messages"])),
        ("meta.source", lambda row: row["meta"]["source"]),
        (["meta.source", "-len(messages)", "score"], lambda row: (
            row["meta"]["source"], -len(row["messages"]), row["score"] is None, row["score"]
        )),
        (["flag", "-meta.width"], lambda row: (row["flag"], -row["meta"]["width"])),
    ],
)  # fmt: skip
def test_sorted_as_python_sorts(source, tmp_path, memory, by, key):
    done = jinx.sort(source, tmp_path / "out.jinx", by=by, memory=memory)
    rows = [dict(samples.sample(i)) for i in range(700)]
    expected = sorted(range(700), key=lambda i: key(rows[i]))
    assert list(jinx.open(tmp_path / "out.jinx")["n"]) == expected
    assert done.missing == (70 if "score" in str(by) else 0)
    assert jinx.verify(tmp_path / "out.jinx") == []


@pytest.mark.parametrize("descending", [False, True])
def test_sort_is_stable_and_missing_keys_come_last(tmp_path, descending):
    values = [3, None, 1.5, math.nan, 3, 2**63, -1, True, None, -(2**63)]
    path = write(tmp_path / "in.jinx", [{"i": i, "v": value} for i, value in enumerate(values)])
    done = jinx.sort(path, tmp_path / "out.jinx", by="v", descending=descending)
    there = [9, 6, 7, 2, 0, 4, 5] if not descending else [5, 0, 4, 2, 7, 6, 9]
    assert list(jinx.open(tmp_path / "out.jinx")["i"]) == [*there, 1, 3, 8]
    assert done.missing == 3
    done = jinx.sort(path, tmp_path / "out.jinx", by="v", missing="drop", overwrite=True, descending=descending)
    assert list(jinx.open(tmp_path / "out.jinx")["i"]) == there
    with pytest.raises(ValueError, match="3 of 10 samples lack a sort key"):
        jinx.sort(path, tmp_path / "none.jinx", by="v", missing="fail")
    assert not (tmp_path / "none.jinx").exists()


def test_natural_order_and_one_direction_for_each_key(tmp_path):
    names = ["img10", "img9", "img09", "a", "img", "img9b"]
    path = write(tmp_path / "in.jinx", [{"name": name, "k": len(name) % 2} for name in names])
    jinx.sort(path, tmp_path / "a.jinx", by="name", natural=True)
    assert list(jinx.open(tmp_path / "a.jinx")["name"]) == ["a", "img", "img09", "img9", "img9b", "img10"]
    jinx.sort(path, tmp_path / "b.jinx", by=["k", "name"], descending=[True, False])
    expected = sorted(names, key=lambda name: (len(name) % 2 == 0, name))
    assert list(jinx.open(tmp_path / "b.jinx")["name"]) == expected
    with pytest.raises(ValueError, match="3 entries for 2 keys"):
        jinx.sort(path, tmp_path / "c.jinx", by=["k", "name"], descending=[True, False, True])


@pytest.mark.parametrize("descending", [False, True])
def test_integers_of_any_size_have_their_place_among_floats(tmp_path, descending):
    values = [3, 2**64, -(10**30), 1e23, 10**23, 10**23 + 1, 2.5, -(10**400), 10**400, math.inf, -math.inf, 2**64 - 1]
    path = write(tmp_path / "in.jinx", [{"i": i, "v": value} for i, value in enumerate(values)])
    expected = sorted(range(len(values)), key=values.__getitem__, reverse=descending)
    for by in ("v", lambda sample: sample["v"]):
        jinx.sort(path, tmp_path / "out.jinx", by=by, descending=descending, overwrite=True)
        assert list(jinx.open(tmp_path / "out.jinx")["i"]) == expected
    assert list(jinx.open(path).sort("v", reverse=descending)["i"]) == expected


def test_integers_of_other_classes_are_sorted_by_their_number(tmp_path):
    class Number(enum.IntEnum):
        LEAST = -(2**70)
        SMALL = 2**65
        LARGE = 2**80

    class Index:
        def __index__(self):
            return 2**75

    keys = [Number.LARGE, Index(), 1, Number.LEAST, Number.SMALL]
    path = write(tmp_path / "in.jinx", [{"i": i} for i in range(len(keys))])
    jinx.sort(path, tmp_path / "out.jinx", by=lambda sample: keys[sample["i"]])
    assert list(jinx.open(tmp_path / "out.jinx")["i"]) == [3, 2, 4, 1, 0]


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "uint64", ">i4"])
def test_numpy_scalars_are_sorted_as_numbers(tmp_path, dtype):
    values = [3, 100, 0, 7]
    path = write(tmp_path / "in.jinx", [{"v": np.array(value, dtype)[()]} for value in values])
    # A copy keeps scalars as they are, without a column of numbers.
    with jinx.Writer(tmp_path / "copy.jinx", only_indexed=[]) as writer:
        writer.write_many(jinx.open(path))
    for source in (path, tmp_path / "copy.jinx"):
        jinx.sort(source, tmp_path / "out.jinx", by="v", overwrite=True)
        assert [int(value) for value in jinx.open(tmp_path / "out.jinx")["v"]] == sorted(values)


@pytest.mark.parametrize("indexed", [True, False])
def test_mixed_types_name_two_samples(tmp_path, indexed):
    values = ["a", "b", 3, "c"] if indexed else [{"x": 1}, {"x": None}, {}, {"x": "c"}]
    path = write(tmp_path / "in.jinx", [{"v": value} for value in values])
    found = (
        "a string in sample 0 and a number in sample 2" if indexed else "a number in sample 0 and a string in sample 3"
    )
    with pytest.raises(ValueError, match=found):
        jinx.sort(path, tmp_path / "out.jinx", by="v" if indexed else "v.x")


def test_keys_that_do_not_exist_or_have_no_order(source, tmp_path):
    for by, error in [("scor", "score"), ("meta.widt", "width"), ("len(nothing)", "nothing")]:
        with pytest.raises(KeyError, match=error):
            jinx.sort(source, tmp_path / "out.jinx", by=by)
    for by in ("messages", "meta", "image"):
        with pytest.raises((TypeError, ValueError)):
            jinx.sort(source, tmp_path / "out.jinx", by=by)
    for wrong in ({"by": []}, {}, {"by": "n", "code": "a.py:f"}, {"by": "n", "missing": "first"}):
        with pytest.raises(ValueError, match=r"by|missing"):
            jinx.sort(source, tmp_path / "out.jinx", **wrong)
    assert list(tmp_path.iterdir()) == []


def test_function_as_key(source, tmp_path):
    done = jinx.sort(source, tmp_path / "a.jinx", by=lambda row: (row["n"] % 3, None if row["n"] == 5 else -row["n"]))
    expected = sorted(range(700), key=lambda n: (n % 3, n == 5, -n))
    assert list(jinx.open(tmp_path / "a.jinx")["n"]) == expected
    assert done.missing == 1
    for key, error in [
        (lambda row: [1] if row["n"] == 3 else 1, TypeError),
        (lambda row: iter("a"), TypeError),
        (lambda row: (1,) * (row["n"] % 2), ValueError),
        (lambda row: row["id"] if row["n"] else 1, ValueError),
    ]:
        with pytest.raises(error, match="key"):
            jinx.sort(source, tmp_path / "b.jinx", by=key)


def test_what_is_no_key_is_named_with_its_sample(source, tmp_path):
    code = tmp_path / "keys.py"
    code.write_text("def f(sample):\n    return iter('a') if sample['n'] == 3 else 1\n")
    for keys in ({"by": lambda row: [1] if row["n"] == 3 else 1}, {"code": f"{code}:f", "workers": 1}):
        with pytest.raises(TypeError, match="sample 3: a sort key of type"):
            jinx.sort(source, tmp_path / "out.jinx", **keys)
    with pytest.raises(ValueError, match="returns 2 keys for sample 5 and 1 key for sample 0"):
        jinx.sort(source, tmp_path / "out.jinx", by=lambda row: (1, 2) if row["n"] == 5 else 1)


def test_function_from_a_file_in_worker_processes(source, tmp_path):
    code = tmp_path / "keys.py"
    code.write_text("def width(sample):\n    return -sample['meta']['width']\n\ndef bad(sample):\n    return 1 / 0\n")
    jinx.sort(source, tmp_path / "a.jinx", code=f"{code}:width", workers=2)
    assert list(jinx.open(tmp_path / "a.jinx")["n"]) == list(range(699, -1, -1))
    with pytest.raises(ValueError, match="ZeroDivisionError in the key function at sample 0"):
        jinx.sort(source, tmp_path / "b.jinx", code=f"{code}:bad", workers=1)
    for wrong, error in [(f"{code}:widht", "width"), ("keys.py", "FILE.py:FUNCTION")]:
        with pytest.raises(ValueError, match=error):
            jinx.sort(source, tmp_path / "b.jinx", code=wrong)
    with pytest.raises(FileNotFoundError, match=r"none\.py"):
        jinx.sort(source, tmp_path / "b.jinx", code="none.py:f")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.binx", "a.jinx", "keys.py"]


def test_an_interruption_waits_until_the_workers_have_started(source, tmp_path, monkeypatch):
    (tmp_path / "keys.py").write_text("def width(sample):\n    return sample['meta']['width']\n")
    submit, started, ended = ProcessPoolExecutor.submit, [], threading.Event()

    def interrupted(*arguments: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        started.append(submit(*arguments))
        return started[-1]

    monkeypatch.setattr(ProcessPoolExecutor, "submit", interrupted)
    with contextlib.ExitStack() as at_end:
        at_end.callback(ended.set)
        threading.Thread(target=ended.wait).start()  # The system gives it a signal that the main thread blocks.
        with pytest.raises(KeyboardInterrupt):
            jinx.sort(source, tmp_path / "out.jinx", code=f"{tmp_path}/keys.py:width", workers=1)
    assert len(started) == 1
    assert multiprocessing.active_children() == []
    assert [path.name for path in tmp_path.iterdir()] == ["keys.py"]


def test_a_file_that_was_edited_within_a_second_is_run_as_it_is_now(source, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    code = tmp_path / "keys.py"
    for sign, expected in (("-", 699), ("+", 0)):
        code.write_text(f"def width(sample):\n    return {sign}sample['meta']['width']\n")
        os.utime(code, (1e9, 1e9))
        jinx.sort(source, tmp_path / "a.jinx", code=f"{code}:width", overwrite=True)
        assert jinx.open(tmp_path / "a.jinx")[0]["n"] == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(:", "line 1: SyntaxError"),
        ("\n\nraise SystemExit(3)", "line 3: SystemExit: 3"),
        ("import nothing_such", "line 1: ModuleNotFoundError: No module named 'nothing_such'"),
        ("f = 5", "no function 'f'"),
        ("def f(sample):\n    raise SystemExit(3)", "SystemExit in the key function at sample 0"),
        ("def f(sample):\n    import os\n    os._exit(3)", "a worker process of the key function ended"),
    ],
)
def test_code_that_does_not_run(source, tmp_path, text, said, capsys):
    code = tmp_path / "keys.py"
    code.write_text(text)
    out = tmp_path / "out.jinx"
    assert run(["sort", str(source), str(out), "--code", f"{code}:f", "--workers", "1"]) != 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert said in lines[0]
    assert "did you mean" not in lines[0]
    assert sorted(one.name for one in tmp_path.iterdir() if one.name != "__pycache__") == ["keys.py"]


def test_a_directory_that_is_read_gets_no_new_file(source, tmp_path):
    jinx.shuffle(source, tmp_path / "in")
    (tmp_path / "in" / "jinx.json").unlink()
    for function, options in ((jinx.shuffle, {"view": True}), (jinx.shuffle, {}), (jinx.compact, {})):
        with pytest.raises(ValueError, match="lies in"):
            function(tmp_path / "in", tmp_path / "in" / "out.jinx", **options)
    assert len(jinx.open(tmp_path / "in")) == len(jinx.open(source))


@pytest.mark.local
@pytest.mark.parametrize("memory", ["1GB", TWO_PASSES])
@pytest.mark.parametrize("kind", ["jsonl", "mds", "view", "part", "twice", "own columns"])
def test_any_input_that_opens(source, tmp_path, memory, kind):
    whole = jinx.open(source)
    given: Any = whole[5:650:2]
    if kind == "jsonl":
        given = tmp_path / "in.jsonl"
        given.write_text("".join(json.dumps({"n": i, "text": "x" * (i % 300)}) + "\n" for i in range(500)))
    elif kind == "mds":
        given = tmp_path / "mds"
        jinx.convert(source, given, output_format="mds", columns=["id", "n", "image"], shard_size=20_000)
    elif kind == "view":
        whole[::-1].save(tmp_path / "view.jinx")
        given = tmp_path / "view.jinx"
    elif kind == "twice":
        given = whole[[*range(300), *range(300), 7]]
    elif kind == "own columns":
        given = whole.select_columns(["n", "image"]).with_columns({"double": [2 * i for i in range(700)]})
    dataset = given if isinstance(given, jinx.Dataset) else jinx.open(given)
    done = jinx.sort(given, tmp_path / "out.jinx", by="-n", memory=memory)
    found = jinx.open(tmp_path / "out.jinx")
    numbers = list(dataset["n"])
    order = sorted(range(len(numbers)), key=lambda i: -numbers[i])
    assert everything(found) == everything(dataset[order])
    assert done.plan == ("one pass" if memory == "1GB" else "two passes")
    assert jinx.verify(tmp_path / "out.jinx") == []


def test_where_and_empty_results(source, tmp_path):
    done = jinx.sort(source, tmp_path / "a.jinx", by="-n", where="n < 10 and flag")
    assert (list(jinx.open(tmp_path / "a.jinx")["n"]), done.samples) == ([8, 6, 4, 2, 0], 5)
    jinx.sort(source, tmp_path / "v.jinx", by="-n", where="n < 10 and flag", view=True)
    assert list(jinx.open(tmp_path / "v.jinx")["n"]) == [8, 6, 4, 2, 0]
    assert jinx.shuffle(source, tmp_path / "b.jinx", where="n < 0").samples == 0
    assert jinx.sort(source, tmp_path / "c.jinx", by="n", where="n < 0").samples == 0
    assert len(jinx.open(tmp_path / "b.jinx")) == 0


@pytest.mark.local
def test_outputs_that_cannot_be(source, tmp_path, monkeypatch):
    before = files(source)
    with pytest.raises(FileExistsError, match="overwrite"):
        jinx.shuffle(source, source)
    for overwrite in (True, False):
        with pytest.raises((ValueError, FileExistsError)):
            jinx.shuffle(source, source, overwrite=overwrite)
    with pytest.raises(ValueError, match="also an input"):
        jinx.shuffle(source, source, overwrite=True)
    with pytest.raises(ValueError, match=f"holds the input {source}"):
        jinx.sort(jinx.open(source)[3:5], source.parent, by="n", overwrite=True)
    link = tmp_path / "link.jinx"
    link.symlink_to(source)
    with pytest.raises(ValueError, match="also an input"):
        jinx.shuffle(source, link, overwrite=True)
    link.unlink()
    for name in ("a.jsonl", "a.parquet", "a.mds"):
        with pytest.raises(ValueError, match="the output is JINX"):
            jinx.shuffle(source, tmp_path / name)
    with pytest.raises(ValueError, match="seed"):
        jinx.shuffle(source, tmp_path / "a.jinx", seed=-1)
    with pytest.raises(ValueError, match="standard output"):
        jinx.sort(source, "-", by="n")
    with pytest.raises(ValueError, match="shard size needs a directory"):
        jinx.shuffle(source, tmp_path / "a.jinx", view=True, shard_size=1)
    with pytest.raises(TypeError, match="map"):
        jinx.shuffle(jinx.open(source).map(lambda _: {"a": 1}), tmp_path / "a.jinx")
    monkeypatch.setattr(jinx._disk_space, "free_bytes", lambda _: 10)
    with pytest.raises(OSError, match="are needed here") as caught:
        jinx.shuffle(source, tmp_path / "a.jinx")
    assert caught.value.errno == errno.ENOSPC
    assert files(source) == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("memory", ["1GB", TWO_PASSES])
def test_stopped_or_damaged_leaves_the_old_output(source, tmp_path, memory):
    out = samples.write(tmp_path / "out.jinx", 3)
    before = files(out)

    def stop(done: int, size: int, total: int | None) -> None:
        assert 0 < done <= 700
        assert size <= (total or 0)
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        jinx.shuffle(source, out, overwrite=True, memory=memory, progress=stop)
    damaged = tmp_path / "damaged.jinx"
    text = source.read_bytes()
    damaged.write_bytes(text.replace(b'"s650"', b'"s65x"', 1))
    damaged.with_suffix(".binx").write_bytes(source.with_suffix(".binx").read_bytes())
    with pytest.raises(jinx.CorruptFileError, match=re.escape(str(damaged))) as caught:
        jinx.shuffle(damaged, out, overwrite=True, memory=memory)
    assert caught.value.sample == 650
    assert files(out) == before
    names = ["damaged.binx", "damaged.jinx", "out.binx", "out.jinx"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_keys_that_exceed_the_memory_are_sorted_in_files(tmp_path):
    draw = random.Random(1)
    rows = [{"name": "".join(draw.choices("abc", k=draw.randrange(40))), "n": i} for i in range(20_000)]
    path = write(tmp_path / "in.jinx", rows)
    jinx.sort(path, tmp_path / "out.jinx", by=["-name", "n"], memory=100_000)
    expected = sorted(rows, key=lambda row: row["name"], reverse=True)
    assert list(jinx.open(tmp_path / "out.jinx")["n"]) == [row["n"] for row in expected]


@pytest.mark.parametrize("order", [["shuffle"], ["sort", "--by", "n"]])
def test_too_little_memory_is_refused(source, tmp_path, capfd, order):
    out = tmp_path / "out.jinx"
    name, *options = order
    assert run([name, str(source), str(out), *options, "--memory", "8"]) == 2
    assert "memory=8 is 8 bytes, and at least 1.0 kB are needed; did you mean 8GB?" in capfd.readouterr().err
    with pytest.raises(ValueError, match=r"memory=999B is 999 bytes, and at least 1\.0 kB are needed$"):
        jinx.shuffle(source, out, memory="999B")
    assert not out.exists()


def test_commands(source, tmp_path, capfd):
    out = str(tmp_path / "out.jinx")
    assert run(["shuffle", str(source), out, "--seed", "3", "--memory", "20kB", "--json"]) == 0
    said = json.loads(capfd.readouterr().out)
    assert (said["samples"], said["plan"], said["seed"]) == (700, "two passes", 3)
    assert run(["shuffle", str(source), out, "--overwrite", "--seed", str(2**64 - 1), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["seed"] == 2**64 - 1
    assert run(["shuffle", str(source), out]) == 2
    assert "overwrite" in capfd.readouterr().err
    arguments = ["sort", str(source), out, "--by", "meta.source,-len(messages)", "--by", "n", "--overwrite"]
    assert run([*arguments, "--where", "n < 100", "--progress", "plain"]) == 0
    assert "100 samples" in capfd.readouterr().err
    rows = sorted(map(samples.sample, range(100)), key=lambda row: (row["meta"]["source"], -len(row["messages"])))
    assert list(jinx.open(out)["n"]) == [row["n"] for row in rows]
    assert run(["sort", str(source), str(tmp_path / "view.jinx"), "--by", "score", "--descending", "--view"]) == 0
    assert "a view" in capfd.readouterr().err
    assert run(["sort", str(source), str(tmp_path / "b.jinx")]) == 2
    assert "--by" in capfd.readouterr().err
    parquet = tmp_path / "in.parquet"
    jinx.convert(source, parquet, columns=["n"])
    assert run(["shuffle", str(parquet), str(tmp_path / "b.jinx")]) != 0
    assert "jinx convert" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("values", "order"),
    [
        ([np.float32(0.1), 0.1], [1, 0]),
        ([np.int64(2**53 + 1), 2.0**53, 2**53], [1, 2, 0]),
        ([np.float32(2**24), 2**24 + 1, 2**24 + 0.5], [0, 2, 1]),
        ([np.float32(np.inf), 1e300], [1, 0]),
        ([np.uint64(2**64 - 1), 2.0**64], [0, 1]),
    ],
)
def test_a_view_compares_numpy_scalars_with_numbers_exactly(tmp_path, values, order):
    jinx.convert(({"k": k, "v": v, "in": {"v": v}} for k, v in enumerate(values)), tmp_path / "a.jinx")
    dataset = jinx.open(tmp_path / "a.jinx")
    keys = ("v", "in.v", lambda sample: sample["v"], lambda sample: (sample["v"], 0), lambda sample: [sample["v"]])
    for key in keys:
        assert dataset.sort(key)["k"].tolist() == order
    for key in ("in.v", "-in.v"):
        jinx.sort(tmp_path / "a.jinx", tmp_path / "b.jinx", by=key, overwrite=True)
        assert dataset.sort(key)["k"].tolist() == jinx.open(tmp_path / "b.jinx")["k"].tolist()
