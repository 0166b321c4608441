"""Files that the page cache has dropped give the same samples; they are read ahead of whoever takes many."""

import os
import random
import shutil

import pytest

import jinx
from jinx.torch import Loader

SAMPLES = 400


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """One file, a directory of shards, a saved view with a column of its own, and JSON lines."""
    place = tmp_path_factory.mktemp("cold")
    draw = random.Random(1)
    samples = [{"id": i, "image": draw.randbytes(draw.choice([500, 20_000])), "text": "x" * i} for i in range(SAMPLES)]
    for name, options in (("one.jinx", {}), ("shards", {"shard_size": 1 << 20})):
        with jinx.Writer(place / name, compression=None, **options) as writer:
            writer.write_many(samples)
    one = jinx.open(place / "one.jinx")
    one.with_columns({"double": [2 * i for i in range(SAMPLES)]}).select(range(0, SAMPLES, 2)).save(place / "view.jinx")
    jinx.convert(place / "one.jinx", place / "lines.jsonl")
    return {name: place / name for name in ("one.jinx", "shards", "view.jinx", "lines.jsonl")}


def cool(path) -> None:
    for file in path.parent.rglob("*"):
        if file.is_file():
            descriptor = os.open(file, os.O_RDONLY)
            os.fdatasync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="the page cache cannot be dropped")
@pytest.mark.parametrize("io", ["mmap", "pread"])
@pytest.mark.parametrize("name", ["one.jinx", "shards", "view.jinx", "lines.jsonl"])
def test_cold_files_give_the_same_samples(paths, name, io):
    path = paths[name]
    warm = jinx.open(path)
    expected = [dict(sample) for sample in warm]
    by_id = {sample["id"]: sample for sample in expected}
    order = random.Random(2).sample(range(len(expected)), len(expected))

    cool(path)
    ds = jinx.open(path, io=io)
    assert [dict(sample) for sample in ds] == expected
    cool(path)
    taken = [sample for at in range(0, len(order), 64) for sample in ds.take(order[at : at + 64])]
    assert [dict(sample) for sample in taken] == [expected[i] for i in order]
    cool(path)
    for sample in ds.shuffle(seed=3):
        assert dict(sample) == by_id[sample["id"]]
    cool(path)
    batches = Loader(ds, 64, sampler=order, num_workers=2, collate_fn=list)
    assert [dict(sample) for batch in batches for sample in batch] == [expected[i] for i in order]


def test_a_shrunk_file_is_an_error_while_it_is_read_ahead(paths, tmp_path):
    path = tmp_path / "one.jinx"
    for file in (paths["one.jinx"], paths["one.jinx"].with_suffix(".binx")):
        shutil.copy(file, path.with_suffix(file.suffix))
    ds = jinx.open(path, io="pread")
    assert len(next(iter(ds))["image"]) > 0
    os.truncate(path.with_suffix(".binx"), 100_000)
    with pytest.raises(jinx.TruncatedFileError):
        ds.take(range(SAMPLES))
    with pytest.raises(jinx.TruncatedFileError):
        [sample["image"] for sample in ds]


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="the page cache cannot be dropped")
def test_cold_rows_beyond_the_memory_are_put_in_order(tmp_path):
    """In parts, for which the disk is asked while earlier ones are moved; and the map reads ahead again after that."""
    source = tmp_path / "rows.jinx"
    rows = ({"id": i, "key": (7919 * i) % 100_003 / 8, "text": f"{i}-" * (i % 20)} for i in range(100_000))
    with jinx.Writer(source) as writer:
        writer.write_many(rows)
    ds = jinx.open(source)
    one, two = tmp_path / "one" / "out.jinx", tmp_path / "two" / "out.jinx"
    for path in (one, two):
        path.parent.mkdir()
    for rewrite, options in ((jinx.shuffle, {"seed": 5}), (jinx.sort, {"by": "key"})):
        rewrite(ds, one, memory="1GB", overwrite=True, **options)
        cool(source)
        assert rewrite(ds, two, memory="1MB", overwrite=True, **options).plan == "two passes"
        for suffix in (".jinx", ".binx"):
            assert one.with_suffix(suffix).read_bytes() == two.with_suffix(suffix).read_bytes()
    cool(source)
    assert [sample["id"] for sample in ds] == list(range(100_000))
