"""MDS to MDS: values are copied as they are stored, and the result is what writing the samples again gives."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jinx
from jinx._cli.program import run
from jinx.errors import CorruptFileError, InvalidError
from jinx.mds import MDSWriter
from mds_samples import COLUMNS, COUNT, sample


def write(directory: Path, numbers: Any = range(COUNT), names: Any = tuple(COLUMNS), **options: Any) -> Path:
    columns = {name: COLUMNS[name] for name in names}
    with MDSWriter(columns=columns, out=directory, **options) as writer:
        for k in numbers:
            writer.write({name: value for name, value in sample(k).items() if name in columns})
    return directory


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.mark.parametrize("compression", [None, "zstd", "sample::zstd", "sample::br:3"])
def test_a_copy_is_what_writing_the_samples_gives(tmp_path, compression):
    source = write(tmp_path / "a", compression=compression, hashes=["sha256"], size_limit="64kb")
    done = jinx.convert(source, tmp_path / "b.mds")
    assert (done.samples, done.shards) == (COUNT, 1)
    assert files(tmp_path / "b.mds") == files(write(tmp_path / "wanted"))
    packed = jinx.convert(source, tmp_path / "c.mds", compression="sample::zstd:3", shard_size=2048, threads=3)
    assert packed.shards > 1
    assert files(tmp_path / "c.mds") == files(write(tmp_path / "packed", compression="sample::zstd:3", size_limit=2048))


def test_rows_and_columns_are_selected(tmp_path):
    source = write(tmp_path / "a", size_limit="64kb")
    jinx.convert(source, tmp_path / "b.mds", where="id >= 20", limit=15, drop=["grid", "data"])
    wanted = write(tmp_path / "wanted", range(20, 35), ["id", "text", "value", "meta"])
    assert files(tmp_path / "b.mds") == files(wanted)
    order = [59, 0, 7, 7, 31]
    view = jinx.open(source).select(order).select_columns(["text", "id"])
    jinx.convert(view, tmp_path / "c.mds")
    assert files(tmp_path / "c.mds") == files(write(tmp_path / "view", order, ["id", "text"]))
    view.save(tmp_path / "view.jinx")
    jinx.convert(tmp_path / "view.jinx", tmp_path / "d.mds")
    assert files(tmp_path / "d.mds") == files(tmp_path / "c.mds")
    with pytest.raises((KeyError, InvalidError), match="txet"):
        jinx.convert(source, tmp_path / "e.mds", columns=["txet"])
    with pytest.raises((KeyError, InvalidError), match="dii"):
        jinx.convert(source, tmp_path / "e.mds", where="dii > 2")
    assert not (tmp_path / "e.mds").exists()


def test_commands_copy_too(tmp_path, capfd):
    source, out = write(tmp_path / "a"), tmp_path / "b.mds"
    (tmp_path / "positions.json").write_text("[5, 3, 3, 40]")
    command = ["select", str(source), str(out), "--positions", str(tmp_path / "positions.json")]
    assert run(command) == 0, capfd.readouterr()
    assert files(out) == files(write(tmp_path / "wanted", [5, 3, 3, 40]))


def test_two_directories_become_one(tmp_path):
    sources = [write(tmp_path / "a", range(10)), write(tmp_path / "b", range(10, 30), compression="zstd")]
    jinx.convert(sources, tmp_path / "c.mds")
    assert files(tmp_path / "c.mds") == files(write(tmp_path / "wanted", range(30)))


def test_shards_that_differ_are_encoded_again(tmp_path):
    with MDSWriter(columns={"a": "uint8"}, out=tmp_path / "a") as writer:
        writer.write({"a": np.uint8(5)})
    with MDSWriter(columns={"a": "int"}, out=tmp_path / "b") as writer:
        writer.write({"a": 6})
    with pytest.raises(jinx.JinxError, match="'a'"):
        jinx.convert([tmp_path / "a", tmp_path / "b"], tmp_path / "c.mds")
    jinx.convert(jinx.open(tmp_path / "b").with_columns({"n": [1]}), tmp_path / "d.mds")
    assert jinx.open(tmp_path / "d.mds")[0] == {"a": 6, "n": 1}


def test_values_stay_as_they_are_stored(tmp_path):
    loaded = []

    class Bad:
        def __reduce__(self) -> Any:
            return loaded.append, (1,)

    columns = {"p": "pkl", "j": "json", "t": "bytes", "f": "str_float"}
    with MDSWriter(columns=columns, out=tmp_path / "a") as writer:
        writer.write({"p": Bad(), "j": {"a": 1}, "t": b"t", "f": 0.1})
    path = tmp_path / "a" / "shard.00000.mds"
    path.write_bytes(path.read_bytes().replace(b'{"a": 1}', b'{"a" :1}'))
    jinx.convert(tmp_path / "a", tmp_path / "b.mds")
    stored = (tmp_path / "b.mds" / "shard.00000.mds").read_bytes()
    assert stored == path.read_bytes()
    assert b'{"a" :1}' in stored
    assert loaded == []


def test_damage_is_found_before_it_gets_a_new_place(tmp_path):
    source = write(tmp_path / "a", hashes=["xxh64"])
    path = source / "shard.00000.mds"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptFileError, match=r"shard\.00000\.mds"):
        jinx.convert(source, tmp_path / "b.mds")
    assert not (tmp_path / "b.mds").exists()


def test_progress_ends_with_all_samples(tmp_path):
    source, told = write(tmp_path / "a"), []
    jinx.convert(source, tmp_path / "b.mds", progress=lambda *now: told.append(now))
    assert told[-1][0] == COUNT
    assert told[-1][1] <= told[-1][2]


def test_an_empty_view_becomes_an_empty_directory(tmp_path):
    source = jinx.open(write(tmp_path / "a"))
    assert jinx.convert(source[:0], tmp_path / "b.mds").samples == 0
    assert json.loads((tmp_path / "b.mds" / "index.json").read_text())["shards"] == []
