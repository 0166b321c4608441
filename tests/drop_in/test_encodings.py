"""Every encoding and compression, both ways between Streaming and us."""

import json
from pathlib import Path

import pytest
from streaming import LocalDataset, StreamingDataset
from streaming.base.format import reader_from_json

import jinx
from drop_in.shards import COLUMNS, differences, full, write, write_small
from jinx.mds import BulkReader, MDSReader, MDSWriter, RamReader

COMPRESSIONS = [None, "zstd", "zstd:7", "gz", "bz2:1", "br:4", "snappy"]
COUNT = 24


def theirs(folder: Path, local: Path) -> list[dict]:
    """All samples by Streaming's own reader, which decompresses into `local`."""
    dataset = StreamingDataset(local=str(local), remote=str(folder), shuffle=False, batch_size=1)
    return [dataset[i] for i in range(dataset.num_samples)]


def write_ours(out: Path, count: int, **options) -> Path:
    with MDSWriter(columns=COLUMNS, out=out, **{"size_limit": 20_000, **options}) as writer:
        for k in range(count):
            writer.write(full(k))
    return out


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_what_streaming_writes_we_read(tmp_path: Path, compression: str | None) -> None:
    folder = write(tmp_path / "d", full, COUNT, COLUMNS, compression=compression, hashes=["sha1", "xxh3_64"])
    expected = theirs(folder, tmp_path / "local")
    dataset = jinx.open(folder, verify="full")
    assert differences([dataset[i].to_dict() for i in range(COUNT)], expected) == []
    assert differences([sample.to_dict() for sample in dataset], expected) == []
    assert differences(dataset.take(range(COUNT)), expected) == []
    assert differences([sample.to_dict() for sample in BulkReader(folder)], expected) == []
    assert differences(list(RamReader(folder, cache=tmp_path / "cache", io="pread")), expected) == []


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_what_we_write_streaming_reads(tmp_path: Path, compression: str | None) -> None:
    folder = write_ours(tmp_path / "ours", COUNT, compression=compression, hashes=["md5"])
    other = write(tmp_path / "theirs", full, COUNT, COLUMNS, compression=compression, hashes=["md5"])
    assert differences(theirs(folder, tmp_path / "a"), theirs(other, tmp_path / "b")) == []
    names = sorted(file.name for file in folder.iterdir())
    assert names == sorted(file.name for file in other.iterdir())
    if compression is None:
        for name in names:
            assert (folder / name).read_bytes() == (other / name).read_bytes(), name
    else:
        ours, others = (json.loads((where / "index.json").read_text()) for where in (folder, other))
        for mine, its in zip(ours["shards"], others["shards"], strict=True):
            assert mine["raw_data"] == its["raw_data"]


def test_one_shard_without_a_limit_is_the_same_too(tmp_path: Path) -> None:
    for name in ("a", "b"):
        options = {"size_limit": None, "hashes": []}
        write_ours(tmp_path / name, 5, **options) if name == "a" else write(
            tmp_path / name, full, 5, COLUMNS, **options
        )
    for name in ("index.json", "shard.00000.mds"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_reader_and_decoding_by_hand(tmp_path: Path) -> None:
    folder = write(tmp_path / "d", full, COUNT, COLUMNS)
    for info in json.loads((folder / "index.json").read_text())["shards"]:
        own, other = MDSReader.from_json(str(folder), None, info), reader_from_json(str(folder), None, info)
        assert len(own) == len(other) == own.size
        for i in range(len(own)):
            assert own.get_sample_data(i) == other.get_sample_data(i)
            assert differences([own.decode_sample(own.get_sample_data(i))], [other[i]]) == []
        assert differences(own[1:], other[1:]) == []
        assert differences(own[[0, -1]], other[[0, -1]]) == []
        assert differences(list(own), list(other)) == []
        with pytest.raises(IndexError):
            own[len(own)]


def test_local_dataset(tmp_path: Path, patched: None) -> None:
    folder = write_small(tmp_path / "d" / "train")
    ours = LocalDataset(str(tmp_path / "d"), "train")
    assert isinstance(ours.shards[0], MDSReader)
    jinx.mds.unpatch()
    other = LocalDataset(str(tmp_path / "d"), "train")
    assert not isinstance(other.shards[0], MDSReader)
    assert differences([ours[i] for i in range(len(ours))], [other[i] for i in range(len(other))]) == []
    assert len(jinx.open(folder)) == len(jinx.open(tmp_path / "d", split="train")) == len(ours)
