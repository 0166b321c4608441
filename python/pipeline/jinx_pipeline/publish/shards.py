"""Makes directories of shards from directories of samples: groups them by size, without reading samples."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import jinx

# If no shard size is requested, each part of at least this size becomes a shard unchanged, so that nothing is written
# twice. Smaller parts are joined, because shards of a few megabytes are slow to open and to list.
SMALLEST_SHARD: Final = 16_000_000


def groups_of(sizes: Sequence[int], shard_size: int | None) -> Iterator[range]:
    """For each shard, the parts that it consists of; this depends only on their sizes.

    If a size is requested, a shard holds as many parts as fit into it. Parts that do not fill a shard alone are then
    written twice, by the task and into the shard. Blocks as large as shards would avoid the second write but cost more:
    the rows of a block are in memory until it is written, and are lost with its worker.

    Args:
        sizes: The size of each part in bytes.
        shard_size: The requested size; None: a shard ends as soon as it has `SMALLEST_SHARD`.
    """
    first = size = 0
    for number, added in enumerate(sizes):
        is_full = size >= SMALLEST_SHARD if shard_size is None else size + added > shard_size
        if number > first and is_full:
            yield range(first, number)
            first, size = number, 0
        size += added
    if first < len(sizes):
        yield range(first, len(sizes))


def write_shard(path: Path, parts: Iterable[str | Path], writer: Mapping[str, Any]) -> "jinx.WriteResult":
    """Copy the stored samples of parts to one directory."""
    with jinx.Writer(path, overwrite=True, **writer) as output:
        for part in parts:
            output.copy(jinx.open(part))
        return output.close()


def write_empty(path: Path, base: "jinx.Dataset | None", writer: Mapping[str, Any]) -> "jinx.WriteResult":
    """Write a directory without samples that keeps the column descriptions of a base."""
    with jinx.Writer(path, overwrite=True, **writer) as output:
        if base is not None:
            output.copy(base, [])
        return output.close()


def place_of(directory: Path, number: int, count: int) -> Path:
    """The path to which `assemble` moves a part."""
    return directory / f".part-{number:05}-of-{count:05}"


def is_assembled(directory: Path) -> bool:
    """Whether an earlier call of `assemble` made the dataset; temporary directories may still exist."""
    return (directory / "jinx.json").exists()


def assemble(directory: Path, parts: Sequence[Path]) -> None:
    """Move parts into a directory and merge them into one dataset; resumes an interrupted call.

    Args:
        directory: The dataset.
        parts: Directories on the same disk, in order; those that are already moved need not exist.
    """
    if not is_assembled(directory):
        directory.mkdir(parents=True, exist_ok=True)
        for number, part in enumerate(parts):
            place = place_of(directory, number, len(parts))
            if not place.exists():
                part.rename(place)
        jinx.merge(directory)
    for leftover in directory.glob(".part-*"):
        shutil.rmtree(leftover, ignore_errors=True)


def link_dataset(source: Path, target: Path) -> None:
    """Hard-link the files of a directory of shards into a new directory, or copy them if links are not supported."""
    building = target.with_name(f"{target.name}.new")
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    for file in source.iterdir():
        if file.name == "jinx.json" or not file.is_file():
            continue
        try:
            os.link(file, building / file.name)
        except OSError:
            shutil.copyfile(file, building / file.name)
    shutil.copyfile(source / "jinx.json", building / "jinx.json")
    building.rename(target)


def can_rename(folder: Path, target: Path) -> bool:
    """Whether files can be renamed from one directory to another."""
    probe = folder / f".{target.name}.probe"
    probe.touch()
    try:
        probe.rename(target / probe.name)
    except OSError:
        return False
    finally:
        probe.unlink(missing_ok=True)
        (target / probe.name).unlink(missing_ok=True)
    return True
