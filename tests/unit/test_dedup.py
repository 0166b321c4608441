"""`jinx.dedup`: the first of equal samples stays."""

import numpy as np
import pytest

import jinx
import samples
from jinx._cli.program import run


def write(path, rows, **options):
    with jinx.Writer(path, **options) as writer:
        writer.write_many(rows)
    return path


def values(path) -> list:
    return [samples.plain(one) for one in jinx.open(path).to_list()]


def test_whole_samples_however_they_are_stored(tmp_path):
    rows = [samples.sample(n) for n in range(20)]
    first = write(tmp_path / "a.jinx", rows)
    inline = write(tmp_path / "b.jinx", [dict(reversed(row.items())) for row in rows[5:]], sidecar=False)
    bare = write(tmp_path / "c.jinx", [*rows[10:], {**rows[0], "n": 99}], compression=None)
    jinx.convert(first, tmp_path / "d.jsonl")
    done = jinx.dedup([first, inline, bare, tmp_path / "d.jsonl"], tmp_path / "out.jinx")
    assert (done.samples, done.duplicates, done.missing) == (21, 15 + 10 + 20, 0)
    assert values(tmp_path / "out.jinx") == [samples.plain(row) for row in [*rows, {**rows[0], "n": 99}]]
    assert jinx.verify(tmp_path / "out.jinx") == []


def test_mds_and_jinx_hold_the_same(tmp_path):
    rows = [{"id": str(n % 7), "data": bytes([n % 7]) * 300, "n": n % 7} for n in range(20)]
    write(tmp_path / "a.jinx", rows)
    jinx.convert(tmp_path / "a.jinx", tmp_path / "m", output_format="mds")
    assert jinx.dedup([tmp_path / "a.jinx", tmp_path / "m"], tmp_path / "out.jinx").samples == 7


def test_values_that_python_calls_equal_are_not_the_same(tmp_path):
    rows = [{"v": 1}, {"v": 1.0}, {"v": True}, {"v": "1"}, {"v": b"1"}, {"v": [1]}, {"v": None}, {}, {"w": 1}]
    assert jinx.dedup(write(tmp_path / "a.jinx", rows), tmp_path / "out.jinx").samples == len(rows)
    rows = [{"v": np.arange(3)}, {"v": np.arange(3, dtype=np.int16)}, {"v": np.int8(1)}, {"v": np.int16(1)}]
    assert jinx.dedup(write(tmp_path / "b.jinx", rows * 2), tmp_path / "out2.jinx").duplicates == len(rows)


def test_by_columns_and_paths(tmp_path):
    rows = [{"id": n, "url": f"u{n % 3}", "meta": {"lang": "en" if n < 5 else "de"}} for n in range(10)]
    path = write(tmp_path / "a.jinx", rows)
    assert jinx.dedup(path, tmp_path / "one.jinx", by="url").samples == 3
    done = jinx.dedup(path, tmp_path / "two.jinx", by=["url", "meta.lang"], view=True)
    assert (done.samples, done.duplicates) == (6, 4)
    assert jinx.open(tmp_path / "two.jinx")["id"].tolist() == [0, 1, 2, 5, 6, 7]
    with pytest.raises(KeyError, match="ur'"):
        jinx.dedup(path, tmp_path / "three.jinx", by="ur")


def test_samples_without_a_key(tmp_path):
    rows = [{"n": n, "url": None if n % 2 else "same"} for n in range(8)] + [{"n": 8}]
    path = write(tmp_path / "a.jinx", rows)
    kept = jinx.dedup(path, tmp_path / "kept.jinx", by="url")
    assert (kept.samples, kept.duplicates, kept.missing) == (6, 3, 5)
    dropped = jinx.dedup(path, tmp_path / "dropped.jinx", by="url", missing="drop")
    assert (dropped.samples, dropped.duplicates, dropped.missing) == (1, 3, 5)
    with pytest.raises(KeyError, match="5 samples have no url, for instance sample 1"):
        jinx.dedup(path, tmp_path / "failed.jinx", by="url", missing="fail")


def test_what_was_removed_is_listed_for_select(tmp_path):
    path = write(tmp_path / "a.jinx", [{"n": n, "k": n % 4} for n in range(10)])
    jinx.dedup(path, tmp_path / "out.jinx", by="k", removed=tmp_path / "removed.npy", where="n > 1")
    assert np.load(tmp_path / "removed.npy").tolist() == [6, 7, 8, 9]
    jinx.select(path, tmp_path / "twice.jinx", tmp_path / "removed.npy")
    assert jinx.open(tmp_path / "twice.jinx")["n"].tolist() == [6, 7, 8, 9]
    view = jinx.open(path)[::-1]
    jinx.dedup(view, tmp_path / "back.jinx", by="k", removed=tmp_path / "back.txt", where="n < 8")
    assert jinx.open(tmp_path / "back.jinx")["n"].tolist() == [7, 6, 5, 4]
    assert view[np.loadtxt(tmp_path / "back.txt", dtype=int)]["n"].tolist() == [3, 2, 1, 0]


