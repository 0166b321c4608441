"""Iterators read ahead of whoever asks for media; nobody can tell but by the time."""

import gc
import os
import signal
import threading

import numpy as np
import pytest

import jinx

SAMPLES = 100


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("ahead") / "set.jinx"
    with jinx.Writer(path, compression="zstd") as writer:
        for number in range(SAMPLES):
            array = np.full((40, 50), number, dtype=np.int32)
            writer.write(
                {"id": number, "blob": bytes([number]) * (5_000 + number), "array": array, "other": b"o" * 5_000}
            )
    return path


@pytest.fixture(params=["mmap", "pread"])
def dataset(path, request):
    return jinx.open(path, io=request.param)


def is_right(sample, number: int) -> bool:
    return sample["blob"] == bytes([number]) * (5_000 + number) and (sample["array"] == number).all()


def test_every_sample_is_its_own(dataset):
    assert len(list(dataset)) == SAMPLES
    assert all(is_right(sample, number) for number, sample in enumerate(dataset))
    shuffled = dataset.shuffle(3)
    assert all(is_right(sample, sample["id"]) for sample in shuffled)
    assert all(is_right(sample, sample["id"]) for sample in dataset.select_columns(["id", "blob", "array"]))


def test_samples_keep_their_values_after_the_iterator(dataset):
    samples = list(dataset)
    first = [sample for sample in dataset if sample["blob"]]
    gc.collect()
    assert all(is_right(sample, number) for number, sample in enumerate(samples))
    assert all(is_right(sample, number) for number, sample in enumerate(first))


def test_what_is_asked_for_may_change(dataset):
    for number, sample in enumerate(dataset):
        if number < 30:
            assert len(sample["blob"]) == 5_000 + number
        elif number < 60:
            assert sample["id"] == number
        else:
            assert (sample["array"] == number).all()
            assert sample["other"] == b"o" * 5_000
    assert number == SAMPLES - 1


def test_arrays_may_be_written_to(dataset):
    for number, sample in enumerate(dataset):
        sample["array"][0, 0] = -1
        assert sample["array"][0, 0] == -1
        assert sample["array"][0, 1] == number
    assert number == SAMPLES - 1


def test_threads_share_an_iterator(dataset):
    iterator, seen, lock = iter(dataset), [], threading.Lock()

    def work() -> None:
        for sample in iterator:
            assert is_right(sample, sample["id"])
            with lock:
                seen.append(sample["id"])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(SAMPLES))


def test_a_forked_process_iterates_on(dataset):
    iterator = iter(dataset)
    for number in range(20):
        assert is_right(next(iterator), number)
    pid = os.fork()
    if pid == 0:
        good = all(is_right(sample, number) for number, sample in enumerate(iterator, 20))
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert all(is_right(sample, number) for number, sample in enumerate(iterator, 20))


@pytest.mark.slow
@pytest.mark.timeout(300)  # 150 forks of a process that has imported all that the tests before it need
def test_a_process_forked_while_values_are_read_iterates(dataset):
    # What the iterator no longer wants, its threads drop; whatever they hold at that moment, nobody frees in the child.
    for _ in range(150):
        iterator = iter(dataset)
        for number in range(20):
            assert is_right(next(iterator), number)
        del iterator
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a hang ends; what pytest set needs the interpreter
            signal.alarm(100)
            good = all(is_right(sample, number) for number, sample in enumerate(dataset))
            os._exit(0 if good else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_damaged_value_is_an_error_of_its_own_sample_alone(path, tmp_path):
    copy = tmp_path / "set.jinx"
    copy.write_bytes(path.read_bytes())
    side = bytearray(path.with_suffix(".binx").read_bytes())
    zstd_frame = side.index(b"\x28\xb5\x2f\xfd", len(side) // 2)
    side[zstd_frame : zstd_frame + 12] = b"\0" * 12
    copy.with_suffix(".binx").write_bytes(side)
    failed = []
    for number, sample in enumerate(jinx.open(copy)):
        try:
            assert is_right(sample, number)
            assert sample["other"] == b"o" * 5_000
        except jinx.CorruptFileError as error:
            failed.append((number, str(error)))
    [(number, message)] = failed
    assert f"sample {number}, column" in message
