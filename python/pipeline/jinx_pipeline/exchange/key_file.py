"""A file with the keys of some samples, in sections that can be read separately.

A section holds a partition of the keys, as an Arrow record batch. The layout, little-endian:

header     magic, samples, keys, number of sections, bytes of the schema
index      offset and CRC-32 of each section, and the offset of the end
schema     the schema of all sections, as Arrow IPC
sections   Arrow IPC messages; nothing for an empty section

Sections are read with `pread` instead of a memory map: the kernel does not read the pages around a section, and a
truncated file raises an error, while a memory map would end the process.
"""

import os
import struct
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import IO, Final, NamedTuple, Self
from zlib import crc32

import numpy as np
import pyarrow as pa

from jinx_pipeline.store.mirror import is_remote, read_range, readable, size_of

POSITION: Final = "position"
"""The column with the place of a key's sample among the samples of its file."""

# The number of bytes that are read first from a remote file.
_FIRST_BYTES: Final = 32_768
_MAGIC = b"JXKEYS1\n"
_HEADER = struct.Struct("<8sQQII")
_INDEX = np.dtype([("offset", "<u8"), ("checksum", "<u4")])

KeySource = Path | bytes
"""A key file: its path, or its content."""


class KeyFileError(ValueError):
    """Raised when a key file is missing or damaged."""

    # The run stops: another attempt or a smaller task could not read the file either.
    concerns_all_rows = True

    def __init__(self, source: KeySource, problem: str) -> None:
        name = source if isinstance(source, Path) else "keys in memory"
        super().__init__(f"{name}: the file with the keys of samples {problem}; start over with restart (--restart)")


class Header(NamedTuple):
    """The header of a key file.

    Attributes:
        samples: The number of samples, with and without a key.
        keys: The number of keys in all sections, without the section of sampled keys.
        sections: The number of sections.
        schema_bytes: The size of the schema.
    """

    samples: int
    keys: int
    sections: int
    schema_bytes: int


class KeyFileWriter:
    """Writes a key file section by section; `close` completes it.

    Args:
        file: A seekable file.
        samples: The number of samples that the keys belong to.
        sections: The number of sections that will be written.
        schema: The schema of all sections.
    """

    def __init__(self, file: IO[bytes], samples: int, sections: int, schema: pa.Schema) -> None:
        self._file = file
        self._samples, self._keys = samples, 0
        self._schema = schema.remove_metadata()
        self._index = np.zeros(sections + 1, _INDEX)
        self._written = 0
        self._schema_bytes = self._schema.serialize().to_pybytes()
        self._offset = _HEADER.size + self._index.nbytes + len(self._schema_bytes)
        file.seek(self._offset)

    def write(self, table: pa.Table, *, is_sample: bool = False) -> None:
        """Write the next section; `is_sample` marks sampled keys, which other sections contain too."""
        data = pa.py_buffer(b"")
        if table.num_rows:
            (batch,) = table.combine_chunks().to_batches()
            data = batch.serialize()
        self._index[self._written] = self._offset, crc32(data)
        self._file.write(data)
        self._offset += data.size
        self._keys += 0 if is_sample else table.num_rows
        self._written += 1

    def close(self) -> None:
        """Write the header and the index."""
        sections = len(self._index) - 1
        if self._written != sections:
            raise ValueError(f"{self._written} of {sections} sections were written")
        self._index[sections] = self._offset, 0
        self._file.seek(0)
        self._file.write(_HEADER.pack(_MAGIC, self._samples, self._keys, sections, len(self._schema_bytes)))
        self._file.write(self._index.tobytes())
        self._file.write(self._schema_bytes)
        self._file.seek(self._offset)


