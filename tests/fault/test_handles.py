"""Nothing piles up: file handles, maps, memory; and many shards fit into few handles and maps."""

import json
import os
import subprocess
import sys

import pytest

import jinx
from fault.rows import rows

MIB = 1 << 20


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_opens_leave_no_handle_and_gets_no_memory(directory, child_environment, soak, record_property):
    path = directory / "a.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many(rows(1))
    opens, gets = (100_000, 1_000_000) if soak else (10_000, 100_000)
    words = [sys.executable, "-m", "fault.reopening", str(path), str(opens), str(gets)]
    done = subprocess.run(words, env=child_environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    record_property("found", found)
    assert (found["handles"], found["maps"]) == (0, 0)
    assert found["grown"] < 4 * MIB


READ_ALL = """
import resource, sys, jinx
limit = int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
ds = jinx.open(sys.argv[1], io=sys.argv[2])
assert [sample["n"] for sample in ds] == list(range(len(ds)))
assert [ds[i]["n"] for i in range(len(ds) - 1, -1, -7)] == list(range(len(ds) - 1, -1, -7))
assert all(ds[i]["blob"] == bytes(100) + i.to_bytes(4, "little") for i in range(0, len(ds), 5))
assert [int(n) for n in ds["n"]] == list(range(len(ds)))
print(len(ds))
"""


def write_shards(path, count):
    with jinx.Writer(path, shard_size=1) as writer:
        for number in range(count):
            writer.write({"n": number, "blob": bytes(100) + number.to_bytes(4, "little")})
    assert len(list(path.glob("*.jinx"))) == count


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("io", ["mmap", "pread"])
def test_a_thousand_shards_are_read_with_128_handles(io, directory, child_environment, soak):
    shards = 5000 if soak else 1000
    write_shards(directory / "data", shards)
    words = [sys.executable, "-c", READ_ALL, str(directory / "data"), io, "128"]
    done = subprocess.run(words, env=child_environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == [str(shards)]


def test_a_file_of_a_shard_that_was_replaced_is_not_read_as_another(directory, child_environment):
    """With few handles a shard is opened again for each read; it must be the same file."""
    write_shards(directory / "data", 200)
    write_shards(directory / "other", 200)
    code = """
import resource, sys, os, jinx
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
ds = jinx.open(sys.argv[1], io="pread")
assert [sample["n"] for sample in ds] == list(range(200))
os.replace(sys.argv[2] + "/shard-00007.binx", sys.argv[1] + "/shard-00190.binx")
os.replace(sys.argv[2] + "/shard-00007.jinx", sys.argv[1] + "/shard-00190.jinx")
try:
    print(dict(ds[190]))
except jinx.JinxError as error:
    print(type(error).__name__)
"""
    words = [sys.executable, "-c", code, str(directory / "data"), str(directory / "other")]
    done = subprocess.run(words, env=child_environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == "MismatchError"


def test_files_get_the_modes_that_the_umask_says(directory):
    before = os.umask(0o027)
    try:
        with jinx.Writer(directory / "a.jinx") as writer:
            writer.write_many(rows(1))
            temporaries = [file.stat().st_mode & 0o777 for file in directory.iterdir()]
        with jinx.Writer(directory / "data", shard_size=2000) as writer:
            writer.write_many(rows(1))
            temporaries += [file.stat().st_mode & 0o777 for file in directory.rglob("*") if file.is_file()]
        modes = {file.stat().st_mode & 0o777 for file in directory.rglob("*") if file.is_file()}
        directories = {file.stat().st_mode & 0o777 for file in directory.rglob("*") if file.is_dir()}
    finally:
        os.umask(before)
    assert modes == set(temporaries) == {0o640}
    assert directories == {0o750}
