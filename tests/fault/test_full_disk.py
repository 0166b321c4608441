"""Every command that writes, on a disk that is too small: one line that says so, and what was there stays."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import draw
import jinx

DISK_BYTES = 1_200_000
KEPT_SHARDS = r"\.(out|shards)\.tmp/.*"
# With --limit nothing looks at the room beforehand, and the writing fails, as when another process takes the room.
# The command, in the directory of the inputs and with DISK for the small disk, and what may be left on that.
CASES = {
    "pair": ("convert in.parquet DISK/out.jinx --limit 999", None),
    "pair over another": ("convert in.parquet DISK/old.jinx --overwrite --limit 999", None),
    "directory": ("convert in.parquet DISK/out --shard-size 300kB --limit 999", KEPT_SHARDS),
    "directory over another": (
        "convert in.parquet DISK/shards --shard-size 300kB --overwrite --limit 999",
        KEPT_SHARDS,
    ),
    "append": ("convert in.parquet DISK/shards --append --limit 999", None),
    "part": ("convert in.parquet DISK/out --part 0/1 --limit 999", None),
    "skipping": ("convert in.parquet DISK/out.jinx --on-error skip --limit 999", None),
    "embed": ("convert rows.jsonl DISK/out.jinx --embed image", None),
    "splits": ("convert hub DISK/out", None),
    "file URL": ("convert file://HERE/in.parquet DISK/out.jinx", None),
    "jsonl": ("convert in.parquet DISK/out.jsonl", None),
    "jsonl with media files": ("convert in.parquet DISK/out.jsonl --media-dir DISK/media", r"media/.*"),
    "msgpack": ("convert in.parquet DISK/out.msgpack", None),
    "parquet": ("convert in.jinx DISK/out.parquet", None),
    "directory of parquet": ("convert in.jinx DISK/out --output-format parquet", None),
    "directory of parquet over another": ("convert in.jinx DISK/tables --output-format parquet --overwrite", None),
    "tar": ("convert in.jinx DISK/out.tar", None),
    "tar by way of jinx": ("convert in.parquet DISK/out.tar", None),
    "mds": ("convert in.jinx DISK/out.mds", None),
    "cp": ("cp in.jinx DISK/out.jinx", None),
    "cp over another": ("cp in.jinx DISK/old.jinx --overwrite", None),
    "cp of a directory": ("cp in-shards DISK/out", None),
    "mv": ("mv in.jinx DISK/out.jinx", None),
    "extract": ("extract in.jinx DISK/pictures --column image", r"pictures/.*"),
    "repair": ("repair in.jinx --out DISK/out.jinx", None),
    "get": ("get big.jinx 0 blob > DISK/standard", "standard"),
    "cat": ("cat in.jinx > DISK/standard", "standard"),
    "cat of another format": ("cat in.parquet > DISK/standard", "standard"),
    "jsonl to a pipe": ("convert in.jinx - --output-format jsonl > DISK/standard", "standard"),
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("inputs")
    draw.write_parquet(directory / "in.parquet", samples=150)
    jinx.convert(directory / "in.parquet", directory / "in.jinx")
    jinx.convert(directory / "in.parquet", directory / "in-shards", shard_size="500kB")
    jinx.convert(directory / "in.jinx", directory / "rows.jsonl", media_dir=directory / "pictures")
    with jinx.Writer(directory / "big.jinx") as writer:
        writer.write({"blob": bytes(range(256)) * 8192})
    (directory / "hub").mkdir()
    for split in ("train", "test"):
        shutil.copy(directory / "in.parquet", directory / "hub" / f"{split}-00000-of-00001.parquet")
    return directory


@pytest.fixture
def disk(tmp_path, inputs):
    """A file system of its own in memory, with some small datasets on it."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", place]
    if shutil.which("mount") is None or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here (that takes root)")
    try:
        for name in ("old.jinx", "shards"):
            jinx.convert(inputs / "in.parquet", place / name, limit=3)
        jinx.convert(inputs / "in.jinx", place / "tables", output_format="parquet", limit=3)
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def contents(directory: Path) -> dict[str, str]:
    """The digest of every file below a directory; empty directories count too."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in directory.rglob("*")
        if path.is_file() or not any(path.iterdir())
    }


@pytest.mark.parametrize("name", CASES)
def test_a_full_disk(name, inputs, disk):
    words, may_stay = CASES[name]
    words = words.replace("DISK", str(disk)).replace("HERE", str(inputs))
    before, sources = contents(disk), contents(inputs)
    program = f"{sys.executable} -m jinx {words}"
    # Unbuffered, a write to a full disk may take a part of the bytes and report no error.
    done = subprocess.run(
        ["bash", "-c", program],
        cwd=inputs,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    *hints, last = done.stderr.splitlines()
    assert done.returncode == 1, done.stderr
    where = "<standard output>" if ">" in words else str(disk)
    assert re.fullmatch(rf"jinx: .*{re.escape(where)}.*: No space left on device; make room, or write elsewhere", last)
    assert all("--resume" in hint for hint in hints)
    after = contents(disk)
    assert {name: digest for name, digest in after.items() if name in before} == before
    left = [name for name in after if name not in before and not (may_stay and re.fullmatch(may_stay, name))]
    if name == "part":  # other writers may be about to use the directory, and must have the same inputs
        assert len(left) == 1
        assert left[0].startswith("out/.inputs-of-parts-")
    else:
        assert left == []
    assert contents(inputs) == sources
    for dataset in ("old.jinx", "shards"):
        assert jinx.verify(disk / dataset) == []
