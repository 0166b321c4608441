"""Shuffling and sorting data four times larger than `memory`: what the process itself holds."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

import jinx

MEGABYTE = 1 << 20
BOUND = 64 * MEGABYTE
# Of one sample: small values take two passes, large ones what the disk does faster.
VALUES = {16_384: {"two passes"}, 65_536: {"one pass", "two passes"}}

CHILD = """
import sys, threading, time
import numpy
import jinx

def anonymous():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("RssAnon"))

peak, done = anonymous(), threading.Event()
def watch():
    global peak
    while not done.wait(0.002):
        peak = max(peak, anonymous())

watcher = threading.Thread(target=watch)
watcher.start()
name, source, out, memory = sys.argv[1:]
options = {"seed": 1} if name == "shuffle" else {"by": "meta.key"}
result = getattr(jinx, name)(source, out, memory=int(memory), **options)
done.set()
watcher.join()
print(result.plan, result.temporary_bytes, peak, sep="|")
"""


@pytest.fixture(scope="module", params=VALUES)
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    value = request.param
    path = tmp_path_factory.mktemp("large") / "in.jinx"
    draw = random.Random(1)
    noise = draw.randbytes(8 * MEGABYTE)
    with jinx.Writer(path) as writer:
        for i in range(4 * BOUND // value):
            start = draw.randrange(len(noise) - value)
            writer.write({"id": i, "meta": {"key": draw.random()}, "blob": noise[start : start + value]})
    return path, value


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("name", ["shuffle", "sort"])
def test_private_memory_stays_within_the_bound(source, tmp_path, name, record_property):
    path, value = source
    out = tmp_path / "out.jinx"
    arguments = [sys.executable, "-c", CHILD, name, str(path), str(out), str(BOUND)]
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    plan, temporary, peak = done.stdout.strip().split("|")
    record_property("peak", int(peak))
    assert plan in VALUES[value]
    size = out.stat().st_size + out.with_suffix(".binx").stat().st_size
    assert int(temporary) <= 1.02 * size
    assert int(peak) <= BOUND + 100 * MEGABYTE
    assert jinx.verify(out) == []
    keys = [sample["meta"]["key"] for sample in jinx.open(out)]
    assert len(keys) == 4 * BOUND // value
    if name == "sort":
        assert keys == sorted(keys)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_long_keys_stay_within_the_bound(tmp_path):
    draw, bound = random.Random(2), 16 * MEGABYTE
    path, out = tmp_path / "in.jinx", tmp_path / "out.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many({"meta": {"key": draw.randbytes(1000).hex()}} for _ in range(60_000))
    arguments = [sys.executable, "-c", CHILD, "sort", str(path), str(out), str(bound)]
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    # The program itself takes 20 MB.
    assert int(done.stdout.split("|")[-1]) <= bound + 30 * MEGABYTE
    keys = [sample["meta"]["key"] for sample in jinx.open(out)]
    assert keys == sorted(keys)
    assert len(keys) == 60_000


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_keys_that_grow_stay_within_the_bound(tmp_path):
    bound, body = 32 * MEGABYTE, "x" * 2500
    path, out = tmp_path / "in.jsonl", tmp_path / "out.jinx"
    with path.open("w") as file:
        file.writelines('{"meta":{"key":""}}\n' for _ in range(150_000))
        file.writelines(f'{{"meta":{{"key":"{i * 7919 % 60_000:05}{body}"}}}}\n' for i in range(60_000))
    arguments = [sys.executable, "-c", CHILD, "sort", str(path), str(out), str(bound)]
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    assert int(done.stdout.split("|")[-1]) <= bound + 30 * MEGABYTE
    keys = jinx.open(out).column("meta.key")
    assert len(keys) == 210_000
    assert keys == sorted(keys)


FEW_FILES = """
import resource, sys
import jinx

resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
jinx.sort(sys.argv[1], sys.argv[2], by="key", memory=20_000)
"""


def test_many_sorted_files_need_few_descriptors(tmp_path):
    path, out = tmp_path / "in.jsonl", tmp_path / "out.jinx"
    with path.open("w") as file:
        file.writelines(f'{{"key":"{i * 7919 % 50_000:06}"}}\n' for i in range(50_000))
    subprocess.run([sys.executable, "-c", FEW_FILES, str(path), str(out)], check=True)
    assert jinx.open(out).column("key") == [f"{i:06}" for i in range(50_000)]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["in.jsonl", "out.binx", "out.jinx"]
