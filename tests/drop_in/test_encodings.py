"""Every encoding and compression, both ways between Streaming and us."""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from streaming import LocalDataset, StreamingDataset
from streaming import MDSWriter as StreamingWriter
from streaming.base.format import reader_from_json

import jinx
from drop_in.shards import COLUMNS, differences, full, jpeg_bytes, picture, write, write_small
from jinx.mds import BulkReader, MDSReader, MDSWriter, RamReader

COMPRESSIONS = [None, "zstd", "zstd:7", "gz", "bz2:1", "br:4", "snappy"]
COUNT = 24
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
SIGNED = ["int8", "int16", "int32", "int64"]
ARRAY_TYPES = [*UNSIGNED, *SIGNED, "float16", "float32", "float64"]


def theirs(directory: Path, local: Path) -> list[dict]:
    """All samples by Streaming's own reader, which decompresses into `local`."""
    dataset = StreamingDataset(local=str(local), remote=str(directory), shuffle=False, batch_size=1)
    return [dataset[i] for i in range(dataset.num_samples)]


def write_ours(out: Path, count: int, **options) -> Path:
    with MDSWriter(columns=COLUMNS, out=out, **{"size_limit": 20_000, **options}) as writer:
        for k in range(count):
            writer.write(full(k))
    return out


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_what_streaming_writes_we_read(tmp_path: Path, compression: str | None) -> None:
    directory = write(tmp_path / "d", full, COUNT, COLUMNS, compression=compression, hashes=["sha1", "xxh3_64"])
    expected = theirs(directory, tmp_path / "local")
    dataset = jinx.open(directory, verify="full")
    assert differences([dataset[i].to_dict() for i in range(COUNT)], expected) == []
    assert differences([sample.to_dict() for sample in dataset], expected) == []
    assert differences(dataset.take(range(COUNT)), expected) == []
    assert differences([sample.to_dict() for sample in BulkReader(directory)], expected) == []
    assert differences(list(RamReader(directory, cache=tmp_path / "cache", io="pread")), expected) == []


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_what_we_write_streaming_reads(tmp_path: Path, compression: str | None) -> None:
    directory = write_ours(tmp_path / "ours", COUNT, compression=compression, hashes=["md5"])
    other = write(tmp_path / "theirs", full, COUNT, COLUMNS, compression=compression, hashes=["md5"])
    assert differences(theirs(directory, tmp_path / "a"), theirs(other, tmp_path / "b")) == []
    names = sorted(file.name for file in directory.iterdir())
    assert names == sorted(file.name for file in other.iterdir())
    if compression is None:
        for name in names:
            assert (directory / name).read_bytes() == (other / name).read_bytes(), name
    else:
        ours, others = (json.loads((where / "index.json").read_text()) for where in (directory, other))
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
    directory = write(tmp_path / "d", full, COUNT, COLUMNS)
    for info in json.loads((directory / "index.json").read_text())["shards"]:
        own, other = MDSReader.from_json(str(directory), None, info), reader_from_json(str(directory), None, info)
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
    directory = write_small(tmp_path / "d" / "train")
    ours = LocalDataset(str(tmp_path / "d"), "train")
    assert isinstance(ours.shards[0], MDSReader)
    jinx.mds.unpatch()
    other = LocalDataset(str(tmp_path / "d"), "train")
    assert not isinstance(other.shards[0], MDSReader)
    assert differences([ours[i] for i in range(len(ours))], [other[i] for i in range(len(other))]) == []
    assert len(jinx.open(directory)) == len(jinx.open(tmp_path / "d", split="train")) == len(ours)


COLUMN_VALUES = {
    "bytes": st.binary(max_size=40),
    "str": st.text(max_size=20),
    "int": st.integers(-(2**63), 2**63 - 1),
    **{name: st.integers(0, 2 ** int(name[4:]) - 1).map(getattr(np, name)) for name in UNSIGNED},
    **{name: st.integers(int(np.iinfo(name).min), int(np.iinfo(name).max)).map(getattr(np, name)) for name in SIGNED},
    "float16": st.floats(width=16).map(np.float16),
    "float32": st.floats(width=32).map(np.float32),
    "float64": st.floats().map(np.float64),
    "str_int": st.integers(),
    "str_float": st.floats(),
    "str_decimal": st.decimals(allow_nan=False),
    "json": st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    ),
    "ndarray": arrays(st.sampled_from(ARRAY_TYPES), array_shapes(max_dims=4, max_side=4)),
    "ndarray:int16": arrays(np.int16, array_shapes(max_dims=1, max_side=300)),
    "ndarray:float32:2,3": arrays(np.float32, (2, 3)),
    "pkl": st.frozensets(st.integers()),
    **{name: st.builds(picture, st.sampled_from(["L", "RGB"]), st.integers(0, 9)) for name in ("pil", "jpeg", "png")},
    "jpeg_array": st.lists(st.builds(jpeg_bytes, st.integers(0, 9)), min_size=1, max_size=3),
    **{
        f"list[{name}]": st.lists(st.builds(picture, st.sampled_from(["L", "RGB"]), st.integers(0, 9)), max_size=3)
        for name in ("pil", "jpeg", "png")
    },
}


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(samples=st.lists(st.fixed_dictionaries(COLUMN_VALUES), min_size=1, max_size=4))
def test_random_samples_are_the_same_both_ways(samples: list[dict[str, Any]]) -> None:
    columns = {name: name for name in COLUMN_VALUES}
    with tempfile.TemporaryDirectory() as work:
        directories = [Path(work, "ours"), Path(work, "theirs")]
        for writer_class, directory in zip((MDSWriter, StreamingWriter), directories, strict=True):
            with writer_class(columns=columns, out=str(directory), size_limit=60_000) as writer:
                for sample in samples:
                    writer.write(sample)
        names = sorted(file.name for file in directories[1].iterdir())
        assert names == sorted(file.name for file in directories[0].iterdir())
        for name in names:
            assert (directories[0] / name).read_bytes() == (directories[1] / name).read_bytes(), name
        expected = list(LocalDataset(str(directories[0])))
        ours = [sample.to_dict() for sample in jinx.open(directories[1], allow_unsafe_types=True)]
        assert differences(ours, expected) == []


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(values=st.lists(COLUMN_VALUES["json"], min_size=1, max_size=20))
def test_converted_json_is_what_streaming_writes(values: list[Any]) -> None:
    # In a list, because a column of numbers alone is none of JSON.
    samples = [{"é": [value], "id": number} for number, value in enumerate(values)]
    with tempfile.TemporaryDirectory() as work:
        converted, written = Path(work, "ours.mds"), Path(work, "theirs")
        jinx.convert(samples, converted)
        with StreamingWriter(columns={"é": "json", "id": "int"}, out=str(written)) as writer:
            for sample in samples:
                writer.write(sample)
        for name in ("index.json", "shard.00000.mds"):
            assert (converted / name).read_bytes() == (written / name).read_bytes(), name
