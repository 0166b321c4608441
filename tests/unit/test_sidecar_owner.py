"""Sidecars that another main file of the directory needs: of one that was renamed, or copied without its sidecar."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import jinx
import samples
from jinx._cli.program import run

OWNED = "a.binx: this is the sidecar of b.jinx; rename it to b.binx first, or choose another name"
SHARED = "a.binx: this is the sidecar of b.jinx; copy it to b.binx first, or choose another name"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """b.jinx, which was a.jinx, and its sidecar a.binx."""
    samples.write(tmp_path / "a.jinx", 5).rename(tmp_path / "b.jinx")
    return tmp_path


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def is_whole(path: Path) -> bool:
    return jinx.verify(path) == [] and samples.plain(jinx.open(path)[4]) == samples.plain(samples.sample(4))


@pytest.mark.parametrize("overwrite", [False, True])
def test_writing_a_name_whose_sidecar_is_anothers_is_refused(directory, overwrite):
    with pytest.raises(jinx.InvalidError, match=OWNED):
        samples.write(directory / "a.jinx", 3, overwrite=overwrite)
    assert names(directory) == ["a.binx", "b.jinx"]
    assert is_whole(directory / "b.jinx")


@pytest.mark.parametrize(
    "words",
    [
        ("convert", "{}/rows.jsonl", "{}/a.jinx"),
        ("convert", "{}/rows.jsonl", "{}/a.jinx", "--overwrite"),
        ("cp", "{}/in/c.jinx", "{}/a.jinx"),
        ("cp", "--overwrite", "{}/in/c.jinx", "{}/a.jinx"),
        ("mv", "{}/in/c.jinx", "{}/a.jinx"),
        ("mv", "--overwrite", "{}/in/c.jinx", "{}/a.jinx"),
        ("repair", "{}/in/c.jinx", "--out", "{}/a.jinx"),
    ],
    ids=" ".join,
)
def test_every_command_refuses_the_name(directory, capsys, words):
    (directory / "in").mkdir()
    samples.write(directory / "in" / "c.jinx", 3)
    (directory / "rows.jsonl").write_text("{}\n", "utf-8")
    assert run([word.format(directory) for word in words]) != 0
    assert OWNED in capsys.readouterr().err
    assert names(directory) == ["a.binx", "b.jinx", "in", "rows.jsonl"]
    assert is_whole(directory / "b.jinx")
    assert jinx.verify(directory / "in" / "c.jinx") == []


def test_a_copy_without_a_sidecar_keeps_the_one_of_its_original(tmp_path, capsys):
    path = samples.write(tmp_path / "a.jinx", 5)
    (tmp_path / "b.jinx").write_bytes(path.read_bytes())
    with pytest.raises(jinx.InvalidError, match=SHARED):
        samples.write(path, 3, overwrite=True)
    assert run(["mv", str(path), str(tmp_path / "c.jinx")]) == 0
    assert names(tmp_path) == ["a.binx", "b.jinx", "c.binx", "c.jinx"]
    assert run(["cp", str(tmp_path / "b.jinx"), str(tmp_path / "d.jinx")]) == 0
    (tmp_path / "c.jinx").rename(path)
    assert run(["rm", str(path)]) == 0
    assert names(tmp_path) == ["a.binx", "b.jinx", "c.binx", "d.binx", "d.jinx"]
    assert is_whole(tmp_path / "b.jinx")
    assert is_whole(tmp_path / "d.jinx")
    assert capsys.readouterr().err == ""


def test_a_renamed_main_file_takes_its_sidecar_along(directory):
    assert run(["mv", str(directory / "b.jinx"), str(directory / "c.jinx")]) == 0
    assert names(directory) == ["c.binx", "c.jinx"]
    assert is_whole(directory / "c.jinx")


def test_a_renamed_main_file_gets_its_name_back(directory):
    assert run(["mv", str(directory / "b.jinx"), str(directory / "a.jinx")]) == 0
    assert names(directory) == ["a.binx", "a.jinx"]
    assert is_whole(directory / "a.jinx")


def test_a_renamed_main_file_is_removed_with_its_sidecar(directory):
    assert run(["rm", str(directory / "b.jinx")]) == 0
    assert names(directory) == []


def test_moving_and_removing_leave_what_only_has_the_name(directory, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    jinx.convert([{"n": 1}], other / "a.jinx")
    assert names(other) == ["a.jinx"]
    (other / "a.jinx").rename(directory / "a.jinx")
    assert run(["mv", str(directory / "a.jinx"), str(directory / "c.jinx")]) == 0
    (directory / "c.jinx").rename(directory / "a.jinx")
    assert run(["rm", str(directory / "a.jinx")]) == 0
    assert names(directory) == ["a.binx", "b.jinx"]
    assert is_whole(directory / "b.jinx")


def test_a_merge_replaces_nothing(tmp_path):
    for part in range(2):
        with jinx.Writer(tmp_path, part=(part, 2)) as writer:
            writer.write_many(samples.sample(i) for i in range(5))
    samples.write(tmp_path / "shard-00001.jinx", 5)
    (tmp_path / "shard-00001.jinx").rename(tmp_path / "mine.jinx")
    with pytest.raises(jinx.MismatchError, match=r"shard-00001\.binx: this file is in the way"):
        jinx.merge(tmp_path)
    assert is_whole(tmp_path / "mine.jinx")
    assert run(["mv", str(tmp_path / "mine.jinx"), str(tmp_path / "other.jinx")]) == 0
    jinx.merge(tmp_path)
    assert is_whole(tmp_path / "other.jinx")
    assert len(jinx.open(tmp_path)) == 10


def test_a_missing_sidecar_is_told(tmp_path, capsys):
    path = samples.write(tmp_path / "a.jinx", 5)
    shards = samples.write(tmp_path / "shards", 20, shard_size="2kB")
    (tmp_path / "a.binx").unlink()
    (shards / "shard-00001.binx").unlink()
    for words in [("cp", path), ("mv", path), ("cp", shards)]:
        target = tmp_path / ("b.jinx" if words[1] == path else "copy")
        assert run([*map(str, words), str(target)]) == 1
        error = capsys.readouterr().err
        assert "is missing" in error
        assert error.count("\n") == 1
        assert names(tmp_path) == ["a.jinx", "shards"]
    assert run(["rm", str(path)]) == 0
    assert names(tmp_path) == ["shards"]


def test_copies_keep_time_and_permissions(tmp_path):
    path = samples.write(tmp_path / "a.jinx", 5)
    path.chmod(0o640)
    assert run(["cp", str(path), str(tmp_path / "b.jinx")]) == 0
    before, after = path.stat(), (tmp_path / "b.jinx").stat()
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)


@pytest.mark.parametrize("kind", ["pair", "directory"])
def test_what_a_killed_copy_leaves_is_cleaned(tmp_path, kind):
    """A sidecar with a long tail of zeros, so that the copy is killed before it has ended."""
    source = tmp_path / "in"
    source.mkdir()
    for name in ("train", "test"):
        samples.write(source / f"{name}.jinx", 5)
    out = tmp_path / "out"
    out.mkdir()
    big = source / "train.binx"
    with big.open("r+b") as file:
        file.truncate(8 << 30)
    words = ("cp", source / "train.jinx", out / "b.jinx") if kind == "pair" else ("cp", source, out / "copy")
    with subprocess.Popen([sys.executable, "-m", "jinx", *map(str, words)]) as process:
        deadline = time.monotonic() + 60
        while not list(out.iterdir()) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    assert list(out.iterdir())
    assert run(["clean", str(out)]) == 0
    assert names(out) == []


def test_a_directory_takes_one_dataset_after_another(tmp_path, capsys):
    for name in "abcd":
        samples.write(tmp_path / f"{name}.jinx", 3)
    archive = tmp_path / "archive"
    archive.mkdir()
    for words in (["cp", "a.jinx"], ["cp", "b.jinx"], ["mv", "c.jinx", "d.jinx"]):
        assert run([words[0], *(str(tmp_path / name) for name in words[1:]), str(archive)]) == 0, (
            capsys.readouterr().err
        )
    assert sorted(path.name for path in archive.glob("*.jinx")) == ["a.jinx", "b.jinx", "c.jinx", "d.jinx"]
    # A directory of shards still gets and keeps its own name.
    assert run(["cp", str(archive), str(tmp_path / "other")]) == 0
    assert len(jinx.open(tmp_path / "other")) == 12
    assert run(["cp", str(archive), str(tmp_path / "other")]) == 2
    assert "other exists" in capsys.readouterr().err
    with jinx.Writer(tmp_path / "listed", shard_size=10_000) as writer:
        writer.write_many(samples.sample(i) for i in range(5))
    assert run(["cp", str(tmp_path / "a.jinx"), str(tmp_path / "listed")]) == 2
