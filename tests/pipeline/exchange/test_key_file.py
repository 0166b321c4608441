"""Key files: sections that are read alone, and clear errors for files that are missing or damaged."""

import io

import numpy as np
import pyarrow as pa
import pytest

from jinx_pipeline.exchange import key_file
from jinx_pipeline.exchange.hashing import mixed, partition_bounds
from jinx_pipeline.exchange.key_file import KeyFileError, KeyFiles, KeyFileWriter

SECTIONS = [
    pa.table({"key": pa.array([f"k{number}"] * count, pa.string())}) for number, count in enumerate((3, 0, 5, 1))
]


def written() -> bytes:
    file = io.BytesIO()
    writer = KeyFileWriter(file, 20, len(SECTIONS), SECTIONS[0].schema)
    for table in SECTIONS:
        writer.write(table)
    writer.close()
    return file.getvalue()


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.signatures"
    path.write_bytes(written())
    return path


def test_sections(path, monkeypatch):
    ranges = []
    read_at = key_file.read_at
    monkeypatch.setattr(key_file, "read_at", lambda *given: ranges.append(given[1:]) or read_at(*given))
    for sources in ([path, path], [written(), written()]):
        files = KeyFiles(sources)
        assert [(header.samples, header.keys, header.sections) for header in files.headers()] == [(20, 9, 4)] * 2
        assert files.sizes() == [len(written())] * 2
        for first, stop in ((0, 1), (1, 2), (1, 3), (0, 4), (2, 2)):
            found = list(files.read(first, stop))
            assert [start for start, _ in found] == [0, 20]
            expected = pa.concat_tables(SECTIONS[first:stop] or [SECTIONS[1]])
            assert all(table.equals(expected) for _, table in found)
        with files.held_open() as read:
            assert [table.num_rows for _, table in read(2)] == [5, 5]
    ranges.clear()
    list(KeyFiles([path]).read(1, 3))
    sections = len(SECTIONS[2].to_batches()[0].serialize())
    assert max(size for _, size in ranges) == sections


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda data: b"", "is damaged: it ends before byte 32"),
        (lambda data: data[:-1], "is damaged: it ends before"),
        (lambda data: b"x" + data[1:], "is damaged: it does not begin like a key file"),
        (lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:], "is damaged: section 3 has another checksum"),
        (lambda data: data[:32] + b"\xff" * 8 + data[40:], "is damaged: its index is out of order"),
    ],
)
def test_damaged_files(path, change, problem):
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(KeyFileError, match=rf"a\.signatures: the file with the keys of samples {problem}.*start over"):
        list(KeyFiles([path]).read(0, 4))


def test_missing_file(path):
    path.unlink()
    for read in (lambda: list(KeyFiles([path]).read(0, 1)), KeyFiles([path]).headers):
        with pytest.raises(
            KeyFileError, match=r"a\.signatures: the file with the keys of samples is missing; start over"
        ):
            read()


def test_all_sections_are_written():
    writer = KeyFileWriter(io.BytesIO(), 1, 2, SECTIONS[0].schema)
    writer.write(SECTIONS[0])
    with pytest.raises(ValueError, match="1 of 2 sections"):
        writer.close()


@pytest.mark.parametrize("partitions", [1, 2, 3, 7, 1000])
def test_partitions_of_hashes(partitions):
    hashes = np.sort(mixed(np.arange(20_000, dtype=np.uint64)))
    bounds = partition_bounds(hashes, partitions)
    assert bounds[0] == 0
    assert bounds[-1] == len(hashes)
    sizes = np.diff(bounds)
    assert abs(sizes - len(hashes) / partitions).max() < 6 * (len(hashes) / partitions) ** 0.5
    for number in range(partitions):
        inside = [int(digest) * partitions >> 64 for digest in hashes[bounds[number] : bounds[number + 1]]]
        assert set(inside) <= {number}
    # Those of more partitions lie within, so that a partition can be split by itself.
    assert set(bounds) <= set(partition_bounds(hashes, 3 * partitions))
    assert len(set(mixed(np.array([0, 1, 2**64 - 1, 2**63], np.uint64)).tolist())) == 4
