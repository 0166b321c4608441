"""Paths that stand for URLs: the same objects for every node, wherever its mirror is."""

import os

import pytest

from jinx_pipeline.exchange.key_file import KeyFileError, KeyFiles
from jinx_pipeline.runlog.work_dir import publish_text, remove_part, remove_parts
from jinx_pipeline.store import mirror, mirror_store
from jinx_pipeline.store.mirror import fetched, local, mirrored, push_part, readable, shown, url_of
from jinx_pipeline.store.mirror_store import store_at
from pipeline.store.objects import Objects

WORK = "s3://bucket/a/work"


@pytest.fixture
def objects(monkeypatch):
    made = Objects()
    monkeypatch.setattr("jinx_pipeline.runlog.work_dir.object_store", lambda: made)
    for module in (mirror, mirror_store):
        monkeypatch.setattr(module, "object_store", lambda: made)
    return made


@pytest.fixture
def node(objects, tmp_path, monkeypatch):
    """Makes this process a worker of a node."""

    def become(name):
        monkeypatch.setenv("JINX_SCRATCH", str(tmp_path / name))
        mirror._mirror.cache_clear()
        mirror.forget()

    monkeypatch.setattr(mirror, "_FREE_SHARE", 0.0)
    become("first")
    yield become
    mirror._mirror.cache_clear()
    mirror.forget()


@pytest.mark.parametrize("url", [WORK, "gs://b/x y/ü.jinx", "az://c/d"])
def test_a_path_stands_for_one_url(node, url):
    assert (url_of(mirrored(url)), shown(mirrored(url))) == (url, url)
    assert url_of(mirrored(url) / "x" / "y") == f"{url}/x/y"


@pytest.mark.parametrize("path", ["/data/in.jinx", "in.jinx", "https://host/in.jinx", "hf://datasets/x"])
def test_other_paths_stay_as_they_are(node, path):
    assert str(mirrored(path)) == os.path.normpath(path)
    assert (url_of(path), shown(path), readable(path)) == (None, path, path)


def test_what_one_node_publishes_the_others_read(objects, node):
    path = mirrored(WORK) / "notes.txt"
    publish_text(path, "one")
    assert objects.data[f"{WORK}/notes.txt"].data == b"one"
    node("second")
    there = fetched(path)
    assert (there, there.read_text()) == (local(path), "one")
    assert there != path
    objects.put(f"{WORK}/notes.txt", b"two")
    assert fetched(path).read_text() == "one"
    mirror.forget()
    assert fetched(path).read_text() == "two"
    with pytest.raises(FileNotFoundError):
        fetched(path.with_name("none"))


def test_a_part_is_read_on_its_node_and_by_its_url_elsewhere(objects, node):
    part = mirrored(WORK) / "parts" / "p.jinx"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"main")
    part.with_suffix(".binx").write_bytes(b"sidecar")
    push_part(part)
    # The file that makes it a dataset is the last one.
    assert list(objects.data) == [f"{WORK}/parts/p.binx", f"{WORK}/parts/p.jinx"]
    assert readable(part) == str(part)
    node("second")
    assert readable(part) == f"{WORK}/parts/p.jinx"


def test_a_part_does_not_stay_on_a_disk_that_is_nearly_full(objects, node, monkeypatch):
    monkeypatch.setattr(mirror, "_FREE_SHARE", 1.0)
    part = mirrored(WORK) / "parts" / "p"
    part.mkdir(parents=True)
    (part / "jinx.json").write_bytes(b"{}")
    push_part(part)
    assert readable(part) == f"{WORK}/parts/p"
    assert list(objects.data) == [f"{WORK}/parts/p/jinx.json"]


def test_parts_are_removed_one_by_one_and_together(objects, node):
    parts = mirrored(WORK) / "parts"
    for name in ("a.jinx", "b", "c"):
        objects.put(f"{WORK}/parts/{name}/jinx.json" if name == "b" else f"{WORK}/parts/{name}", b"")
    objects.put(f"{WORK}/parts/a.binx", b"")
    objects.put(f"{WORK}/parts/ab", b"")
    remove_part(parts / "a.jinx")
    assert list(objects.data) == [f"{WORK}/parts/{name}" for name in ("b/jinx.json", "c", "ab")]
    remove_parts([parts / "b", parts / "c", parts / "none"])
    assert list(objects.data) == [f"{WORK}/parts/ab"]


def test_a_store_of_names(objects, node):
    store = store_at(mirrored(WORK))
    store.put("a", b"1")
    store.put("folder/b", b"2")
    with store.writing("c") as file:
        file.write(b"3")
    assert (store.get("a"), store.get("folder/b"), store.get("c")) == (b"1", b"2", b"3")
    assert (store.list(), store.list("folder"), store.list("none")) == (["a", "c", "folder"], ["b"], [])
    store.delete("folder")
    store.delete("a")
    store.delete("a")
    assert store.list() == ["c"]


def test_keys_of_another_node_are_read_in_ranges(objects, node):
    objects.put(f"{WORK}/parts/k", b"JXKEYS1\n" + bytes(24))
    keys = KeyFiles([mirrored(WORK) / "parts" / "k"])
    (header,) = keys.headers()
    assert (header.samples, keys.sizes()) == (0, [32])
    assert [method for method, _ in objects.calls if method.startswith("get")] == ["get_range"]
    with pytest.raises(KeyFileError, match="missing"):
        KeyFiles([mirrored(WORK) / "parts" / "none"]).headers()


def test_a_store_that_fails_for_too_long_is_one_error(objects, node, monkeypatch):
    monkeypatch.setattr(mirror, "_FIRST_DELAY_SECONDS", 0.01)
    objects.put(f"{WORK}/x", b"1")
    fails = iter([True] * 3)
    objects.faults = [lambda method, url: "fail" if next(fails, False) else None]
    assert store_at(mirrored(WORK)).get("x") == b"1"
    monkeypatch.setattr(mirror, "PATIENCE_SECONDS", 0.1)
    objects.faults = [lambda method, url: "fail"]
    with pytest.raises(mirror.StoreError, match=r"s3://bucket/a/work/x: no answer; the store has failed for"):
        store_at(mirrored(WORK)).get("x")
