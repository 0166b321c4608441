"""10,000 shards and 100 million samples, opened by 8 processes; reading directories of others writes nothing."""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import xxhash

import jinx
import samples

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")

SHARDS, PER_SHARD, PROCESSES = 10_000, 10_000, 8
BOUND = 60_000_000

RANK = """
import json, sys, jinx
def private():
    lines = open("/proc/self/status").read().splitlines()
    found = dict(line.split(":", 1) for line in lines)
    return sum(int(found.get(name, "0 kB").split()[0]) for name in ("RssAnon", "RssShmem", "VmSwap")) * 1024
def descriptors():
    import os
    return len(os.listdir("/proc/self/fd"))
before = descriptors()
ds = jinx.open(sys.argv[1])
opened = descriptors() - before
rank = int(sys.argv[2])
seen = [ds[(rank * 12_500_000 + k * 31_250) % len(ds)]["n"] for k in range(300)]
print(json.dumps([len(ds), opened, seen[:3], private(), descriptors() - before]))
"""


@pytest.fixture(scope="module")
def many(tmp_path_factory) -> Path:
    """One shard under 10,000 names: it takes the room of one."""
    directory = tmp_path_factory.mktemp("many") / "many"
    with jinx.Writer(directory, compression=None) as writer:
        writer.write_many({"n": n} for n in range(PER_SHARD))
    manifest = json.loads((directory / "jinx.json").read_text("utf-8"))
    entry = manifest["shards"][0]
    for number in range(1, SHARDS):
        os.link(directory / entry["name"], directory / f"shard-{number:05}.jinx")
    manifest["shards"] = [{**entry, "name": f"shard-{number:05}.jinx"} for number in range(SHARDS)]
    manifest["num_samples"] = SHARDS * PER_SHARD
    del manifest["digest"]
    text = json.dumps(manifest, separators=(",", ":"))[:-1]
    (directory / "jinx.json").write_text(f'{text},"digest":"{xxhash.xxh3_64_hexdigest(text.encode())}"}}\n', "utf-8")
    return directory


def test_every_rank_opens_it_within_its_memory(many):
    command = [sys.executable, "-c", RANK, str(many)]
    ranks = [subprocess.Popen([*command, str(rank)], stdout=subprocess.PIPE) for rank in range(PROCESSES)]
    for rank, process in enumerate(ranks):
        out, _ = process.communicate()
        assert process.returncode == 0
        length, opened, seen, private, descriptors = json.loads(out)
        assert length == 100_000_000
        assert opened <= 1  # the directory or nothing: no shard
        assert seen == [(rank * 12_500_000 + k * 31_250) % PER_SHARD for k in range(3)]
        assert private < BOUND, f"rank {rank}: {private / 1e6:.1f} MB"
        assert descriptors < 700


def test_a_read_only_directory_of_somebody_else(tmp_path):
    directory = tmp_path / "theirs"
    directory.mkdir()
    samples.write(directory / "a.jinx")
    samples.write(directory / "shards", shard_size="2kB")
    own = tmp_path / "own"
    shutil.copytree(directory, own)
    before = {path: path.stat().st_mtime_ns for path in directory.rglob("*")}
    for path in (*directory.rglob("*"), directory):
        path.chmod(0o555 if path.is_dir() else 0o444)
    for path in (tmp_path, *tmp_path.parents):  # pytest's directories are closed to others
        if path.stat().st_uid == os.getuid() and str(path).startswith("/tmp/pytest-of"):
            path.chmod(path.stat().st_mode | stat.S_IXOTH | stat.S_IROTH)
    code = (
        "import os, sys, jinx\n"
        "def read(directory):\n"
        "    for name in ('a.jinx', 'shards'):\n"
        "        ds = jinx.open(os.path.join(directory, name))\n"
        "        assert len(ds.to_list()) == 50 and repr(ds) and ds.sort('n')\n"
        "        assert not jinx.verify(os.path.join(directory, name))\n"
        # Once as who we are: another user may not see the modules that are imported on the way.
        "read(sys.argv[1])\n"
        "if os.getuid() == 0: os.setgid(65534), os.setuid(65534)\n"
        "read(sys.argv[2])\n"
    )
    try:
        command = [sys.executable, "-c", code, str(own), str(directory)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    finally:
        for path in (directory, *directory.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert {path: path.stat().st_mtime_ns for path in directory.rglob("*")} == before
