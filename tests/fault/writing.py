"""The writers that are killed and that meet failing calls."""

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import jinx
from fault.rows import rows
from jinx import _core
from jinx._cli.program import run

SHARD_BYTES = 8000  # a few shards


def write_pair(path: Path, version: int) -> None:
    with jinx.Writer(path, overwrite=True, threads=1) as writer:
        writer.write_many(rows(version))


def source_of(path: Path, version: int) -> Path:
    return path.parent.parent / f"{version}.jinx"


def convert_pair(path: Path, version: int) -> None:
    with io.StringIO() as said, contextlib.redirect_stderr(said):
        if run(["convert", "--overwrite", "--progress", "none", str(source_of(path, version)), str(path)]):
            raise OSError(said.getvalue().strip())


def copy_samples(path: Path, version: int) -> None:
    with jinx.Writer(path, overwrite=True, threads=1) as writer:
        writer.copy(jinx.open(source_of(path, version)))


def write_directory(path: Path, version: int) -> None:
    with jinx.Writer(path, overwrite=True, shard_size=SHARD_BYTES, threads=1) as writer:
        writer.write_many(rows(version))


def append_directory(path: Path, version: int) -> None:
    with jinx.Writer(path, append=True, shard_size=SHARD_BYTES, threads=1) as writer:
        writer.write_many(rows(version))


def base_of(path: Path) -> Path:
    return path.parent.parent / "base.jinx"


def save_view(path: Path, version: int) -> None:
    """Samples of a base that all versions share, in another order; of one version, the blobs are its own."""
    dataset = jinx.open(base_of(path))
    view = dataset[[i for i, each in enumerate(dataset["version"]) if each == version]]
    if version == 2:
        view = view.with_columns({"blob": [row["blob"] for row in rows(version)]})
    view.save(path, overwrite=True)


def save_typed_view(path: Path, version: int) -> None:
    """The same samples, with the version as a typed column and vectors large enough for several writes."""
    dataset = jinx.open(base_of(path))
    view = dataset[[i for i, each in enumerate(dataset["version"]) if each == version]]
    versions = np.full(len(view), version, dtype=np.int16)
    vectors = np.full((len(view), 4000), version, dtype=np.float32)
    view.with_columns({"version": versions, "emb": vectors}).save(path, overwrite=True)


MEMORY = 3000  # bytes: the samples pass through temporary files


def shuffle_pair(path: Path, version: int) -> None:
    jinx.shuffle(source_of(path, version), path, seed=version, memory=MEMORY, overwrite=True)


def sort_directory(path: Path, version: int) -> None:
    jinx.sort(source_of(path, version), path, by="-len(text)", memory=MEMORY, overwrite=True, shard_size=SHARD_BYTES)


def typed_rows(version: int) -> list[dict[str, Any]]:
    return [row | {"emb": np.full(4000, version, dtype=np.float32)} for row in rows(version)]


def shuffled_rows(version: int) -> list[dict[str, Any]]:
    order = _core.Ordering.shuffled(len(rows(version)), version).positions(0, len(rows(version)))
    return [rows(version)[i] for i in memoryview(order).cast("Q")]


def sorted_rows(version: int) -> list[dict[str, Any]]:
    return sorted(rows(version), key=lambda row: -len(row["text"]))


Write = Callable[[Path, int], None]
Rows = Callable[[int], list[dict[str, Any]]]


class Case:
    """One way to write: what is there before, and what must be there after."""

    def __init__(self, file: str, write: Write, *, old: Write | None, rows: Rows = rows) -> None:
        self.file = file
        self.write = write
        self.old = old
        self.rows = rows

    def prepare(self, path: Path, old: int) -> list[dict[str, Any]] | None:
        """Writes what is there before, and returns it; None where nothing is."""
        path.parent.mkdir(parents=True)
        if self.write in {save_view, save_typed_view} and not base_of(path).exists():
            with jinx.Writer(base_of(path), threads=1) as writer:
                for version in range(4):
                    writer.write_many(rows(version))
        if self.old is None:
            return None
        self.old(path, old)
        return self.rows(old) if self.old is save_typed_view else rows(old)

    def prepare_source(self, path: Path, new: int) -> None:
        """What the writer reads, if it reads something."""
        if self.write in {convert_pair, copy_samples, shuffle_pair, sort_directory}:
            write_pair(source_of(path, new), new)

    def after(self, before: list[dict[str, Any]] | None, new: int) -> list[dict[str, Any]]:
        """What is there when the writer is done."""
        return [*(before or []), *rows(new)] if self.write is append_directory else self.rows(new)


CASES = {
    "create pair": Case("data.jinx", write_pair, old=None),
    "replace pair": Case("data.jinx", write_pair, old=write_pair),
    "convert": Case("data.jinx", convert_pair, old=write_pair),
    "copy": Case("data.jinx", copy_samples, old=None),
    "replace by copy": Case("data.jinx", copy_samples, old=write_pair),
    "create directory": Case("data", write_directory, old=None),
    "replace directory": Case("data", write_directory, old=write_directory),
    "save view": Case("data.jinx", save_view, old=None),
    "replace view": Case("data.jinx", save_view, old=save_view),
    "save typed view": Case("data.jinx", save_typed_view, old=None, rows=typed_rows),
    "replace typed view": Case("data.jinx", save_typed_view, old=save_typed_view, rows=typed_rows),
    "shuffle": Case("data.jinx", shuffle_pair, old=write_pair, rows=shuffled_rows),
    "sort": Case("data", sort_directory, old=write_directory, rows=sorted_rows),
    "append": Case("data", append_directory, old=write_directory),
}
