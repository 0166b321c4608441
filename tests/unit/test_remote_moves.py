"""Datasets at URLs are moved, removed, cleaned and verified, and views are saved there."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import bucket
import jinx
import jinx.mds
import mds_samples
import samples
from jinx._cli.program import run
from jinx._files.move import move, remove
from jinx.errors import MismatchError, UnsupportedError


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[bucket.Bucket]:
    (tmp_path / "bucket").mkdir()
    with bucket.served(tmp_path / "bucket") as store:
        for name, value in {**store.environment, "JINX_CACHE": "off"}.items():
            monkeypatch.setenv(name, value)
        yield store


@pytest.fixture
def local(tmp_path: Path) -> Path:
    return samples.write(tmp_path / "local.jinx")


def plain(dataset: Any) -> Any:
    return samples.plain(list(dataset))


def names(store: bucket.Bucket) -> list[str]:
    files = [path for path in store.directory.rglob("*") if path.is_file()]
    return sorted(path.relative_to(store.directory).as_posix() for path in files)


def mds(path: Path, compression: str | None) -> Path:
    """An MDS directory."""
    with jinx.mds.MDSWriter(
        columns=mds_samples.COLUMNS, out=str(path), compression=compression, size_limit=60_000
    ) as out:
        for i in range(mds_samples.COUNT):
            out.write(mds_samples.sample(i))
    return path


def put(store: bucket.Bucket, local: Path, name: str = "a.jinx") -> str:
    """The local dataset in the bucket."""
    jinx.convert(local, store.url(name))
    return store.url(name)


def test_a_dataset_is_moved_to_within_and_from_a_bucket(store, local, tmp_path):
    expected = plain(jinx.open(local))
    assert run(["mv", str(local), store.url("in/a.jinx")]) == 0
    assert not list(tmp_path.glob("local.*"))
    assert run(["mv", store.url("in/a.jinx"), store.url("b.jinx")]) == 0
    assert names(store) == ["b.binx", "b.jinx"]
    assert run(["mv", store.url("b.jinx"), str(tmp_path / "back.jinx")]) == 0
    assert names(store) == []
    assert plain(jinx.open(tmp_path / "back.jinx")) == expected
    with pytest.raises(ValueError, match="the dataset itself"):
        move(store.url("a.jinx"), store.url("a.jinx"))


def test_a_directory_is_moved_and_an_existing_dataset_is_not_replaced(store, local, capsys):
    put(store, local, "shards")
    put(store, local, "other.jinx")
    assert run(["mv", store.url("shards"), store.url("moved")]) == 0
    assert {name.split("/")[0] for name in names(store)} == {"moved", "other.binx", "other.jinx"}
    assert plain(jinx.open(store.url("moved"))) == plain(jinx.open(local))
    put(store, local, "a.jinx")
    assert run(["mv", store.url("a.jinx"), store.url("other.jinx")]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert "a.jinx" in names(store)


def test_a_dataset_that_changes_while_it_is_copied_is_not_removed(store, local, tmp_path):
    url = put(store, local)

    def replaced(handler: bucket.Handler, request: bucket.Request) -> bool:
        if request.method == "PUT" and request.key == "b.jinx":
            store.faults.clear()
            os.utime(store.directory / "a.jinx", ns=(1, 1))
        return False

    store.faults.append(replaced)
    with pytest.raises(MismatchError, match="changed while it was copied"):
        move(url, store.url("b.jinx"))
    assert {"a.binx", "a.jinx", "b.binx", "b.jinx"} <= set(names(store))


def test_removing_takes_all_objects_the_main_file_first(store, local):
    url = put(store, local)
    put(store, local, "ab.jinx")
    with jinx.Writer(url, overwrite=True) as writer:
        writer.write_many(samples.sample(i) for i in range(3))
    assert [name for name in names(store) if name.startswith(".a.binx.")]
    left: list[list[str]] = []

    def note(handler: bucket.Handler, request: bucket.Request) -> bool:
        if request.method in {"DELETE", "POST"}:
            left.append(names(store))
        return False

    store.faults.append(note)
    assert run(["rm", url]) == 0
    store.faults.clear()
    assert names(store) == ["ab.binx", "ab.jinx"]
    assert "a.jinx" in left[0]
    assert all("a.jinx" not in found for found in left[1:])
    with pytest.raises(FileNotFoundError):
        remove(url)
    put(store, local, "shards")
    (store.directory / "shards" / "notes.txt").write_text("mine")
    with pytest.raises(MismatchError, match="notes"):
        remove(store.url("shards"))
    (store.directory / "shards" / "notes.txt").unlink()
    assert run(["rm", store.url("shards")]) == 0
    assert names(store) == ["ab.binx", "ab.jinx"]
    with pytest.raises(FileNotFoundError):
        remove(store.url("shards"))


def test_cleaning_removes_what_nothing_needs_when_it_is_old(store, local, monkeypatch, capsys):
    url = put(store, local)
    with jinx.Writer(url, overwrite=True) as writer:
        writer.write_many(samples.sample(i) for i in range(3))
    put(store, local, "shards")
    shutil.copy(store.directory / "a.jinx", store.directory / "shards" / "shard-00009.jinx")
    (store.directory / "lost.binx").write_bytes(b"values")
    (store.directory / "lost.txt").write_bytes(b"mine")
    before = names(store)
    assert run(["clean", store.url("")]) == 0
    assert "younger than 24 hours" in capsys.readouterr().out
    assert names(store) == before, "what is young may belong to an upload"
    assert run(["clean", store.url(""), "--older-than", "0"]) == 0
    out = capsys.readouterr().out
    gone = set(before) - set(names(store))
    assert gone == {"a.binx", "lost.binx", "shards/shard-00009.jinx"}, out
    assert plain(jinx.open(url)) == samples.plain([samples.sample(i) for i in range(3)])
    assert plain(jinx.open(store.url("shards"))) == plain(jinx.open(local))
    assert run(["clean", store.url("")]) == 0
    assert "nothing to clean" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["a.jinx", "shards"])
def test_verifying_finds_damage(store, local, name, capsys):
    url = put(store, local, name)
    assert jinx.verify(url) == []
    assert run(["verify", url]) == 0
    assert f"{url}: intact" in capsys.readouterr().out
    [side] = list(store.directory.rglob("*.binx"))
    data = bytearray(side.read_bytes())
    data[100] ^= 1
    side.write_bytes(data)
    [problem] = jinx.verify(url)
    assert problem.file.startswith("s3://")
    assert problem.cause == "corrupt"
    assert run(["verify", url]) == 1
    side.unlink()
    # One for the file, and one for each value in it, as on a disk.
    assert {problem.cause for problem in jinx.verify(url)} == {"mismatch"}
    with pytest.raises(FileNotFoundError):
        jinx.verify(store.url("none.jinx"))


def test_a_missing_shard_is_a_problem(store, local):
    jinx.convert(local, store.url("shards"), shard_size=3_000)
    mains = sorted((store.directory / "shards").glob("*.jinx"))
    assert len(mains) > 2
    mains[1].unlink()
    [problem] = jinx.verify(store.url("shards"))
    assert problem.file.endswith(mains[1].name)
    assert problem.cause == "mismatch"


def test_a_view_is_saved_at_a_url(store, local, tmp_path):
    base = put(store, local, "data/a.jinx")
    view = jinx.open(base).filter("n > 20").with_columns({"score": [float(i) for i in range(29)]})
    saved = view.save(store.url("views/good.jinx"))
    assert saved.path == store.url("views/good.jinx")
    again = jinx.open(store.url("views/good.jinx"))
    assert plain(again) == plain(view)
    assert jinx.verify(store.url("views/good.jinx")) == []
    with pytest.raises(FileExistsError, match="--overwrite"):
        view.save(store.url("views/good.jinx"))
    view[:4].save(store.url("views/good.jinx"), overwrite=True)
    assert plain(jinx.open(store.url("views/good.jinx"))) == plain(view[:4])
    view.save(store.url("views/parts"), shard_size=500)
    assert plain(jinx.open(store.url("views/parts"))) == plain(view)
    with pytest.raises(ValueError, match="also an input"):
        view.save(base, overwrite=True)
    with pytest.raises(ValueError, match="on this machine; copy that first"):
        jinx.open(local)[:3].save(store.url("views/local.jinx"))
    # A copy on this machine opens no URL that nobody names.
    shutil.copy(store.directory / "views" / "good.jinx", tmp_path / "copy.jinx")
    if (store.directory / "views" / "good.binx").exists():
        shutil.copy(store.directory / "views" / "good.binx", tmp_path / "copy.binx")
    with pytest.raises((UnsupportedError, MismatchError)):
        jinx.open(tmp_path / "copy.jinx")
    assert plain(jinx.open(tmp_path / "copy.jinx", base=base)) == plain(view[:4])
    (store.directory / "data" / "a.jinx").unlink()
    with pytest.raises((MismatchError, UnsupportedError), match=r"data/a\.jinx"):
        jinx.open(store.url("views/good.jinx"))


def test_an_mds_directory_is_read_where_it_lies(store, tmp_path):
    for name, compression in (("raw", None), ("zipped", "zstd")):
        local = mds(tmp_path / name, compression)
        shutil.copytree(local, store.directory / name)
        expected, dataset = jinx.open(local), jinx.open(store.url(name))
        assert len(dataset) == len(expected)
        assert plain(dataset) == plain(expected)
        assert samples.plain(dataset[5]) == samples.plain(expected[5])
        assert plain(dataset.take([7, 2, 7])) == plain(expected.take([7, 2, 7]))
        assert plain(jinx.open(store.url(f"{name}/index.json"))[:3]) == plain(expected[:3])
        assert jinx.verify(store.url(name)) == []
        assert dataset.info().columns == expected.info().columns
        assert sorted(dataset.shuffle(3, blocks=True)["id"]) == sorted(expected["id"])
    store.is_open = True
    assert plain(jinx.open(store.http_url("raw"))) == plain(jinx.open(tmp_path / "raw"))
    view = jinx.open(store.url("raw"))[3:6]
    view.save(store.url("view.jinx"))
    assert plain(jinx.open(store.url("view.jinx"))) == plain(view)


def test_an_mds_directory_that_is_replaced_shows_no_other_rows(store, tmp_path):
    shutil.copytree(mds(tmp_path / "raw", None), store.directory / "raw")
    expected = plain(jinx.open(store.url("raw")))
    dataset = jinx.open(store.url("raw"))
    shutil.rmtree(store.directory / "raw")
    with jinx.mds.MDSWriter(columns=mds_samples.COLUMNS, out=str(store.directory / "raw"), size_limit=60_000) as out:
        for i in reversed(range(mds_samples.COUNT)):
            out.write(mds_samples.sample(i))
    found = None
    with suppress(MismatchError):
        found = plain(dataset)
    assert found in (None, expected)
    with pytest.raises((MismatchError, FileNotFoundError)):
        jinx.open(store.url("nothing"))


def test_a_view_is_copied_and_moved_to_within_and_from_a_bucket(store, local, tmp_path, capsys):
    base = put(store, local, "data/a.jinx")
    view = jinx.open(base)[5:9].with_columns({"score": [1.0, 2.0, 3.0, 4.0]})
    view.save(store.url("views/v.jinx"))
    expected = plain(view)
    # The base lies in the same bucket: its relative path is another one from another directory.
    assert run(["cp", store.url("views/v.jinx"), store.url("deep/er/w.jinx")]) == 0
    assert plain(jinx.open(store.url("deep/er/w.jinx"))) == expected
    assert plain(jinx.open(store.url("views/v.jinx"))) == expected
    assert run(["mv", store.url("deep/er/w.jinx"), store.url("w.jinx")]) == 0
    assert not any(name.startswith("deep") for name in names(store))
    assert plain(jinx.open(store.url("w.jinx"))) == expected
    # Here it opens no URL that nobody names.
    assert run(["cp", store.url("w.jinx"), str(tmp_path / "w.jinx")]) == 0
    with pytest.raises((UnsupportedError, MismatchError), match=r"data/a\.jinx"):
        jinx.open(tmp_path / "w.jinx")
    assert plain(jinx.open(tmp_path / "w.jinx", base=base)) == expected
    # And back: the base keeps its URL.
    assert run(["mv", str(tmp_path / "w.jinx"), store.url("back.jinx")]) == 0
    assert not (tmp_path / "w.jinx").exists()
    assert plain(jinx.open(store.url("back.jinx"))) == expected
    assert jinx.verify(store.url("back.jinx")) == []
    assert run(["cp", store.url("back.jinx"), store.url("w.jinx")]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert run(["cp", store.url("back.jinx"), store.url("shards")]) == 2
    assert "must end in .jinx" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["cp", "mv"])
def test_a_view_of_files_of_this_machine_goes_to_a_bucket_with_them(store, local, tmp_path, verb, capsys):
    view = tmp_path / "views" / "v.jinx"
    view.parent.mkdir()
    jinx.open(local)[5:9].with_columns({"score": [1.0, 2.0, 3.0, 4.0]}).save(view)
    expected = plain(jinx.open(view))
    assert run([verb, str(view), store.url("v.jinx")]) == 2
    error = capsys.readouterr().err
    assert str(local) in error
    assert "is on this machine" in error
    assert names(store) == []
    assert view.exists()
    assert run([verb, str(view), str(local), store.url("in/")]) == 0
    assert {"in/local.jinx", "in/v.jinx"} <= set(names(store))
    assert local.exists() == view.exists() == (verb == "cp")
    assert plain(jinx.open(store.url("in/v.jinx"))) == expected


def test_a_view_whose_dataset_is_in_another_bucket_has_to_be_told(store, local, tmp_path):
    """It is named by its URL alone, and no view opens a URL by itself."""
    put(store, local)
    (tmp_path / "other").mkdir()
    with bucket.served(tmp_path / "other") as other:
        # One server answers for both names.
        url = f"s3://{other.name}/a.jinx"
        jinx.open(url)[5:9].save(store.url("v.jinx"))
        with pytest.raises((UnsupportedError, MismatchError), match=other.name):
            jinx.open(store.url("v.jinx"))
        assert run(["cp", store.url("v.jinx"), store.url("w.jinx")]) == 1
        assert names(store) == ["a.binx", "a.jinx", "v.jinx"]
        assert plain(jinx.open(store.url("v.jinx"), base=url)) == plain(jinx.open(store.url("a.jinx"))[5:9])


def test_a_directory_of_views_is_moved(store, local):
    base = put(store, local, "data/a.jinx")
    jinx.open(base).with_columns({"score": [float(i) for i in range(samples.COUNT)]}).save(
        store.url("views/parts"), shard_size=500
    )
    expected = plain(jinx.open(store.url("views/parts")))
    assert run(["mv", store.url("views/parts"), store.url("moved")]) == 0
    assert plain(jinx.open(store.url("moved"))) == expected
    assert not any(name.startswith("views/parts") for name in names(store))