def test_many_chunks_are_one_set(tmp_path, monkeypatch):
    monkeypatch.setattr("jinx._rewrite.key_fingerprints.CHUNK_SAMPLES", 7)
    path = write(tmp_path / "a.jinx", [{"k": n % 11} for n in range(100)])
    assert jinx.dedup(path, tmp_path / "out.jinx").samples == 11
    assert jinx.open(tmp_path / "out.jinx")["k"].tolist() == list(range(11))


def test_functions_are_refused(tmp_path):
    path = write(tmp_path / "a.jinx", [{"k": 1}])
    with pytest.raises(TypeError, match="without the functions given to map"):
        jinx.dedup(jinx.open(path).map(lambda _: {"k": 2}), tmp_path / "out.jinx")


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write("a.jinx", [{"k": n % 2, "url": None if n == 5 else "u"} for n in range(6)])
    assert run(["dedup", "a.jinx", "out.jinx"]) == 0
    assert "out.jinx: 3 samples, " in capsys.readouterr().err
    assert run(["dedup", "a.jinx", "by.jinx", "--by", "url", "--removed", "r.json"]) == 0
    said = capsys.readouterr().err
    assert "4 duplicates left out" in said
    assert "1 sample without a key was kept (--missing)" in said
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.jinx", "by.jinx", "out.jinx", "r.json"]


@pytest.mark.parametrize("name", ["in.jinx", "in.binx", "out.jinx", "mine.npy"])
def test_the_list_of_the_removed_replaces_nothing(tmp_path, name):
    path = write(tmp_path / "in.jinx", [{"id": n % 3, "data": bytes([n]) * 5000} for n in range(6)], sidecar=True)
    (tmp_path / "mine.npy").write_bytes(b"mine")
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    for overwrite in (False, True) if name != "mine.npy" else (False,):
        with pytest.raises((ValueError, FileExistsError)):
            jinx.dedup(path, tmp_path / "out.jinx", by="id", removed=tmp_path / name, overwrite=overwrite)
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before


def test_a_key_that_is_not_a_number_is_missing(tmp_path):
    nan = float("nan")
    path = write(tmp_path / "in.jinx", [{"x": nan}, {"x": 1.0}, {"x": None}, {"x": nan}, {"x": 1.0}])
    assert jinx.dedup(path, tmp_path / "kept.jinx", by="x").samples == 4
    done = jinx.dedup(path, tmp_path / "dropped.jinx", by="x", missing="drop")
    assert (done.samples, done.duplicates, done.missing) == (1, 1, 3)
    jinx.split(path, tmp_path / "parts", by="x")
    assert sorted(one.name for one in (tmp_path / "parts").iterdir()) == ["1.0.jinx", "null.jinx"]
    # As whole samples, NaN is a value like any other.
    assert jinx.dedup(path, tmp_path / "whole.jinx").samples == 3


def test_an_empty_name_and_an_empty_dataset(tmp_path, capsys):
    path = write(tmp_path / "in.jinx", [{"x": 1}, {"x": 1}])
    assert run(["dedup", str(path), str(tmp_path / "out.jinx"), "--by", ""]) == 2
    assert "names nothing" in capsys.readouterr().err
    assert run(["dedup", str(path), ""]) == 2
    assert "empty name" in capsys.readouterr().err
    empty = write(tmp_path / "empty.jinx", [])
    assert jinx.dedup(empty, tmp_path / "a.jinx", by="x").samples == 0
    assert jinx.sort(empty, tmp_path / "b.jinx", by=["x", "-len(meta.y)"]).samples == 0
    assert jinx.split(empty, tmp_path / "c", count=2, group="x").samples == 0
    assert [one.samples for one in jinx.split(empty, tmp_path / "d", by="x").parts] == []


def fails(*_: object) -> None:
    raise RuntimeError("stop")


def test_the_list_of_the_removed_appears_with_the_output(tmp_path):
    path = write(tmp_path / "in.jinx", [{"id": n % 3} for n in range(6)])
    before = sorted(one.name for one in tmp_path.iterdir())
    with pytest.raises(RuntimeError, match="stop"):
        jinx.dedup(path, tmp_path / "out.jinx", removed=tmp_path / "r.npy", progress=fails)
    assert sorted(one.name for one in tmp_path.iterdir()) == before
    jinx.dedup(path, tmp_path / "out.jinx", removed=tmp_path / "r.npy")
    (tmp_path / "r.npy").write_bytes(b"mine")
    with pytest.raises(RuntimeError, match="stop"):
        jinx.dedup(path, tmp_path / "out.jinx", removed=tmp_path / "r.npy", overwrite=True, progress=fails)
    assert (tmp_path / "r.npy").read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("out", "removed", "said"),
    [
        ("out.jinx", "out.binx", "the other output too"),
        ("out", "out/r.npy", "lies in .*out, the other output"),
        ("out", "other.binx", "name of a dataset's file"),
        ("out", "other.jinx", "name of a dataset's file"),
        ("out", "", "empty name"),
    ],
)
def test_the_list_of_the_removed_has_a_place_of_its_own(tmp_path, out, removed, said):
    path = write(tmp_path / "in.jinx", [{"id": n % 3} for n in range(6)])
    for overwrite in (False, True):
        with pytest.raises(ValueError, match=said):
            jinx.dedup(path, tmp_path / out, removed=removed and tmp_path / removed, overwrite=overwrite)
    assert [one.name for one in tmp_path.iterdir()] == ["in.jinx"]
