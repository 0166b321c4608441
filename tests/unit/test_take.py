"""Many samples in one call are what they are one by one, however their values fall into chunks."""

import os
import random
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import jinx
import jinx.mds

NAMES = [f"b{k}" for k in range(7)]


@pytest.fixture
def path(tmp_path):
    draw = random.Random(1)
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        for index in range(60):
            blobs = {name: draw.randbytes(draw.choice([70, 3000, 60_000])) for name in NAMES}
            writer.write({"n": index, **blobs, "zeros": bytes(50_000), "text": "x" * index})
    return tmp_path / "a.jinx"


@pytest.mark.parametrize("columns", [None, ["b3"], [*NAMES, "text"], []])
@pytest.mark.parametrize("io", ["mmap", "pread"])
def test_take_gives_what_indexing_gives(path, io, columns):
    ds = jinx.open(path, io=io, verify="full")
    order = random.Random(2).choices(range(-60, 60), k=150)
    assert [dict(sample) for sample in ds.take(order, columns)] == [dict(ds[index]) for index in order]


def test_many_threads_take_at_once(path):
    ds = jinx.open(path)
    expected = [dict(sample) for sample in ds]
    with ThreadPoolExecutor(8) as pool:
        for samples in pool.map(lambda _: ds.take(range(60)), range(24)):
            assert [dict(sample) for sample in samples] == expected


@pytest.mark.slow
def test_a_process_forked_while_samples_are_taken_takes_them(path):
    ds = jinx.open(path)
    expected = [dict(sample) for sample in ds]
    stop = threading.Event()

    def take_on() -> bool:
        good = True
        while not stop.is_set():
            good &= [dict(sample) for sample in ds.take(range(60))] == expected
        return good

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(take_on)
        try:
            for _ in range(50):
                ds.take(range(60))
                pid = os.fork()
                if pid == 0:
                    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a hang ends; what pytest set needs the interpreter
                    signal.alarm(100)
                    os._exit(0 if [dict(sample) for sample in ds.take(range(60))] == expected else 1)
                assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        finally:
            stop.set()
        assert other.result()


def test_the_first_damaged_sample_is_named(path):
    side = path.with_suffix(".binx")
    data = bytearray(side.read_bytes())
    for at in (len(data) // 3, len(data) // 2):
        data[at] ^= 1
    side.write_bytes(data)
    ds = jinx.open(path, verify="full")
    with pytest.raises(jinx.CorruptFileError) as one_by_one:
        [dict(sample) for sample in ds]
    with pytest.raises(jinx.CorruptFileError) as together:
        ds.take(range(60))
    assert (together.value.sample, together.value.column) == (one_by_one.value.sample, one_by_one.value.column)


@pytest.fixture(params=[None, "sample::zstd"])
def mds(tmp_path, request):
    draw = random.Random(3)
    columns = {"n": "int", "text": "str", "blob": "bytes", "pixels": "ndarray"}
    out = tmp_path / "mds"
    with jinx.mds.MDSWriter(columns=columns, out=out, compression=request.param, size_limit=1_000_000) as writer:
        for index in range(90):
            pixels = np.full((draw.choice([1, 60, 300]), 300), index)
            writer.write({"n": index, "text": "x" * index, "blob": draw.randbytes(30_000), "pixels": pixels})
    return out


@pytest.mark.parametrize("columns", [None, ["pixels", "n"], ["n"]])
def test_take_of_an_mds_directory_gives_what_indexing_gives(mds, columns):
    ds = jinx.open(mds)
    order = random.Random(2).choices(range(90), k=150)
    for index, sample in zip(order, ds.take(order, columns), strict=True):
        one = ds[index]
        assert list(sample) == list(one)
        assert (sample["pixels"] == one["pixels"]).all()
        assert [sample[name] for name in ("n", "text", "blob")] == [one[name] for name in ("n", "text", "blob")]


def test_the_first_damaged_sample_of_an_mds_directory_is_named(mds):
    shard = sorted(mds.glob("shard.*"))[1]
    data = bytearray(shard.read_bytes())
    data[16:5_000] = b"\xff" * 4_984
    shard.write_bytes(data)
    ds = jinx.open(mds)

    def failure(read) -> tuple[str, int | None] | None:
        try:
            read()
        except jinx.JinxError as error:
            return str(error), error.sample
        return None

    one_by_one = [failed for i in range(90) if (failed := failure(lambda i=i: ds.take([i])))]
    assert failure(lambda: ds.take(range(90))) == one_by_one[0]
