"""Ctrl-C in every command that writes: nothing half-written, what was there stays.

The signal is raised inside a call that the command makes, as Python does when it comes during it. The core is
interrupted in the middle of its work in `test_signals.py`, `tests/unit/test_long_runs.py` and the tests of
`rust/jinx-format/src/copy_files.rs`.
"""

import hashlib
import os
import shutil

import pytest

import draw
import jinx
from jinx import _core
from jinx._cli import get_extract
from jinx._cli.program import run

# The command, and where the signal comes: the owner of a function, its name, and in which call.
CASES = {
    "tar": ("convert in.jinx out.tar", (_core, "convert", 1)),
    "tar over another": ("convert in.jinx old.tar --overwrite", (_core, "convert", 1)),
    "directory of parquet": (
        "convert in.jinx out --output-format parquet --shard-size 100kB",
        (_core, "convert_arrow", 2),
    ),
    "directory of parquet over another": (
        "convert in.jinx tables --output-format parquet --shard-size 100kB --overwrite",
        (_core, "convert_arrow", 2),
    ),
    "directory of parquet, while it is replaced": (
        "convert in.jinx tables --output-format parquet --overwrite",
        (os, "rename", 2),
    ),
    "splits": ("convert hub out", (_core, "convert", 1)),
    "cp": ("cp in.jinx out.jinx", (_core, "copy_pair", 1)),
    "cp over another": ("cp in.jinx old.jinx --overwrite", (_core, "copy_pair", 1)),
    "cp of a directory": ("cp shards out", (_core, "copy_directory", 1)),
    "extract": ("extract in.jinx out --column image", (get_extract, "write_all", 3)),
}


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    directory = tmp_path_factory.mktemp("given")
    draw.write_parquet(directory / "in.parquet", samples=20)
    jinx.convert(directory / "in.parquet", directory / "in.jinx")
    for name in ("old.jinx", "old.tar"):
        jinx.convert(directory / "in.jinx", directory / name, limit=3)
    jinx.convert(directory / "in.jinx", directory / "tables", output_format="parquet", limit=3)
    jinx.convert(directory / "in.parquet", directory / "shards", shard_size="100kB")
    (directory / "hub").mkdir()
    for split in ("train", "test"):
        shutil.copy(directory / "in.parquet", directory / "hub" / f"{split}-00000-of-00001.parquet")
    return directory


@pytest.mark.parametrize("name", CASES)
def test_ctrl_c(name, given, tmp_path, monkeypatch, capsys):
    words, (owner, function, number) = CASES[name]
    place = tmp_path / "place"
    shutil.copytree(given, place)
    before = contents(place)
    monkeypatch.chdir(place)
    original, calls = getattr(owner, function), []

    def interrupted(*args, **options):
        calls.append(args)
        if len(calls) == number:
            raise KeyboardInterrupt
        return original(*args, **options)

    monkeypatch.setattr(owner, function, interrupted)
    code = run([*words.split(), "--progress", "none"] if words.startswith("convert") else words.split())
    assert len(calls) >= number
    # A line ends before: on a terminal it holds the ^C.
    assert (code, capsys.readouterr().err) == (130, "\njinx: interrupted\n")
    after = contents(place)
    whole = {f"out/{index:02}.jpg" for index in range(2)} if name == "extract" else set()
    assert {path: digest for path, digest in after.items() if path not in whole} == before
    assert whole <= set(after)


def contents(directory):
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in directory.rglob("*")
        if path.is_file() or not any(path.iterdir())
    }
