"""Datasets and samples in other processes and threads."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

import jinx
import samples


@pytest.fixture
def path(tmp_path):
    return samples.write(tmp_path / "a.jinx", 20)


def add_one(sample):
    return {**sample, "n": sample["n"] + 1}


def read(ds: jinx.Dataset, index: int):
    return samples.plain(ds[index])


def same(sample):
    return samples.plain(sample)


def test_a_dataset_pickles_with_its_view(path):
    ds = jinx.open(path, io="pread", columns=["n", "image"])[5:15][::-1].with_transform(add_one)
    again = pickle.loads(pickle.dumps(ds))
    assert [samples.plain(sample) for sample in again] == [samples.plain(sample) for sample in ds]
    assert again._options["io"] == "pread"
    assert type(again) is jinx.Dataset


def test_decoders_pickle(path):
    ds = jinx.open(path).decode({"image": "pil"})
    assert set(pickle.loads(pickle.dumps(ds))._decoders) == {"image"}


def test_a_changed_file_is_noticed(path):
    text = pickle.dumps(jinx.open(path))
    samples.write(path, 21, overwrite=True)
    with pytest.raises(jinx.MismatchError):
        pickle.loads(text)[0]["n"]


def test_a_moved_file_is_named(path):
    text = pickle.dumps(jinx.open(path))
    path.rename(path.with_name("b.jinx"))
    with pytest.raises(FileNotFoundError):
        pickle.loads(text)[0]["n"]


def test_plain_lines_and_directories_pickle(tmp_path):
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"a":1}\n{"a":2}\n', "utf-8")
    assert pickle.loads(pickle.dumps(jinx.open(lines)))["a"].tolist() == [1, 2]
    directory = samples.write(tmp_path / "shards", 20, shard_size=3000, split="train")
    for ds in (jinx.open(directory), jinx.open(directory, split="train")):
        assert pickle.loads(pickle.dumps(ds))["n"].tolist() == list(range(20))


def test_a_sample_pickles_by_value(path):
    sample = jinx.open(path)[4]
    text = pickle.dumps(sample)
    path.unlink()
    again = pickle.loads(text)
    assert isinstance(again, jinx.LazyDict)
    assert samples.plain(again) == samples.plain(samples.sample(4))
    assert samples.plain(copy.deepcopy(sample)) == samples.plain(sample)
    assert samples.plain(copy.copy(again)) == samples.plain(sample)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes(path, method):
    ds = jinx.open(path)
    ds[0]["image"]  # a pool that was used before the fork
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(read, [ds] * 20, range(20))) == [samples.plain(samples.sample(i)) for i in range(20)]
        assert pool.submit(same, ds[3]).result() == samples.plain(samples.sample(3))


def test_threads(path):
    ds = jinx.open(path)
    sample = ds[7]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda i: read(ds, i % 20), range(200))) == [read(ds, i % 20) for i in range(200)]
        images = list(pool.map(lambda _: sample["image"], range(100)))
    assert all(image is images[0] for image in images)


@pytest.mark.parametrize("name", ["JinxError", "CorruptFileError", "TruncatedFileError", "LimitError", "InvalidError"])
def test_errors_rebuild_from_one_text(name):
    error = getattr(jinx, name)("a.jinx: it is broken")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == "a.jinx: it is broken"
    assert isinstance(error, jinx.JinxError)
