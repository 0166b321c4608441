"""A dataset that was opened by a relative path, after the working directory has changed."""

import multiprocessing
import os
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import jinx
import samples

COUNT = 40


@pytest.fixture
def directory(tmp_path, monkeypatch) -> Path:
    """The working directory, with the same samples in every form that can be opened."""
    monkeypatch.chdir(tmp_path)
    samples.write(Path("a.jinx"), COUNT)
    samples.write(Path("shards"), COUNT, shard_size=500)
    rows = [{"n": n} for n in range(COUNT)]
    jinx.convert(rows, "a.jsonl")
    jinx.convert(rows, "mds", output_format="mds", compression="zstd", shard_size=100)
    Path("elsewhere").mkdir()
    return tmp_path


def numbers(ds: jinx.Dataset) -> list[int]:
    return [sample["n"] for sample in ds]


WAYS = {
    "pair": "a.jinx",
    "dotted": "./elsewhere/../a.jinx",
    "bytes": b"a.jinx",
    "directory": "shards",
    "pattern": "shards/*.jinx",
    "list": ["a.jinx"],
    "lines": "a.jsonl",
    "mds": "mds",
    "index": "mds/index.json",
}


@pytest.mark.usefixtures("directory")
@pytest.mark.parametrize("way", WAYS)
def test_it_reads_on(way):
    ds = jinx.open(WAYS[way])
    os.chdir("elsewhere")
    assert numbers(ds) == list(range(COUNT))
    assert numbers(pickle.loads(pickle.dumps(ds))) == list(range(COUNT))
    assert numbers(jinx.concat([ds, ds])) == [*range(COUNT), *range(COUNT)]
    assert ds.info().samples == COUNT


@pytest.mark.usefixtures("directory")
def test_shards_are_opened_late():
    ds = jinx.open("shards")
    assert ds.info().shards > 16  # more than are opened at once
    again = pickle.loads(pickle.dumps(ds[::-1]))
    os.chdir("elsewhere")
    assert ds[COUNT - 1]["image"] == samples.sample(COUNT - 1)["image"]
    assert numbers(again) == list(range(COUNT))[::-1]


@pytest.mark.usefixtures("directory")
@pytest.mark.parametrize("way", ["pair", "directory", "lines", "mds"])
def test_spawned_workers_read(way):
    ds = jinx.open(WAYS[way])
    os.chdir("elsewhere")
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(numbers, ds).result() == list(range(COUNT))


@pytest.mark.usefixtures("directory")
def test_the_cache_of_mds_stays_where_it_is():
    ds = jinx.open("mds", cache="cache")
    text = pickle.dumps(ds)
    os.chdir("elsewhere")
    assert ds[3]["n"] == pickle.loads(text)[3]["n"] == 3
    assert not list(Path().iterdir())
    assert list(Path("../cache").iterdir())


@pytest.mark.usefixtures("directory")
def test_streams_go_on():
    rows = jinx.stream(["a.jsonl", "a.jsonl"])
    os.chdir("elsewhere")
    assert [row["n"] for row in rows] == [*range(COUNT), *range(COUNT)]


@pytest.mark.parametrize("way", ["pair", "lines", "directory"])
def test_names_are_shown_as_they_were_given(directory, way):
    ds = jinx.open(WAYS[way])
    given = str(WAYS[way])
    assert ds.path.startswith(given)
    damaged = directory / ("shards/shard-00020.jinx" if way == "directory" else given)
    with damaged.open("r+b") as file:
        text = file.read()
        file.seek(0)
        file.write(text.replace(b'"n"', b'"n:'))
    os.chdir("elsewhere")
    with pytest.raises(jinx.CorruptFileError) as caught:
        numbers(ds)
    assert str(caught.value).startswith(given)


@pytest.mark.usefixtures("directory")
def test_missing_shards_are_named_as_they_were_given():
    ds = jinx.open("shards")
    Path("shards/shard-00030.jinx").unlink()
    os.chdir("elsewhere")
    with pytest.raises(FileNotFoundError) as caught:
        numbers(ds)
    assert caught.value.filename == "shards/shard-00030.jinx"


@pytest.mark.usefixtures("directory")
@pytest.mark.parametrize("out", ["g.jsonl", "g.jinx", "g.parquet", "g"])
def test_samples_whose_source_changes_the_working_directory(out):
    started = Path.cwd()

    def source():
        yield {"n": 1}
        os.chdir("/")
        yield {"n": 2}

    assert jinx.convert(source(), out).path == out
    assert [sample["n"] for sample in jinx.stream(started / out)] == [1, 2]
