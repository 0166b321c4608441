"""MLDataForge writes, the library reads: the values that were written, which are those its own readers give."""

import numpy as np
import pytest

import jinx
from compat import reference, rows
from compat.same import difference

OURS = [(io, lazy) for io in ("mmap", "pread") for lazy in (True, False)]


def read_all_ways(path, **options):
    """The samples as the library reads them, after checking that all ways of reading agree."""
    results = []
    for io, lazy in OURS:
        dataset = jinx.open(path, io=io, lazy=lazy, **options)
        samples = [dataset[i] for i in range(len(dataset))]
        assert all(type(sample) is (jinx.LazyDict if lazy else dict) for sample in samples)
        results += [[{**sample} for sample in samples], [{**sample} for sample in dataset]]
        results.append(
            [sample if type(sample) is dict else sample.to_dict() for sample in dataset.take(range(len(dataset)))]
        )
    for result in results[1:]:
        assert difference(result, results[0]) is None
    return results[0]


def agrees_with_its_readers(path, samples, **options):
    for lazy, mmap in reference.MODES:
        theirs = reference.read(path, lazy=lazy, mmap=mmap, **options)
        # Its lazy reader gives the names in the order of their hashes.
        assert difference(samples, theirs, ordered=not lazy) is None, (lazy, mmap)


@pytest.mark.parametrize("threshold", [None, 0, 200])
@pytest.mark.parametrize("codec", [None, *reference.CODECS])
@pytest.mark.parametrize("encoding", ["a85", "b64"])
def test_every_encoding_codec_and_threshold(tmp_path, encoding, codec, threshold):
    path = reference.write(
        tmp_path / "data.jinx",
        rows.EVERYTHING,
        encoding=encoding,
        compression=codec,
        index_compression=codec,
        binary_threshold=threshold,
    )
    got = read_all_ways(path)
    assert difference(got, rows.EVERYTHING) is None
    agrees_with_its_readers(path, got)


@pytest.mark.parametrize("codec", [None, "zst", "snappy"])
def test_hex_whose_index_its_own_reader_refuses(tmp_path, codec):
    path = reference.write(
        tmp_path / "data.jinx", rows.EVERYTHING, encoding="hex", compression=codec, index_compression=codec
    )
    with pytest.raises(ValueError, match="Unsupported encoding 'hex'"):
        reference.read(path, lazy=False, mmap=False)
    assert difference(read_all_ways(path), rows.EVERYTHING) is None


def test_hex_with_its_index_in_the_sidecar(tmp_path):
    path = reference.write(
        tmp_path / "data.jinx", rows.EVERYTHING, encoding="hex", compression="zst", binary_threshold=100
    )
    got = read_all_ways(path)
    assert difference(got, rows.EVERYTHING) is None
    agrees_with_its_readers(path, got)


@pytest.mark.parametrize("codec", [None, *reference.CODECS])
@pytest.mark.parametrize("encoding", ["a85", "b64"])
def test_every_form_of_a_long_index(tmp_path, encoding, codec):
    samples = [{"i": i, "text": "x" * (i % 7)} for i in range(1500)]
    path = reference.write(tmp_path / "data.jinx", samples, encoding=encoding, index_compression=codec)
    got = read_all_ways(path)
    assert got == samples
    assert reference.read(path, lazy=False, mmap=True) == samples


@pytest.mark.parametrize("threshold", [0, 1, 100, 10**6])
@pytest.mark.parametrize("codec", reference.CODECS)
def test_every_value_compressed_or_none(tmp_path, codec, threshold):
    # A ratio of 100 keeps what compression made longer.
    path = reference.write(
        tmp_path / "data.jinx", rows.EVERYTHING, compression=codec, compress_threshold=threshold, compress_ratio=100.0
    )
    got = read_all_ways(path)
    assert difference(got, rows.EVERYTHING) is None
    agrees_with_its_readers(path, got)


DOTTED = [
    {
        "a.b": 1,
        "v1.0": "text",
        "model.pt": 2,
        "img.raw": None,
        "x.str": None,
        "file.jpg": "a.jpg",
        "a.": True,
        ".a": [1],
        "..": {},
    },
    {
        "v1.0": b"bytes",
        "a.b.c": np.arange(3),
        "n.n": np.int8(4),
        "w.x": {"y.z": b"q" * 99, "offset.bin": {"offset": 1}},
    },
    {"list.npy": [1, 2], "dict.bin": {"a": 1}, "flag.int8": False, "float.gz": 1.5},
]


@pytest.mark.parametrize("threshold", [None, 50])
def test_dotted_names_come_back_as_written(tmp_path, threshold):
    path = reference.write(tmp_path / "data.jinx", DOTTED, binary_threshold=threshold)
    for lazy, mmap in reference.MODES:
        with pytest.raises(ValueError, match=r"Unsupported extension|Failed to|Expected offset dict"):
            reference.read(path, lazy=lazy, mmap=mmap)
    assert difference(read_all_ways(path), DOTTED) is None


