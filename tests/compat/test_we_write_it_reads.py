"""The library writes, MLDataForge reads: equal values, or a loud error on exactly the cases listed here."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jinx
from compat import reference, rows
from compat.same import difference

MODES = pytest.mark.parametrize(("lazy", "mmap"), reference.MODES, ids=reference.MODE_IDS)
WAYS = pytest.mark.parametrize(
    "options", [{}, {"sidecar": False}, {"compression": None}, {"sidecar": False, "compression": None}], ids=str
)
# What JSON cannot say and 1.0 still reads right.
NUMBERS = [
    {
        "nan": math.nan,
        "inf": math.inf,
        "minus inf": -math.inf,
        "nested": {"nan": math.nan},
        "in dicts": [{"inf": math.inf}],
    },
    {"f4 nan": np.float32("nan"), "f4 inf": np.float32("inf"), "f4 minus inf": np.float32("-inf")},
    {"f8": np.float64(0.1), "flag": np.bool_(True), "half": np.float16(1.5), "time": np.datetime64("2024-05-06", "ns")},
    {"c8": np.complex64(1 + 2j), "f8 nan": np.float64("nan")},
]


def write(path, samples, **options):
    with jinx.Writer(path, **options) as writer:
        writer.write_many(samples)
    return path


def as_1_0_reads(value):
    """Python's floats that are not finite come back as numpy's; everything else is the same."""
    if isinstance(value, dict):
        return {name: as_1_0_reads(item) for name, item in value.items()}
    if isinstance(value, list):
        return [as_1_0_reads(item) for item in value]
    return np.float64(value) if type(value) is float and not math.isfinite(value) else value


@WAYS
@MODES
def test_every_value(tmp_path, options, lazy, mmap):
    samples = rows.EVERYTHING + NUMBERS
    path = write(tmp_path / "data.jinx", samples, **options)
    wanted = [as_1_0_reads(sample) for sample in samples]
    assert difference(reference.read(path, lazy=lazy, mmap=mmap), wanted, ordered=not lazy) is None
    with reference.shard_reader(path, lazy=lazy, mmap=mmap) as opened:
        got = [reference.plain(sample) for sample in opened]
        assert len(opened) == len(samples)
        assert difference(got, wanted, ordered=not lazy) is None
        assert difference([reference.plain(opened[i]) for i in range(len(opened))], wanted, ordered=not lazy) is None


@WAYS
@MODES
def test_an_index_longer_than_64_kib(tmp_path, options, lazy, mmap):
    samples = [{"i": i, "text": "x" * (i % 9), "bytes": bytes([i % 256]) * (i % 99)} for i in range(9000)]
    path = write(tmp_path / "data.jinx", samples, **options)
    in_sidecar = b'\n{"index.npy.bin":' in path.read_bytes()
    assert in_sidecar == options.get("sidecar", True)
    with reference.reader(path, lazy=lazy, mmap=mmap) as opened:
        assert len(opened) == len(samples)
        for i in [0, 1, 8191, 8192, 8999, *range(0, 9000, 97)]:
            assert reference.plain(opened[i]) == samples[i]


@MODES
def test_a_directory_of_shards(tmp_path, lazy, mmap):
    samples = [{"i": i, **sample} for i, sample in enumerate(rows.EVERYTHING * 3)]
    path = write(tmp_path / "data", samples, shard_size=50_000, split="train")
    assert len(list(path.glob("shard-*.jinx"))) > 3
    for split in (None, "train"):
        got = reference.read(path, lazy=lazy, mmap=mmap, split=split)
        assert difference(got, samples, ordered=not lazy) is None
    assert reference.read(path, lazy=lazy, mmap=mmap, split="test") == []


@pytest.mark.parametrize("sidecar", [True, False])
@MODES
def test_no_samples(tmp_path, sidecar, lazy, mmap):
    path = write(tmp_path / "data.jinx", [], sidecar=sidecar)
    assert reference.read(path, lazy=lazy, mmap=mmap) == []
    assert reference.read(write(tmp_path / "directory", []), lazy=lazy, mmap=mmap) == []


@pytest.mark.parametrize("sidecar", [True, False])
@MODES
def test_converted_from_its_own_file(tmp_path, sidecar, lazy, mmap):
    first = reference.write(tmp_path / "old.jinx", rows.EVERYTHING, compression="br", binary_threshold=200)
    jinx.convert(first, tmp_path / "new.jinx", sidecar=sidecar)
    got = reference.read(tmp_path / "new.jinx", lazy=lazy, mmap=mmap)
    assert difference(got, rows.EVERYTHING, ordered=not lazy) is None


@pytest.mark.parametrize("sidecar", [True, False])
@MODES
def test_converted_from_parquet(tmp_path, sidecar, lazy, mmap):
    samples = [
        {"i": i, "text": "x" * i, "bytes": bytes(i), "tags": ["a"] * (i % 3), "s": {"f": i / 7, "b": b"q" * i}}
        for i in range(99)
    ]
    pq.write_table(pa.Table.from_pylist(samples), tmp_path / "data.parquet")
    jinx.convert(tmp_path / "data.parquet", tmp_path / "data.jinx", sidecar=sidecar)
    assert difference(reference.read(tmp_path / "data.jinx", lazy=lazy, mmap=mmap), samples, ordered=not lazy) is None


# From here on: all that a 1.0 reader cannot read, or reads otherwise (spec/versions.md, section 3).

FAILS = {
    "dotted name": {"model.pt": 1},
    "dotted name of text": {"a.b": "text"},
    "dotted name of bytes": {"v1.0": b"x" * 100},
    "dotted name of null": {"a.raw": None},
    "dotted name of a list": {"a.int8": [1]},
    "dotted name of a dict": {"a.bin": {"offset": 0, "length": 1}},
    "dot at the end": {"a.": 1},
    "only dots": {"...": 1},
    "dotted name below": {"nested": {"a.b": 1}},
    "dotted name in a list": {"list": [{"a.b": 1}]},
    "bytes in a list": {"list": [b"x"]},
    "large bytes in a list": {"list": [b"x" * 999]},
    "array in a list": {"list": [np.arange(3)]},
    "numpy scalar in a list": {"list": [np.int8(3)]},
    "nan in a list": {"list": [1.0, math.nan]},
    "infinity in a list": {"list": [[math.inf]]},
}


@pytest.mark.parametrize("sidecar", [True, False])
@pytest.mark.parametrize("name", FAILS)
@MODES
def test_what_1_0_cannot_express_fails(tmp_path, name, sidecar, lazy, mmap):
    path = write(tmp_path / "data.jinx", [{"i": 0}, {"i": 1, **FAILS[name], "last": 2}, {"i": 2}], sidecar=sidecar)
    assert (
        difference([{**sample} for sample in jinx.open(path, lazy=False)][1], {"i": 1, **FAILS[name], "last": 2})
        is None
    )
    with reference.reader(path, lazy=lazy, mmap=mmap) as opened:
        assert reference.plain(opened[0]) == {"i": 0}
        assert reference.plain(opened[2]) == {"i": 2}
        if not lazy:
            with pytest.raises(ValueError, match=r"Unsupported extension|Failed to|Expected offset"):
                opened[1]
            return
        sample = opened[1]
        # Only this field fails.
        assert (sample["i"], sample["last"]) == (1, 2)
        (field,) = set(sample) - {"i", "last"}
        with pytest.raises(ValueError, match=r"Unsupported extension|Failed to|Expected offset"):
            reference.plain(sample[field])


SHADOWED = [
    {"a": 1, "a.b": 2},
    {"d": {"a.b": b"x" * 100, "a": 1}},
    {"l": [{"a": 1, "a.b": 2}]},
    {"d": {"": 1, ".b": 2}},
]


def without_quoted(value):
    if isinstance(value, dict):
        return {name: without_quoted(item) for name, item in value.items() if "." not in name}
    return [without_quoted(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("sample", SHADOWED, ids=str)
@MODES
def test_a_quoted_name_next_to_its_stem_is_absent_in_lazy_mode(tmp_path, sample, lazy, mmap):
    path = write(tmp_path / "data.jinx", [sample])
    assert difference([{**one} for one in jinx.open(path, lazy=False)], [sample]) is None
    assert len(jinx.open(path).info().needs_1_1) == 1
    with reference.reader(path, lazy=lazy, mmap=mmap) as opened:
        if not lazy:
            with pytest.raises(ValueError, match="Unsupported extension"):
                opened[0]
            return
        assert reference.plain(opened[0]) == without_quoted(sample)


@MODES
def test_integers_above_64_bits_become_floats(tmp_path, lazy, mmap):
    path = write(tmp_path / "data.jinx", [{"i": 2**64}, {"i": -(2**63) - 1}, {"i": 10**400}])
    with reference.reader(path, lazy=lazy, mmap=mmap) as opened:
        assert (opened[0]["i"], opened[1]["i"]) == (float(2**64), float(-(2**63) - 1))
        with pytest.raises(ValueError, match=r"number|json|JSON"):
            opened[2]


@MODES
def test_media_in_the_row_is_a_dict(tmp_path, lazy, mmap):
    """Large media are bytes for every reader."""
    samples = [
        {"image": {"bytes": b"\xff\xd8\xff" + b"x" * 200, "path": "a.jpg"}},
        {"image": {"bytes": b"tiny", "path": "b.jpg"}},
        {"image": {"bytes": None, "path": "c.jpg"}},
        {"image": None},
    ]
    features = b'{"info": {"features": {"image": {"_type": "Image"}}}}'
    table = pa.Table.from_pylist(samples).replace_schema_metadata({b"huggingface": features})
    pq.write_table(table, tmp_path / "data.parquet")
    jinx.convert(tmp_path / "data.parquet", tmp_path / "data.jinx")
    got = reference.read(tmp_path / "data.jinx", lazy=lazy, mmap=mmap)
    assert got == [{"image": samples[0]["image"]["bytes"]}, *samples[1:]]
    ours = [sample["image"] for sample in jinx.open(tmp_path / "data.jinx")]
    assert ours == [samples[0]["image"]["bytes"], b"tiny", {"bytes": None, "path": "c.jpg"}, None]


def test_a_renamed_main_file_needs_its_sidecar_renamed(tmp_path):
    path = write(tmp_path / "data.jinx", [{"b": b"x" * 999}])
    renamed = path.rename(tmp_path / "other.jinx")
    assert jinx.open(renamed)[0]["b"] == b"x" * 999
    with pytest.raises(FileNotFoundError):
        reference.read(renamed, lazy=False, mmap=False)


def test_shards_the_manifest_does_not_list_are_read_by_1_0(tmp_path):
    path = write(tmp_path / "data", [{"i": 1}])
    write(path / "shard-00001.jinx", [{"i": 2}])
    assert [sample["i"] for sample in jinx.open(path)] == [1]
    assert reference.read(path, lazy=False, mmap=False) == [{"i": 1}, {"i": 2}]