class _OpenKeyFile:
    """Reads the header and the sections of a key file."""

    def __init__(self, source: KeySource, read: Callable[[int, int], bytes | memoryview]) -> None:
        self._source, self._read = source, read
        magic, *numbers = _HEADER.unpack(self._read_exactly(0, _HEADER.size))
        if magic != _MAGIC:
            raise KeyFileError(source, "is damaged: it does not begin like a key file")
        self.header = Header(*numbers)

    def schema(self) -> pa.Schema:
        """The schema of all sections."""
        data = self._read_exactly(_HEADER.size + _INDEX.itemsize * (self.header.sections + 1), self.header.schema_bytes)
        try:
            return pa.ipc.read_schema(pa.py_buffer(data))
        except (pa.ArrowInvalid, OSError) as error:
            raise KeyFileError(self._source, f"is damaged: {error}") from None

    def sections(self, first: int, stop: int, schema: pa.Schema) -> pa.Table:
        """Consecutive sections as one table, in one read."""
        if stop > self.header.sections:
            raise KeyFileError(self._source, f"is damaged: section {stop - 1} of {self.header.sections}")
        entries = self._read_exactly(_HEADER.size + _INDEX.itemsize * first, _INDEX.itemsize * (stop - first + 1))
        index = np.frombuffer(entries, _INDEX)
        offsets = index["offset"].tolist()
        if offsets != sorted(offsets):
            raise KeyFileError(self._source, "is damaged: its index is out of order")
        data = memoryview(self._read_exactly(offsets[0], offsets[-1] - offsets[0]))
        batches: list[pa.RecordBatch] = []
        for number, (start, end) in enumerate(pairwise(offsets)):
            part = data[start - offsets[0] : end - offsets[0]]
            if crc32(part) != index["checksum"][number]:
                raise KeyFileError(self._source, f"is damaged: section {first + number} has another checksum")
            if len(part):
                batches.append(pa.ipc.read_record_batch(pa.py_buffer(part), schema))
        return pa.Table.from_batches(batches, schema)

    def _read_exactly(self, offset: int, size: int) -> bytes | memoryview:
        data = self._read(offset, size)
        if len(data) != size:
            raise KeyFileError(self._source, f"is damaged: it ends before byte {offset + size:,}")
        return data


def read_at(descriptor: int, offset: int, size: int) -> bytes:
    """Bytes of a file at an offset; fewer at its end."""
    data = os.pread(descriptor, size, offset)
    while len(data) < size and (chunk := os.pread(descriptor, size - len(data), offset + len(data))):
        data += chunk
    return data


def _reader_of(path: Path, url: str) -> Callable[[int, int], bytes]:
    """Reads ranges of an object; its first bytes, with the header, the index and the schema, are read only once."""
    try:
        end = size_of(path)
        first = read_range(url, 0, min(end, _FIRST_BYTES))
    except FileNotFoundError:
        raise KeyFileError(path, "is missing") from None

    def read(offset: int, size: int) -> bytes:
        stop = min(offset + size, end)
        return first[offset:stop] if stop <= len(first) else read_range(url, offset, stop)

    return read


@contextmanager
def _opened(source: KeySource) -> Generator[_OpenKeyFile]:
    if isinstance(source, bytes):
        view = memoryview(source)
        yield _OpenKeyFile(source, lambda offset, size: view[offset : offset + size])
        return
    path = readable(source)
    if is_remote(path):
        yield _OpenKeyFile(source, _reader_of(source, path))
        return
    try:
        file = open(path, "rb", buffering=0)  # noqa: PTH123, SIM115 - is closed below
    except FileNotFoundError:
        raise KeyFileError(source, "is missing") from None
    with file:
        yield _OpenKeyFile(source, lambda offset, size: read_at(file.fileno(), offset, size))


@dataclass(frozen=True)
class KeyFiles:
    """The keys of consecutive samples, in files with the same sections.

    Attributes:
        sources: The files, in the order of the samples.
    """

    sources: Sequence[KeySource] = ()

    def __len__(self) -> int:
        return len(self.sources)

    def part(self, first: int, stop: int) -> Self:
        """The files from `first` to before `stop`."""
        return type(self)(self.sources[first:stop])

    def headers(self) -> list[Header]:
        """The header of each file."""
        headers: list[Header] = []
        for source in self.sources:
            with _opened(source) as file:
                headers.append(file.header)
        return headers

    def sizes(self) -> list[int]:
        """The size of each file in bytes."""
        return [len(source) if isinstance(source, bytes) else size_of(source) for source in self.sources]

    def read(self, first: int, stop: int) -> Iterator[tuple[int, pa.Table]]:
        """Consecutive sections of each file, with the number of samples in the files before it."""
        schema: pa.Schema | None = None
        start = 0
        for source in self.sources:
            with _opened(source) as file:
                schema = schema or file.schema()
                yield start, file.sections(first, stop, schema)
                start += file.header.samples

    def last(self) -> Iterator[pa.Table]:
        """The last section of each file."""
        for source in self.sources:
            with _opened(source) as file:
                yield file.sections(file.header.sections - 1, file.header.sections, file.schema())

    @contextmanager
    def held_open(self) -> Generator[Callable[[int], Iterator[tuple[int, pa.Table]]]]:
        """Keep all files open; yields a function that reads a section like `read` does."""
        with ExitStack() as stack:
            files = [stack.enter_context(_opened(source)) for source in self.sources]
            yield partial(_sections, files, files[0].schema() if files else None)


def _sections(files: list[_OpenKeyFile], schema: pa.Schema, number: int) -> Iterator[tuple[int, pa.Table]]:
    start = 0
    for file in files:
        yield start, file.sections(number, number + 1, schema)
        start += file.header.samples
