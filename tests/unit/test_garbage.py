"""Cycles of references through every class that holds Python objects are found and freed."""

import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import jinx
import samples
from jinx._core import Batches
from jinx.mds import BulkReader, MDSWriter


class Owner:
    """Stands for a user's object, say a training data module, that keeps what it made."""

    held: Any

    def apply(self, value: Any) -> Any:
        return value


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return samples.write(tmp_path / "a.jinx", 20)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    with MDSWriter(columns={"id": "int", "data": "bytes"}, out=tmp_path / "mds") as writer:
        for k in range(20):
            writer.write({"id": k, "data": b"x" * k})
    return tmp_path / "mds"


def is_freed(build: Callable[[Owner], Any]) -> bool:
    """Whether an owner and what it holds go once nobody else knows them."""
    owner = Owner()
    owner.held = build(owner)
    gone = weakref.ref(owner)
    del owner
    assert gone() is not None, "there is no cycle to find"
    gc.collect()
    return gone() is None


def decoded(dataset: jinx.Dataset, field: str, owner: Owner) -> jinx.Dataset:
    return dataset._derive(decoders={field: owner.apply})


def touched(sample: Any) -> Any:
    for name in sample:
        sample[name]
    return sample


def started(iterator: Iterator[Any], count: int = 1) -> Iterator[Any]:
    for _ in range(count):
        next(iterator)
    return iterator


def test_a_dataset_with_a_transform(path, directory):
    for source in (path, directory):
        assert is_freed(lambda owner, source=source: jinx.open(source).map(owner.apply))
        assert is_freed(lambda owner, source=source: jinx.open(source).map(owner.apply)[3:7].shuffle(1))
        assert is_freed(lambda owner, source=source: jinx.open(source).filter(lambda _: True).map(owner.apply))


def test_a_dataset_with_a_decoder(path, directory):
    assert is_freed(lambda owner: decoded(jinx.open(path), "n", owner))
    assert is_freed(lambda owner: decoded(jinx.open(directory), "id", owner))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_maps_go_with_the_dataset(path):
    def mapped() -> bool:
        return str(path) in Path("/proc/self/maps").read_text("utf-8")

    def build(owner: Owner) -> jinx.Dataset:
        dataset = jinx.open(path, io="mmap").map(owner.apply)
        assert mapped()
        return dataset

    assert is_freed(build)
    assert not mapped()


def test_a_dataset_with_attributes(path):
    def build(owner: Owner) -> jinx.Dataset:
        dataset = jinx.open(path)
        dataset.owner = owner
        return dataset

    assert is_freed(build)


def test_a_sample(path, directory):
    for source, field in ((path, "n"), (directory, "id")):
        for finish in (lambda sample: sample, touched, jinx.LazyDict.copy, jinx.LazyDict.items):
            assert is_freed(lambda owner, s=source, f=field, finish=finish: finish(decoded(jinx.open(s), f, owner)[1]))
        assert is_freed(lambda owner, s=source, f=field: decoded(jinx.open(s), f, owner).take([3, 1]))


def test_a_sample_that_holds_itself(path, directory):
    for source in (path, directory):

        def build(owner: Owner, source: Path = source) -> jinx.LazyDict:
            sample = jinx.open(source)[1]
            sample["owner"], sample["self"] = owner, sample
            return sample

        assert is_freed(build)


def test_a_sample_whose_values_lead_back(path):
    """The first value that is touched is kept in one place, the others in another."""

    def build(owner: Owner, names: list[str]) -> jinx.LazyDict:
        sample = jinx.open(path)[3]
        for name in names:
            sample[name]
        sample[names[-1]].append(owner)
        return sample

    assert is_freed(lambda owner: build(owner, ["messages"]))
    assert is_freed(lambda owner: build(owner, ["n", "messages"]))


def test_an_iterator(path, directory):
    for source, field in ((path, "n"), (directory, "id")):
        assert is_freed(lambda owner, s=source: started(iter(jinx.open(s).map(owner.apply))))
        assert is_freed(lambda owner, s=source, f=field: started(iter(decoded(jinx.open(s), f, owner)), 12))
        assert is_freed(lambda owner, s=source, f=field: next(iter(decoded(jinx.open(s), f, owner))))


def test_batches(path, directory):
    def endless(owner: Owner) -> Iterator[list[int]]:
        while owner:
            yield [0, 1]

    for source in (path, directory):
        assert is_freed(lambda owner, s=source: started(Batches(jinx.open(s), endless(owner), None, 0, 2)))
        assert is_freed(lambda owner, s=source: started(Batches(jinx.open(s).map(owner.apply), [[0], [1]], None, 1, 1)))


def test_a_loader(path):
    pytest.importorskip("torch")
    from jinx.torch import Loader

    def build(owner: Owner) -> list[Any]:
        loader = Loader(jinx.open(path).with_transform(owner.apply), batch_size=4, collate_fn=owner.apply)
        return [loader, started(iter(loader))]

    assert is_freed(build)


def test_a_reader_of_mds_directories(directory):
    assert is_freed(lambda owner: BulkReader(directory).map(owner.apply))


def test_what_several_objects_share_stays(path):
    """Samples, iterators and views share their files and decoders; the collector must not count those twice."""
    kept: list[Any] = []

    def build(owner: Owner) -> jinx.Dataset:
        dataset = decoded(jinx.open(path), "n", owner)
        kept.extend([dataset[1], next(iter(dataset)), *dataset.take([2, 3]), dataset[4:6]])
        return dataset

    assert not is_freed(build)
    for _ in range(3):
        gc.collect()
    assert [sample["n"] for sample in kept[:4]] == [1, 0, 2, 3]
    assert [sample["n"] for sample in kept[4]] == [4, 5]
    owner = kept[4]._decoders["n"].__self__
    gone = weakref.ref(owner)
    del owner
    kept.clear()
    gc.collect()
    assert gone() is None