@pytest.mark.parametrize("separator", ["~", "::", "_", "-"])
@pytest.mark.parametrize(("codec", "threshold"), [(None, None), ("zst", None), (None, 100), ("gz", 0)])
def test_another_separator_comes_back_as_written(tmp_path, separator, codec, threshold):
    samples = [*rows.EVERYTHING, {f"a{separator}b": b"bytes", "a.b": 1, "dotted.name": b"x" * 200, "v1.0": "text"}]
    path = reference.write(
        tmp_path / "data.jinx",
        samples,
        ext_sep=separator,
        compression=codec,
        index_compression=codec,
        binary_threshold=threshold,
    )
    with pytest.raises((IndexError, ValueError)):
        reference.read(path, lazy=False, mmap=False)
    assert difference(read_all_ways(path), samples) is None


def test_what_it_loses_is_lost_alike(tmp_path):
    samples = [
        {"nan": float("nan"), "inf": float("inf"), "list": [float("-inf"), 1.5]},
        {
            "bytes in a list": [b"abc", b"x" * 300],
            "arrays in a list": [np.arange(3)],
            "texts in a list": [rows.LONG * 9],
        },
        {"tuple": (1, 2, 3), "long tuple": tuple(range(200))},
    ]
    for number, options in enumerate([{}, {"compression": "zst"}, {"binary_threshold": 100}, {"binary_threshold": 0}]):
        path = reference.write(tmp_path / f"data{number}.jinx", samples, **options)
        agrees_with_its_readers(path, read_all_ways(path))


@pytest.mark.parametrize("dtype", ["bool_", "float16"])
def test_scalars_no_reader_of_its_own_knows(tmp_path, dtype):
    path = reference.write(tmp_path / "data.jinx", [{"x": getattr(np, dtype)(1)}])
    with pytest.raises(ValueError, match="Unsupported extension"):
        reference.read(path, lazy=False, mmap=False)
    suffix = np.dtype(dtype).name
    assert read_all_ways(path) == [{f"x.{suffix}": 1}]


@pytest.mark.parametrize("threshold", [None, 0])
def test_an_empty_file(tmp_path, threshold):
    path = reference.write(tmp_path / "data.jinx", [], binary_threshold=threshold)
    assert read_all_ways(path) == []
    assert reference.read(path, lazy=False, mmap=False) == []


@pytest.mark.parametrize("options", [{}, {"compression": None}, {"encoding": "b64", "binary_threshold": 100}])
def test_a_directory_of_shards(tmp_path, options):
    samples = [{"i": i, **sample} for i, sample in enumerate(rows.EVERYTHING * 3)]
    path = reference.write_directory(tmp_path / "data", samples, 2000, **options)
    assert len(list(path.glob("shard-*.jinx"))) > 3
    got = read_all_ways(path)
    assert difference(got, samples) is None
    agrees_with_its_readers(path, got)
    assert difference(read_all_ways(sorted(path.glob("shard-*.jinx"))), samples) is None


def test_a_directory_grows(tmp_path):
    path = reference.write_directory(tmp_path / "data", [{"i": i} for i in range(50)], 300)
    reference.write_directory(path, [{"i": i} for i in range(50, 80)], 300, append=True)
    got = read_all_ways(path)
    assert got == [{"i": i} for i in range(80)]
    agrees_with_its_readers(path, got)


def test_splits(tmp_path):
    path = tmp_path / "data"
    reference.write_directory(path, [{"i": i} for i in range(40)], 300, split="train")
    reference.write_directory(path, [{"i": -i} for i in range(40)], 300, split="test", append=True)
    for split in ("train", "test"):
        got = read_all_ways(path, split=split)
        assert len(got) == 40
        agrees_with_its_readers(path, got, split=split)
    everything = read_all_ways(path)
    assert len(everything) == 80
    agrees_with_its_readers(path, everything)


def test_a_file_of_another_split_is_empty(tmp_path):
    path = tmp_path / "data.jinx"
    with reference.JinxDatasetWriter(str(path), None, split="train") as writer:
        writer.write({"i": 1})
    assert read_all_ways(path, split="train") == [{"i": 1}]
    assert len(jinx.open(path, split="test")) == 0


def test_a_dataset_without_samples_in_a_directory(tmp_path):
    path = reference.write_directory(tmp_path / "data", [], 1000)
    assert read_all_ways(path) == []
    agrees_with_its_readers(path, [])


def test_its_lazy_samples_written_again(tmp_path):
    first = reference.write(tmp_path / "first.jinx", rows.EVERYTHING, compression="zst", binary_threshold=100)
    with reference.reader(first, lazy=True, mmap=False) as opened:
        second = reference.write(tmp_path / "second.jinx", opened, compression="zst", binary_threshold=100)
    got = read_all_ways(second)
    assert difference(got, rows.EVERYTHING, ordered=False) is None
    agrees_with_its_readers(second, got)
