"""The rewriting commands that are killed: each makes one output of the same inputs."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

import jinx
from fault.rows import rows

COPIES = 3
# Of memory, so that everything is written twice.
_TOO_LITTLE = 1000
_KEYS = {1: ["version", "id"], 2: ["-id", "version"]}
# What a command imports is imported once, before the nursery forks.
IMPORTED = (jinx.split, jinx.concat, jinx.dedup, jinx.compact, jinx.select, jinx.shuffle, jinx.sort)


def inputs_of(out: Path) -> Path:
    """The directory of the inputs, next to that of the output."""
    return out.parent.parent / "inputs"


def prepare(out: Path) -> None:
    """Make the inputs: a pair with duplicates, a directory of shards, and Parquet, which is converted on the way."""
    place = inputs_of(out)
    place.mkdir(parents=True)
    out.parent.mkdir()
    with jinx.Writer(place / "pair.jinx", threads=1) as writer:
        for version in (1, 2, 1):
            writer.write_many(rows(version))
    with jinx.Writer(place / "shards", shard_size=8000, threads=1) as writer:
        writer.write_many(rows(3))
    jinx.convert(rows(4), place / "table.parquet")


def split(out: Path, version: int) -> None:
    jinx.split(inputs_of(out) / "pair.jinx", out, count=COPIES, seed=version, overwrite=True)


def split_to_views(out: Path, version: int) -> None:
    jinx.split(inputs_of(out) / "pair.jinx", out, count=COPIES, seed=version, overwrite=True, view=True)


def concat(out: Path, version: int) -> None:
    names = ["pair.jinx", "shards", "table.parquet"]
    jinx.concat([inputs_of(out) / name for name in names[:: 1 if version == 1 else -1]], out, overwrite=True)


def concat_to_text(out: Path, version: int) -> None:
    """Through a JINX file in a hidden directory."""
    jinx.concat(
        [inputs_of(out) / name for name in ["pair.jinx", "shards"][:: 1 if version == 1 else -1]], out, overwrite=True
    )


def select_to_parquet(out: Path, version: int) -> None:
    chosen = np.arange(version, 8, version)
    jinx.select(inputs_of(out) / "pair.jinx", out, positions=chosen, output_format="parquet", overwrite=True)


def dedup(out: Path, version: int) -> None:
    where = "version > 0" if version == 1 else "version == 1"
    jinx.dedup(inputs_of(out) / "pair.jinx", out, where=where, overwrite=True, removed=out.parent / "removed.npy")


def compact(out: Path, version: int) -> None:
    where = "version == 3" if version == 1 else "id != '3-0'"
    jinx.compact(inputs_of(out) / "shards", out, where=where, shard_size=20_000, overwrite=True)


def select(out: Path, version: int) -> None:
    chosen = np.arange(version, 8, version)
    jinx.select(inputs_of(out) / "pair.jinx", out, positions=chosen, overwrite=True)


def shuffle(out: Path, version: int) -> None:
    jinx.shuffle(inputs_of(out) / "pair.jinx", out, seed=version, overwrite=True)


def shuffle_in_two_passes(out: Path, version: int) -> None:
    jinx.shuffle(inputs_of(out) / "pair.jinx", out, seed=version, memory=_TOO_LITTLE, overwrite=True)


def sort(out: Path, version: int) -> None:
    jinx.sort(inputs_of(out) / "pair.jinx", out, by=_KEYS[version], overwrite=True)


def sort_in_two_passes(out: Path, version: int) -> None:
    jinx.sort(inputs_of(out) / "pair.jinx", out, by=_KEYS[version], memory=_TOO_LITTLE, overwrite=True)


class Command:
    """One command: its output, and what makes version 1 or 2 of it."""

    def __init__(self, file: str, write: Callable[[Path, int], None]) -> None:
        self.file = file
        self.write = write


COMMANDS = {
    "split": Command("parts", split),
    "split to views": Command("parts", split_to_views),
    "concat": Command("all.jinx", concat),
    "concat to text": Command("all.jsonl", concat_to_text),
    "select to Parquet": Command("table", select_to_parquet),
    "dedup": Command("unique.jinx", dedup),
    "compact": Command("large", compact),
    "select": Command("some.jinx", select),
    "shuffle in one pass": Command("shuffled.jinx", shuffle),
    "shuffle in two passes": Command("shuffled", shuffle_in_two_passes),
    "sort in one pass": Command("sorted", sort),
    "sort in two passes": Command("sorted.jinx", sort_in_two_passes),
}
