"""Closing a dataset: what still works, what says that it is closed, and that maps and files go."""

import gc
import pickle
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jinx
from jinx._core import Batches
from jinx.mds import BulkReader, MDSWriter

COUNT = 40
CLOSED = "the dataset is closed; open it again"
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def sample(number: int) -> dict[str, Any]:
    return {"id": number, "image": bytes([number]) * 20_000}


def write(path: Path, **options: Any) -> Path:
    with jinx.Writer(path, **options) as writer:
        writer.write_many(sample(number) for number in range(COUNT))
    return path


def write_lines(path: Path) -> Path:
    path.write_text("".join(f'{{"id": {number}, "image": "{"x" * 100}"}}\n' for number in range(COUNT)), "utf-8")
    return path


def write_mds(directory: Path, compression: str | None = None) -> Path:
    options: dict[str, Any] = {"size_limit": 200_000, "compression": compression}
    with MDSWriter(columns={"id": "int", "image": "bytes"}, out=directory, **options) as writer:
        for number in range(COUNT):
            writer.write(sample(number))
    return directory


SOURCES: dict[str, Callable[[Path], Path]] = {
    "one.jinx": write,
    "shards": lambda path: write(path, shard_size=200_000),
    "lines.jsonl": write_lines,
    "mds": write_mds,
    "mds-files": lambda path: write_mds(path, "zstd"),
    "mds-samples": lambda path: write_mds(path, "sample::zstd"),
}


@pytest.fixture(params=SOURCES)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return SOURCES[request.param](tmp_path / "data" / request.param)


def used(path: Path) -> list[str]:
    """Maps and open files below the directory of `path`, and those of shards that were decoded elsewhere."""
    links = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            links.append(str(link.readlink()))
        except FileNotFoundError:
            continue
    maps = Path("/proc/self/maps").read_text("utf-8").splitlines()
    return [one for one in [*links, *maps] if str(path.parent) in one or ".mds" in one]


def is_let_go(path: Path) -> bool:
    """A thread that decodes shards ends a moment later."""
    for _ in range(600):
        if not used(path):
            return True
        time.sleep(0.05)
    return False


def test_everything_says_that_it_is_closed(path: Path) -> None:
    dataset = jinx.open(path)
    view, columns = dataset[5:20].shuffle(1), dataset.select_columns(["id"])
    untouched, touched, taken = dataset[3], dataset[4], dataset.take([6, 7], columns=["id"])
    assert touched["id"] == 4
    started = iter(dataset)
    next(started)
    batches = Batches(dataset, [[0], [1], [2]], None, 1, 1)
    next(batches)
    mapped = dataset.map(lambda _: {"more": 1})
    image = touched.copy()["image"]
    dataset.close()
    calls: list[Callable[[], Any]] = [
        lambda: len(dataset),
        lambda: len(view),
        lambda: dataset[0],
        lambda: dataset[:3],
        lambda: dataset["id"],
        lambda: dataset.lengths("image"),
        lambda: dataset.column_names,
        lambda: dataset.schema,
        dataset.info,
        lambda: list(dataset),
        lambda: list(view),
        lambda: view[1],
        lambda: mapped[1],
        lambda: columns.take([1]),
        lambda: dataset.take([]),
        lambda: dataset.__getitems__([1]),
        dataset.to_list,
        lambda: dataset.sort("id"),
        lambda: dataset.with_transform(dict),
        lambda: next(started),
        lambda: next(batches),
        lambda: untouched["id"],
        lambda: list(untouched),
        lambda: "id" in untouched,
        lambda: repr(untouched),
        lambda: untouched.copy()["id"],
        lambda: touched["image"],
        lambda: touched.length("image"),
        lambda: taken[0]["image"],
        lambda: pickle.dumps(dataset),
        lambda: pickle.dumps(untouched),
        lambda: jinx.concat([dataset, dataset]),
    ]
    for call in calls:
        with pytest.raises(jinx.InvalidError, match=CLOSED) as caught:
            call()
        assert isinstance(caught.value, ValueError)
    assert touched["id"] == 4
    assert [one["id"] for one in taken] == [6, 7]
    assert image == (b"\4" * 20_000 if path.suffix != ".jsonl" else "x" * 100)


def test_what_a_closed_dataset_still_tells(path: Path) -> None:
    dataset = jinx.open(path)
    view = dataset[1:3]
    assert not view.closed
    view.close()
    view.close()
    assert dataset.closed
    assert repr(dataset) == f"Dataset({dataset.path!r}, closed)"
    assert "closed" in dataset._repr_html_()


