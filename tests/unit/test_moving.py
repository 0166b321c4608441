"""mv, cp, rm: datasets as a whole."""

from pathlib import Path

import pytest

import jinx
import samples
from jinx._cli.program import run


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


@pytest.mark.parametrize(
    "words", [["rm"], ["mv", "--overwrite"], ["cp", "--overwrite"], ["split", "--overwrite", "--count", "2"]]
)
def test_a_dataset_in_a_directory_of_shards_is_not_removed_with_it(words, pair, shards, tmp_path, capsys):
    """It is not one of the shards that `jinx.json` lists; reading the directory leaves it out."""
    jinx.open(pair)[::-1].save(shards / "good.jinx")
    source = pair if words[0] == "split" else samples.write(tmp_path / "new", 3, shard_size="2kB")
    command = [*words, str(shards)] if words == ["rm"] else [words[0], str(source), str(shards), *words[1:]]
    assert run(command) != 0
    assert "good.jinx is in this directory and is another dataset" in capsys.readouterr().err
    assert (len(jinx.open(shards)), len(jinx.open(shards / "good.jinx"))) == (20, 5)
    assert source.exists()
    assert run(["rm", str(shards / "good.jinx")]) == 0
    assert run(command) == 0


@pytest.mark.parametrize("lost", ["shard-00001.jinx", "jinx.json"])
def test_a_dataset_in_a_damaged_directory_is_not_removed_with_it(lost, pair, shards, capsys):
    jinx.open(pair)[::-1].save(shards / "shard-good.jinx")
    (shards / lost).unlink()
    assert run(["rm", str(shards)]) != 0
    assert "shard-good.jinx is in this directory and is another dataset" in capsys.readouterr().err
    assert len(jinx.open(shards / "shard-good.jinx")) == 5


def test_a_directory_with_a_damaged_manifest_or_left_shards_is_removed(shards, tmp_path):
    samples.write(shards / "shard-00099.jinx", 1)
    copy = tmp_path / "copy"
    assert run(["cp", str(shards), str(copy)]) == 0
    (copy / "jinx.json").write_text("{")
    assert run(["rm", str(shards), str(copy)]) == 0
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


def test_a_link_to_a_directory_moves_itself(shards, tmp_path):
    (tmp_path / "into").mkdir()
    (tmp_path / "link").symlink_to("shards")
    assert run(["mv", str(tmp_path / "link"), str(tmp_path / "into")]) == 0
    assert (tmp_path / "into" / "link").is_symlink()
    assert names(tmp_path) == ["into", "shards"]
    assert len(jinx.open(tmp_path / "into" / "link")) == len(jinx.open(shards)) == 20


def test_rm_of_a_link_to_a_directory_removes_the_link(shards, tmp_path):
    (tmp_path / "link").symlink_to("shards")
    assert run(["rm", f"{tmp_path / 'link'}/"]) == 0
    assert names(tmp_path) == ["shards"]
    assert len(jinx.open(shards)) == 20


@pytest.mark.parametrize("verb", ["mv", "cp"])
def test_datasets_of_one_name_do_not_replace_each_other(verb, pair, tmp_path, capsys):
    for name in ("other", "into"):
        (tmp_path / name).mkdir()
    other = samples.write(tmp_path / "other" / pair.name, 3)
    assert run([verb, "--overwrite", str(pair), str(other), str(tmp_path / "into")]) != 0
    assert "this would be the new name of" in capsys.readouterr().err
    assert (len(jinx.open(pair)), len(jinx.open(other))) == (5, 3)


def test_a_main_file_gets_its_old_name_back(pair, tmp_path):
    """Its sidecar has the name already."""
    (tmp_path / "a.jinx").rename(tmp_path / "b.jinx")
    assert run(["mv", str(tmp_path / "b.jinx"), str(tmp_path / "a.jinx")]) == 0
    assert names(tmp_path) == ["a.binx", "a.jinx"]
    assert jinx.verify(pair) == []


@pytest.mark.parametrize("written", ["source", "target", "new target"])
@pytest.mark.parametrize("kind", ["pair", "directory"])
def test_what_is_being_written_is_not_moved(kind, written, tmp_path, capsys):
    suffix, options = (".jinx", {}) if kind == "pair" else ("", {"shard_size": "2kB"})
    source, target = tmp_path / f"new{suffix}", tmp_path / f"old{suffix}"
    samples.write(source, 7, **options)
    if written != "new target":
        samples.write(target, 5, **options)
    with jinx.Writer(source if written == "source" else target, overwrite=True, **options) as writer:
        writer.write({"n": 1})
        assert run(["mv", "--overwrite", str(source), str(target)]) != 0
        assert "another process is writing this" in capsys.readouterr().err
    assert len(jinx.open(source)) == (1 if written == "source" else 7)
    assert len(jinx.open(target)) == (5 if written == "source" else 1)
    assert jinx.verify(source) == jinx.verify(target) == []


@pytest.mark.parametrize("kind", ["pair", "directory"])
def test_what_is_being_written_is_not_removed(kind, tmp_path, capsys):
    path, options = tmp_path / "a.jinx", {}
    if kind == "directory":
        path, options = tmp_path / "a", {"shard_size": "2kB"}
    samples.write(path, 7, **options)
    with jinx.Writer(path, overwrite=True, **options) as writer:
        writer.write(samples.sample(1))
        assert run(["rm", str(path)]) != 0
        assert "another process is writing this" in capsys.readouterr().err
        assert len(jinx.open(path)) == 7
    assert jinx.verify(path) == []


@pytest.mark.parametrize("verb", ["cp", "mv", "rm"])
def test_the_manifest_that_a_dead_writer_did_not_finish_is_in_nobodys_way(verb, shards, tmp_path):
    before = names(shards)
    (shards / ".jinx.json.tmp").write_text("{", "utf-8")
    assert run([verb, str(shards), *([] if verb == "rm" else [str(tmp_path / "new")])]) == 0
    assert shards.exists() == (verb == "cp")
    if verb != "rm":
        assert names(tmp_path / "new") == before
        assert len(jinx.open(tmp_path / "new")) == 20


def test_a_directory_does_not_move_into_itself(shards, tmp_path, capsys):
    assert run(["mv", str(shards), str(shards / "sub")]) != 0
    assert "into itself" in capsys.readouterr().err
    assert len(jinx.open(shards)) == 20
    assert names(tmp_path) == ["shards"]
