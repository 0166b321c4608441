"""MLDataForge, the implementation of JINX 1.0, unmodified: how it writes and how it reads."""

import contextlib
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mldataforge")
import lz4.frame  # noqa: F401  MLDataForge uses it without importing it
from mldataforge.jinx import JinxDatasetReader, JinxDatasetWriter, JinxShardReader, JinxShardWriter
from mldataforge.lazy_dict import LazyDict

MODES = [(lazy, mmap) for lazy in (False, True) for mmap in (False, True)]
MODE_IDS = [f"{'lazy' if lazy else 'eager'}-{'mmap' if mmap else 'file'}" for lazy, mmap in MODES]
CODECS = ["zst", "gz", "br", "bz2", "lz4", "lzma", "xz", "snappy"]


def write(path: Path, samples: Iterable[dict], **options: Any) -> Path:
    with JinxShardWriter(str(path), **options) as writer:
        for sample in samples:
            writer.write_sample(sample)
    return path


def write_directory(path: Path, samples: Iterable[dict], shard_size: int, **options: Any) -> Path:
    with JinxDatasetWriter(str(path), shard_size, **options) as writer:
        for sample in samples:
            writer.write(sample)
    return path


@contextlib.contextmanager
def reader(path: Path, *, lazy: bool, mmap: bool, split: str | None = None) -> Iterator[JinxDatasetReader]:
    """Its dataset reader, for a file or a directory."""
    with _nothing_left_open():
        opened = JinxDatasetReader(str(path), lazy=lazy, mmap=mmap, split=split)
    try:
        yield opened
    finally:
        for shard in opened.shards:
            _close(shard)


@contextlib.contextmanager
def shard_reader(path: Path, *, lazy: bool, mmap: bool) -> Iterator[JinxShardReader]:
    with _nothing_left_open():
        opened = JinxShardReader(str(path), lazy=lazy, mmap=mmap)
    try:
        yield opened
    finally:
        _close(opened)


@contextlib.contextmanager
def _nothing_left_open() -> Iterator[None]:
    """Closes the file that a shard reader leaves open when it refuses it."""
    try:
        yield
    except Exception as error:
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if isinstance(frame.f_locals.get("self"), JinxShardReader):
                frame.f_locals["self"].file.close()
        raise


def _close(shard: JinxShardReader) -> None:
    # Its own close() closes a numpy memmap, which has no such method, and forgets one of the files.
    with contextlib.suppress(AttributeError):
        shard.close()
    shard.file.close()
    if shard.bin:
        shard.bin.close()


def plain(value: Any) -> Any:
    """A sample of its lazy reader as a dict, decoded all the way down."""
    if isinstance(value, LazyDict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def read(path: Path, *, lazy: bool, mmap: bool, split: str | None = None) -> list[dict]:
    with reader(path, lazy=lazy, mmap=mmap, split=split) as opened:
        return [plain(opened[i]) for i in range(len(opened))]