def test_a_block_closes_the_files(path: Path) -> None:
    with jinx.open(path) as dataset:
        assert len(dataset) == COUNT
    assert dataset.closed
    with pytest.raises(KeyError, match="mine"), jinx.open(path) as dataset:
        raise KeyError("mine")
    assert dataset.closed


def test_the_dataset_opens_again_and_others_stay_open(path: Path) -> None:
    other = jinx.open(path)
    copy = pickle.loads(pickle.dumps(other))
    jinx.open(path).close()
    assert other[7]["id"] == 7
    other.close()
    assert copy[7]["id"] == 7
    assert jinx.open(path)[7]["id"] == 7


@linux
@pytest.mark.parametrize("io", ["mmap", "pread"])
def test_maps_and_files_go(path: Path, io: Any) -> None:
    dataset = jinx.open(path, io=io)
    view = dataset.shuffle(1)
    kept = [dataset[0], dataset[1], dataset[30], *dataset.take([12, 21], columns=["id"])]
    values = [kept[0]["id"], kept[1]["image"], kept[2]["image"]]
    iterators = [iter(dataset), iter(view), iter(dataset.select_columns(["image"]))]
    for iterator in iterators:
        kept += [next(iterator) for _ in range(12)]
        values += [one["image"] for one in kept[-12:]]
        next(iterator)
    batches = Batches(dataset, [[0, 1], [20, 21], [2, 3]], None, 2, 2)
    next(batches)
    stream = dataset.__arrow_c_stream__()
    assert used(path)
    dataset.close()
    assert is_let_go(path), used(path)
    assert view.closed
    assert len(values) == 39
    del kept, iterators, batches, stream


@linux
def test_a_walk_over_decoded_shards_ends(tmp_path: Path) -> None:
    """Its thread waits with a file open until somebody takes what it decoded."""
    path = write_mds(tmp_path / "data" / "mds", "zstd")
    dataset = BulkReader(path)
    iterator = iter(dataset)
    assert next(iterator)["id"] == 0
    dataset.close()
    assert is_let_go(path), used(path)
    with pytest.raises(ValueError, match=CLOSED):
        next(iterator)


def test_threads_that_read_meanwhile(path: Path) -> None:
    """They read right values, and then hear that the dataset is closed."""
    dataset = jinx.open(path)
    heard: list[BaseException] = []
    wrong: list[int] = []

    def read(how: Callable[[], Any]) -> None:
        try:
            while True:
                wrong.extend(number for number, one in how() if one["id"] != number or not one["image"])
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test shows it
            heard.append(error)

    numbers = list(range(COUNT))
    ways: list[Callable[[], Any]] = [
        lambda: zip(numbers, dataset.take(numbers), strict=True),
        lambda: enumerate(dataset),
        lambda: ((number, dataset[number]) for number in numbers),
        lambda: ((int(number), dataset[int(number)]) for number in dataset.column("id")),
    ]
    threads = [threading.Thread(target=read, args=(way,)) for way in ways]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    dataset.close()
    for thread in threads:
        thread.join(60)
    assert [str(error) for error in heard] == [str(error) for error in heard if CLOSED in str(error)]
    assert len(heard) == len(ways)
    assert not wrong


def test_nobody_begins_to_read_while_others_are_not_done(tmp_path: Path) -> None:
    """A thread that decodes a shard holds the files a moment longer."""
    path = write_mds(tmp_path / "mds", "zstd")
    for _ in range(20):
        dataset = BulkReader(path)
        sample = dataset[5]
        next(iter(dataset))
        dataset.close()
        for call in (lambda: sample["id"], lambda: dataset[1], lambda: dataset["id"]):  # noqa: B023 - called at once
            with pytest.raises(ValueError, match=CLOSED):
                call()


def test_decoded_arrays_own_their_memory(tmp_path: Path) -> None:
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write({"array": np.arange(5000), "n": 1})
    with jinx.open(tmp_path / "a.jinx") as dataset:
        array = dataset[0]["array"]
        scores = dataset["n"]
    gc.collect()
    assert array.sum() == 4999 * 2500
    assert scores.tolist() == [1]


def test_a_stream_hears_of_it(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    path = write(tmp_path / "a.jinx")
    dataset = jinx.open(path)
    reader = pyarrow.RecordBatchReader.from_stream(dataset)
    dataset.close()
    with pytest.raises(Exception, match=CLOSED):
        reader.read_all()


def test_a_loader_hears_of_it(path: Path) -> None:
    pytest.importorskip("torch")
    from jinx.torch import Loader

    dataset = jinx.open(path)
    iterator = iter(Loader(dataset, batch_size=4, collate_fn=list))
    next(iterator)
    dataset.close()
    with pytest.raises(ValueError, match=CLOSED):
        list(iterator)
