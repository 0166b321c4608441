"""mv, cp, rm: datasets as a whole."""

import itertools
import os
from contextlib import suppress
from pathlib import Path

import pytest

import jinx
import samples
from jinx import _core
from jinx._cli.program import run
from jinx._files.move import move


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    return samples.write(tmp_path / "a.jinx", 5)


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    return samples.write(tmp_path / "shards", 20, shard_size="2kB")


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_pair_moves_with_its_sidecar(pair, tmp_path):
    assert run(["mv", str(pair), str(tmp_path / "b.jinx")]) == 0
    assert names(tmp_path) == ["b.binx", "b.jinx"]
    assert jinx.verify(tmp_path / "b.jinx") == []
    (tmp_path / "into").mkdir()
    assert run(["mv", str(tmp_path / "b.jinx"), str(tmp_path / "into")]) == 0
    assert names(tmp_path / "into") == ["b.binx", "b.jinx"]
    assert samples.plain(jinx.open(tmp_path / "into" / "b.jinx")[4]) == samples.plain(samples.sample(4))


def test_directories_move_and_are_copied(shards, tmp_path):
    before = names(shards)
    assert run(["cp", str(shards) + "/", str(tmp_path / "copy")]) == 0
    assert names(shards) == names(tmp_path / "copy") == before
    assert run(["mv", str(shards), str(tmp_path / "moved")]) == 0
    assert not shards.exists()
    assert len(jinx.open(tmp_path / "moved")) == len(jinx.open(tmp_path / "copy")) == 20
    assert run(["rm", str(tmp_path / "moved"), str(tmp_path / "copy")]) == 0
    assert names(tmp_path) == []


def test_a_copy_is_whole(pair, tmp_path):
    assert run(["cp", str(pair), str(tmp_path / "b.jinx")]) == 0
    assert names(tmp_path) == ["a.binx", "a.jinx", "b.binx", "b.jinx"]
    assert (tmp_path / "b.binx").read_bytes() == (tmp_path / "a.binx").read_bytes()
    assert run(["rm", str(pair)]) == 0
    assert names(tmp_path) == ["b.binx", "b.jinx"]


def test_nothing_is_replaced_or_lost_by_mistake(pair, shards, tmp_path, capsys):
    other = samples.write(tmp_path / "b.jinx", 3)
    foreign = tmp_path / "mine"
    foreign.mkdir()
    (foreign / "notes.txt").write_text("keep", "utf-8")
    (tmp_path / "a.txt").write_text("", "utf-8")
    before = names(tmp_path)
    for words, says in [
        (["mv", pair, other], "exists"),
        (["cp", pair, tmp_path / "c.txt"], "must end in .jinx"),
        (["cp", shards, tmp_path / "c.jinx"], "must not end in .jinx"),
        (["mv", pair, pair], "the dataset itself"),
        (["mv", pair, tmp_path / "no" / "b.jinx"], "no such directory"),
        (["mv", pair], "where to?"),
        (["mv", pair, other, tmp_path / "c.jinx"], "must be a directory that exists"),
        (["rm", tmp_path / "aa.jinx"], "did you mean 'a.jinx'"),
        (["rm", foreign], "holds 'notes.txt'"),
        (["rm", tmp_path / "a.txt"], "neither a .jinx file nor"),
        (["rm", pair, tmp_path / "gone.jinx"], "no such file"),
    ]:
        assert run([str(word) for word in words]) != 0
        error = capsys.readouterr().err
        assert says in error
        assert error.count("\n") == 1
        assert names(tmp_path) == before
    assert run(["mv", "--overwrite", str(pair), str(other)]) == 0
    assert len(jinx.open(other)) == 5


def test_a_pair_behind_relative_links_moves(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "into").mkdir()
    real = samples.write(tmp_path / "disk" / "real.jinx", 5)
    (tmp_path / "a.binx").symlink_to("disk/real.binx")
    real.rename(tmp_path / "a.jinx")
    assert run(["mv", str(tmp_path / "a.jinx"), str(tmp_path / "into")]) == 0
    assert (tmp_path / "into" / "a.binx").is_symlink()
    assert samples.plain(jinx.open(tmp_path / "into" / "a.jinx")[4]) == samples.plain(samples.sample(4))
    (tmp_path / "link.jinx").symlink_to("into/a.jinx")
    (tmp_path / "link.binx").symlink_to("into/a.binx")
    assert run(["mv", str(tmp_path / "link.jinx"), str(tmp_path / "disk")]) == 0
    assert samples.plain(jinx.open(tmp_path / "disk" / "link.jinx")[4]) == samples.plain(samples.sample(4))


@pytest.mark.parametrize("step", ["link", "replace", "rename", "unlink"])
@pytest.mark.parametrize("kind", ["pair", "directory"])
def test_a_move_that_fails_leaves_the_old_dataset_or_the_new_one(tmp_path, monkeypatch, kind, step):
    def write(name, count):
        if kind == "pair":
            return samples.write(tmp_path / f"{name}.jinx", count)
        return samples.write(tmp_path / name, count, shard_size="2kB")

    source, target = write("new", 7), write("old", 5)
    original = getattr(os, step)
    for failing in range(8):
        calls = itertools.count()

        def fail(*args, calls=calls, failing=failing, **options):
            if next(calls) >= failing:
                raise KeyboardInterrupt
            return original(*args, **options)

        with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
            patch.setattr(os, step, fail)
            move(str(source), str(target), overwrite=True)
        _core.clean(str(tmp_path))
        there = jinx.open(target)
        assert jinx.verify(target) == []
        assert len(there) in {5, 7}
        assert [samples.plain(one) for one in there] == [samples.plain(samples.sample(i)) for i in range(len(there))]
        if not source.exists():
            break
    assert len(jinx.open(target)) == 7
