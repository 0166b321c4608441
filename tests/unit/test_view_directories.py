"""Saved views that are directories: every shard is a view, and together they are one dataset."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import jinx
import samples
from jinx._cli.program import run
from jinx._saved_views.bases import read_view

ROWS = 300


@pytest.fixture
def base(tmp_path: Path) -> Path:
    path = tmp_path / "base.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many({"n": i, "url": f"u{i}", "image": bytes([i % 256]) * 90} for i in range(ROWS))
    return path


def selected(base: Path) -> jinx.Dataset:
    """Every second sample, last first, with own columns, one of which hides a column of the base."""
    view = jinx.open(base)[::2][::-1]
    arrays = [np.full(40, i, dtype=np.int16) for i in range(len(view))]
    return view.with_columns({"q": [i / 4 for i in range(len(view))], "url": [None] * 149 + ["last"], "array": arrays})


def plain(dataset: jinx.Dataset) -> list[object]:
    return [samples.plain(sample) for sample in dataset]


def shards(view: Path) -> list[dict]:
    return json.loads((view / "jinx.json").read_text())["shards"]


def saved(base: Path, name: str = "view", size: int = 4000) -> Path:
    out = base.parent / name
    selected(base).save(out, shard_size=size)
    return out


def test_a_directory_shows_what_was_saved(base, tmp_path):
    out = saved(base)
    assert len(shards(out)) > 3
    view = jinx.open(out)
    assert plain(view) == plain(selected(base))
    assert view.column_names == selected(base).column_names
    assert view.column("q").tolist() == selected(base).column("q").tolist()
    assert view.column("n").tolist() == list(range(298, -1, -2))
    assert [sample["n"] for sample in view.filter("q > 30 and n < 20")] == list(range(18, -1, -2))
    assert [sample["n"] for sample in view.sort("n")[:3]] == [0, 2, 4]
    assert plain(view[[149, 0, 70]]) == plain(selected(base)[[149, 0, 70]])
    again = pickle.loads(pickle.dumps(view[5:8]))
    assert plain(again) == plain(selected(base)[5:8])
    assert jinx.verify(out) == []


@pytest.mark.parametrize("size", [None, 100, 8, 1])
def test_without_own_columns_the_positions_are_divided(base, tmp_path, size):
    view = jinx.open(base)[[7, 7, 250, 3, 0] * 9].select_columns(["n", "url"])
    view.save(tmp_path / "view", shard_size=size)
    opened = jinx.open(tmp_path / "view")
    assert plain(opened) == plain(view)
    assert len(shards(tmp_path / "view")) == -(-45 // max(1, (size or 10**9) // 8))
    assert jinx.verify(tmp_path / "view") == []


def test_empty_and_whole(base, tmp_path):
    jinx.open(base)[:0].save(tmp_path / "none")
    assert plain(jinx.open(tmp_path / "none")) == []
    jinx.open(base).save(tmp_path / "whole", shard_size=1000)
    assert plain(jinx.open(tmp_path / "whole")) == plain(jinx.open(base))


def test_every_shard_is_a_view_of_its_own(base):
    out = saved(base)
    parts = [jinx.open(out / shard["name"]) for shard in shards(out)]
    assert [len(part) for part in parts] == [shard["samples"] for shard in shards(out)]
    # No sample of the first shards has a value in this column, which must not show that of the base.
    assert parts[0][0].get("url") is None
    assert [row for part in parts for row in plain(part)] == plain(jinx.open(out))


def test_a_directory_of_views_over_two_datasets_describes_itself(tmp_path):
    for name, rows in (("a", range(6)), ("b", range(6, 14))):
        jinx.convert(({"id": i} for i in rows), tmp_path / f"{name}.jinx")
    first = jinx.open(tmp_path / "a.jinx").with_columns({"own": list(range(6))})
    (first + jinx.open(tmp_path / "b.jinx")[:5]).save(tmp_path / "views", shard_size=30)
    info = jinx.open(tmp_path / "views").info()
    assert (info.samples, info.own_columns) == (11, ["own"])
    assert [(base.samples, base.selected) for base in info.bases] == [(6, 6), (8, 5)]


def test_what_is_made_of_it_names_the_base_once(base, tmp_path):
    out = saved(base)
    view = jinx.open(out)
    info = view.info()
    assert [(one.path, one.selected) for one in info.bases] == [(str(base), 150)]
    assert (info.samples, info.shards) == (150, len(shards(out)))
    view[3:9].save(tmp_path / "some.jinx")
    assert [one["path"] for one in read_view(str(tmp_path / "some.jinx"))["base"]] == ["base.jinx"]
    assert plain(jinx.open(tmp_path / "some.jinx")) == plain(selected(base)[3:9])
    jinx.convert(out, tmp_path / "copy.jinx")
    assert plain(jinx.open(tmp_path / "copy.jinx")) == plain(selected(base))


def test_other_shards_are_refused(base, tmp_path):
    out = saved(base)
    (out / "shard-00001.jinx").write_bytes((out / "shard-00000.jinx").read_bytes())
    with pytest.raises(jinx.errors.JinxError):
        jinx.open(out)
    with pytest.raises(jinx.MismatchError, match=r"base=None refuses"):
        jinx.open(saved(base, "other"), base=None)


def test_it_does_not_grow_and_is_no_base(base, tmp_path):
    out = saved(base)
    with pytest.raises(jinx.errors.InvalidError, match="saved views"):
        jinx.Writer(out, append=True)
    with pytest.raises(FileExistsError):
        jinx.open(base).save(out)
    jinx.open(base)[:2].save(out, overwrite=True)
    assert len(jinx.open(out)) == 2
    with pytest.raises(ValueError, match="shard size needs a directory"):
        jinx.open(base).save(tmp_path / "v.jinx", shard_size=100)


def test_pickles_are_refused_after_a_change(base):
    out = saved(base)
    pickled = pickle.dumps(jinx.open(out))
    jinx.open(base)[:140].save(out, overwrite=True, shard_size=200)
    with pytest.raises((jinx.MismatchError, FileNotFoundError)):
        pickle.loads(pickled)


@pytest.mark.parametrize("verb", ["mv", "cp"])
def test_moved_and_rebased(base, tmp_path, verb):
    out, rows = saved(base), plain(selected(base))
    (tmp_path / "far").mkdir()
    assert run([verb, str(out), str(tmp_path / "far" / "view")]) == 0
    view = tmp_path / "far" / "view"
    assert [one["path"] for one in read_view(str(view / "shard-00001.jinx"))["base"]] == ["../../base.jinx"]
    assert plain(jinx.open(view)) == rows
    assert run(["mv", str(base), str(tmp_path / "moved.jinx")]) == 0
    with pytest.raises(jinx.MismatchError, match="is missing"):
        jinx.open(view)
    assert plain(jinx.open(view, base=tmp_path / "moved.jinx")) == rows
    with pytest.raises(jinx.MismatchError):
        jinx.rebase(view, samples.write(tmp_path / "wrong.jinx", 3))
    assert run(["rebase", str(view), str(tmp_path / "moved.jinx")]) == 0
    assert plain(jinx.open(view)) == rows
    assert jinx.verify(view) == []
    assert sorted(path.name for path in (tmp_path / "far").iterdir()) == ["view"]


def test_a_location_is_set_and_replaced(base, tmp_path):
    view, url = saved(base), "s3://bucket/data/base.jinx"
    jinx.rebase(view, url)
    jinx.open(base)[:3].save(tmp_path / "one.jinx")
    assert run(["rebase", str(tmp_path / "one.jinx"), url]) == 0
    for path in (view / "shard-00000.jinx", tmp_path / "one.jinx"):
        [entry] = read_view(str(path))["base"]
        assert (entry["location"], entry["path"]) == (url, "base.jinx" if path.parent == tmp_path else "../base.jinx")
    assert plain(jinx.open(view)) == plain(selected(base))
    jinx.rebase(tmp_path / "one.jinx", {url: "hf://datasets/a/base.jinx"})
    assert read_view(str(tmp_path / "one.jinx"))["base"][0]["location"] == "hf://datasets/a/base.jinx"
    with pytest.raises(jinx.errors.InvalidError, match="must not hold secrets"):
        jinx.rebase(view, "https://me:secret@host/base.jinx")
    with pytest.raises(KeyError, match="shows nothing at gs://"):
        jinx.rebase(view, {"gs://other/base.jinx": url})
