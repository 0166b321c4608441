"""The cache of remote data: shared by processes, bounded, whole after kills and damage."""

import gc
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import bucket
import jinx
from jinx import _core
from jinx._cli.program import run

CHUNK = 8 << 20
COUNT = 420
IMAGE = 70_000  # 29 MB, which are four chunks


def image(i: int) -> bytes:
    return np.random.default_rng(i).bytes(IMAGE)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("bucket")
    for name, count in (("a", COUNT), ("b", 260)):
        with jinx.Writer(root / f"{name}.jinx") as writer:
            writer.write_many({"n": i, "image": image(i)} for i in range(count))
    return root


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    disk = shutil.disk_usage(tmp_path)
    if disk.free < disk.total // 20 + 20 * CHUNK:
        pytest.skip("a cache keeps 5 % of the disk free, and less is free here")
    return tmp_path / "cache"


@pytest.fixture
def store(root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[bucket.Bucket]:
    with bucket.served(root) as store:
        for name, value in {**store.environment, "JINX_CACHE": str(cache)}.items():
            monkeypatch.setenv(name, value)
        yield store


def chunks(cache: Path) -> list[Path]:
    return sorted(path for path in cache.rglob("0*") if path.is_file() and path.stat().st_size > 1000)


def read_all(store: bucket.Bucket, **options: object) -> None:
    for i, sample in enumerate(jinx.open(store.url("a.jinx"), **options)):  # type: ignore[arg-type]
        assert sample["n"] == i
        assert len(sample["image"]) == IMAGE


def in_new_process(code: str) -> str:
    # A new process has nothing in memory.
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# A process that ends does not wait for the chunks that it fetches ahead: this waits for so many.
LINGER = """
import os, time
from pathlib import Path
end = time.monotonic() + 20
while len([*Path(os.environ["JINX_CACHE"]).rglob("0" + "?" * 7)]) < {} and time.monotonic() < end:
    time.sleep(0.05)
time.sleep(0.5)
"""
READ = f"""
import jinx
dataset = jinx.open("s3://bucket/a.jinx")
print(sum(len(sample["image"]) for sample in dataset), sorted(hash(s["image"]) % 7 for s in dataset[:5]))
{LINGER.format(4)}
"""


def wait_for(cache: Path, count: int) -> None:
    """Chunks that are fetched ahead may come after the last sample."""
    end = time.monotonic() + 40
    while len(chunks(cache)) < count and time.monotonic() < end:
        time.sleep(0.05)
    assert len(chunks(cache)) >= count


def test_a_second_epoch_reads_from_the_disk(store, cache):
    in_new_process(READ)
    wait_for(cache, 4)
    store.forget()
    assert in_new_process(READ).startswith(str(COUNT * IMAGE))
    # The ends and the header when it is opened, and what comes before it is known that all is read.
    assert store.sent() < 2 * CHUNK
    assert oct(cache.stat().st_mode & 0o777 & ~0o055) == oct(0o700)


def test_processes_fetch_each_chunk_once(store, root, cache):
    programs = [subprocess.Popen([sys.executable, "-c", READ], stdout=subprocess.DEVNULL) for _ in range(4)]
    assert [program.wait(120) for program in programs] == [0] * 4
    total = (root / "a.binx").stat().st_size
    # Each process reads the ends of both files, and a few single images before it reads chunks.
    assert store.sent() < 1.1 * total + 4 * (4 << 20)


def test_damaged_and_cut_chunks_are_fetched_again(store, cache):
    in_new_process(READ)
    wait_for(cache, 4)
    first, second, third = chunks(cache)[1:4]
    data = bytearray(first.read_bytes())
    data[5_000_000] ^= 1
    first.write_bytes(data)
    os.truncate(second, 1_000_000)
    third.write_bytes(b"")
    code = "import jinx; [s['image'] for s in jinx.open('s3://bucket/a.jinx')]; print('whole')"
    assert in_new_process(code) == "whole\n"


def test_chunks_that_are_damaged_after_they_were_checked_are_fetched_again(store, cache):
    """The disk gives other bytes than before: the checksums of values tell."""
    dataset = jinx.open(store.url("a.jinx"), storage={"memory": 1 << 20})
    for _ in range(2):
        for sample in dataset:
            assert len(sample["image"]) == IMAGE
        wait_for(cache, 4)
    for chunk in chunks(cache):
        data = bytearray(chunk.read_bytes())
        data[1_000:-16:50_000] = bytes(len(data[1_000:-16:50_000]))
        chunk.write_bytes(data)
    store.forget()
    assert [dataset[i]["image"] for i in (5, 200, 400)] == [image(5), image(200), image(400)]
    assert store.requests


def test_what_was_read_outlives_its_chunks_and_a_fork(store, cache):
    dataset = jinx.open(store.url("a.jinx"))
    held = [dataset[i] for i in (3, 200)]
    assert sum(len(sample["image"]) for sample in dataset) == COUNT * IMAGE
    wait_for(cache, 4)
    for chunk in chunks(cache):
        chunk.unlink()
    store.forget()
    assert [dataset[i]["image"] for i in (3, 200)] == [image(3), image(200)]
    assert not store.requests
    child = os.fork()
    if child == 0:
        same = [sample["image"] for sample in held] == [image(3), image(200)]
        os._exit(0 if same and dataset[419]["image"] == image(419) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_killed_process_leaves_nothing_half(store, cache):
    store.delay = 0.01
    for wait in (0.3, 0.5, 0.7, 0.9):
        program = subprocess.Popen([sys.executable, "-c", READ], stdout=subprocess.DEVNULL)
        time.sleep(wait)
        program.send_signal(signal.SIGKILL)
        program.wait(60)
    store.delay = 0
    assert in_new_process(READ).startswith(str(COUNT * IMAGE))


def counted(cache: Path) -> int:
    return int.from_bytes((cache / "v1" / "size").read_bytes(), "little")


def test_chunks_on_their_way_are_kept_after_their_dataset_is_closed(store, cache):
    go_on = threading.Event()
    held: list[str] = []

    def hold(handler: bucket.Handler, request: bucket.Request) -> bool:
        # The second chunk, which is fetched ahead.
        if handler.headers["Range"] == f"bytes={CHUNK}-{2 * CHUNK - 1}":
            held.append(request.key)
            go_on.wait(60)
        return False

    store.faults.append(hold)
    try:
        dataset = jinx.open(store.url("a.jinx"))
        for i in range(100):
            assert dataset[i]["image"] == image(i)
        end = time.monotonic() + 40
        while not held and time.monotonic() < end:
            time.sleep(0.05)
        assert held == ["a.binx"]
        del dataset
        gc.collect()
        assert run(["cache", "clear"]) == 0
        assert counted(cache) > CHUNK
    finally:
        go_on.set()
    end = time.monotonic() + 40
    while "00000001" not in {path.name for path in chunks(cache)} and time.monotonic() < end:
        time.sleep(0.05)
    assert "00000001" in {path.name for path in chunks(cache)}
    assert counted(cache) == sum(path.stat().st_size for path in chunks(cache))


def test_a_full_cache_keeps_what_came_first_and_others_make_room(store, cache):
    size = 3 * (CHUNK + 16) + 100
    code = f"""
import jinx, sys
for sample in jinx.open(sys.argv[1], cache_size={size}):
    sample["image"]
{LINGER.format(2)}
"""

    def read(name: str) -> set[str]:
        program = [sys.executable, "-c", code, store.url(name)]
        assert subprocess.run(program, timeout=120, check=False).returncode == 0
        wait_for(cache, 2)
        assert sum(path.stat().st_size for path in chunks(cache)) <= size
        return {str(path) for path in chunks(cache)}

    first = read("a.jinx")
    assert read("a.jinx") >= first, "an epoch removes no chunk of its own dataset"
    # Another dataset takes the room, because nobody reads the first one now.
    assert any(not read("b.jinx") & first for _ in range(10))


def test_the_cache_may_be_turned_off_or_unusable(store, cache, tmp_path, monkeypatch):
    read_all(store, cache=False)
    assert not cache.exists()
    file = tmp_path / "file"
    file.write_text("no directory")
    with pytest.raises(OSError, match=r"file"):
        jinx.open(store.url("a.jinx"), cache=file)
    # Not named by the caller: reading goes on without it.
    monkeypatch.setenv("JINX_CACHE", str(file))
    assert jinx.open(store.url("a.jinx"))[3]["image"] == image(3)


def test_an_object_that_is_replaced_is_another_one(store, cache, tmp_path, root):
    store.directory = tmp_path / "copy"
    store.directory.mkdir()
    for _ in range(2):
        for name in ("a.jinx", "a.binx"):
            (store.directory / name).write_bytes((root / name).read_bytes())
        in_new_process(READ)
    names = {path.parent.name for path in chunks(cache)}
    assert len(names) >= 2


def _hash(arguments: tuple[str, int]) -> int:
    url, i = arguments
    return len(jinx.open(url)[i]["image"])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_pool_share_it(store, method):
    jinx.open(store.url("a.jinx"))[1]["image"]
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.map_async(_hash, [(store.url("a.jinx"), i) for i in range(4)]).get(60)
    assert found == [IMAGE] * 4


def test_commands(store, cache, capsys):
    assert run(["cache", "info"]) == 0
    assert "0 files" in capsys.readouterr().out
    assert run(["cache", "prefetch", store.url("a.jinx")]) == 0
    assert "read" in capsys.readouterr().out
    wait_for(cache, 4)
    assert run(["cache", "clear"]) == 0
    capsys.readouterr()
    in_new_process(READ)
    wait_for(cache, 4)
    assert run(["cache", "info", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["chunks"] >= 4
    assert found["bytes"] >= COUNT * IMAGE
    assert _core.cache_contents(cache)[1] == found["chunks"]
    assert run(["cache", "clear"]) == 0
    assert chunks(cache) == []
    capsys.readouterr()


def test_a_disk_that_is_full_below_the_cache_costs_no_row(store, tmp_path, monkeypatch):
    from pipeline.disks import disk_of  # not at the top, which spawned processes import

    with disk_of(tmp_path / "small", "64m") as disk:
        monkeypatch.setenv("JINX_CACHE", str(disk / "cache"))
        dataset = jinx.open(store.url("a.jinx"))
        assert dataset[0]["image"] == image(0)
        filling = disk / "filling"
        with filling.open("wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(1 << 16)):
                pass
        assert shutil.disk_usage(disk).free < CHUNK
        for i, sample in enumerate(dataset):
            assert sample["image"] == image(i)
        # With room again, nothing half is taken for a chunk.
        filling.unlink()
        assert in_new_process(READ).split()[0] == str(COUNT * IMAGE)


def test_no_file_of_the_cache_has_a_secret(store, cache):
    in_new_process(READ)
    assert chunks(cache)
    files = [path for path in cache.rglob("*") if path.is_file()]
    for secret in (bucket.SECRET, bucket.KEY, "Signature"):
        assert not any(secret.encode() in path.read_bytes() or secret in str(path) for path in files)


def test_ctrl_c_is_answered_while_a_store_is_waited_for(store):
    code = (
        "import jinx, sys\n"
        f"dataset = jinx.open({store.url('a.jinx')!r}, cache=False)\n"
        "print('started', flush=True)\n"
        "sys.stdin.readline()\n"
        "try:\n"
        "    dataset[200]['image']\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
    )
    asked, go_on = threading.Event(), threading.Event()

    def held(handler: bucket.Handler, request: bucket.Request) -> bool:
        asked.set()
        go_on.wait(60)
        return False

    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        store.faults.append(held)
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        assert asked.wait(60)
        process.send_signal(signal.SIGINT)
        # The answer is still held.
        assert process.stdout.readline() == "interrupted\n"
        process.communicate(timeout=60)
        assert not go_on.is_set()
    finally:
        go_on.set()
        process.kill()
        process.communicate()
