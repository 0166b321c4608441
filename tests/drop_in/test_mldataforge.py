"""Sample compression, both ways between MLDataForge and us."""

import json
from pathlib import Path

import pytest

import jinx
from drop_in.shards import COLUMNS, differences, full, write
from jinx.mds import BulkReader, MDSReader, MDSWriter

COUNT = 20
CODECS = ["zstd", "zstd:9", "gz", "bz2", "br", "snappy"]


@pytest.fixture(scope="module")
def mldf():
    """Importing it replaces Streaming's reader for the whole process."""
    from streaming.base.format import _readers

    before = _readers["mds"]
    module = pytest.importorskip("mldataforge.mds")
    _readers["mds"] = before
    return module


def write_with(writer_class, out: Path, compression: str) -> Path:
    with writer_class(columns=COLUMNS, out=str(out), compression=compression, size_limit=20_000) as writer:
        for k in range(COUNT):
            writer.write(full(k))
    return out


@pytest.mark.parametrize("codec", CODECS)
def test_sample_codecs(tmp_path: Path, mldf, codec: str) -> None:
    plain = write(tmp_path / "plain", full, COUNT, COLUMNS)
    expected = [jinx.open(plain)[i].to_dict() for i in range(COUNT)]
    theirs = write_with(mldf.MDSSampleWriter, tmp_path / "theirs", f"sample::{codec}")
    ours = write_with(MDSWriter, tmp_path / "ours", f"sample::{codec}")
    for directory in (theirs, ours):
        dataset = jinx.open(directory)
        assert differences([dataset[i].to_dict() for i in range(COUNT)], expected) == []
        assert differences(dataset.take(range(COUNT)), expected) == []
        assert differences(list(BulkReader(directory)), expected) == []
        assert differences(list(mldf.MDSBulkDatasetReader([str(directory)], None)), expected) == []
        for info in json.loads((directory / "index.json").read_text())["shards"]:
            own = MDSReader.from_json(str(directory), None, info)
            other = mldf.MDSSampleReader.from_json(str(directory), None, info)
            assert differences(list(own), list(other)) == []
            assert own.compression is None
