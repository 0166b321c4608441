"""What is measured: one case is the same job for JINX and for `datasets`, and both must give the same answer."""

import random
from collections.abc import Callable
from dataclasses import dataclass

import datasets

import jinx
from bench.data import Files

RANDOM_READS = 500


@dataclass(frozen=True)
class Case:
    """One job. Both callables open the data, do the job and return its answer."""

    name: str
    ours: Callable[[Files], object]
    peer: Callable[[Files], object]


def _rows(files: Files) -> datasets.Dataset:
    """The peer's dataset, with images as bytes: neither side decodes pictures."""
    return datasets.load_from_disk(str(files.arrow)).cast_column("image", datasets.Image(decode=False))


def _order(count: int) -> list[int]:
    return random.Random(5).sample(range(count), min(RANDOM_READS, count))


def _ours_open(files: Files) -> int:
    return len(jinx.open(str(files.jinx)))


def _peer_open(files: Files) -> int:
    return len(_rows(files))


def _ours_field(files: Files) -> int:
    return sum(sample["width"] for sample in jinx.open(str(files.jinx)))


def _peer_field(files: Files) -> int:
    return sum(row["width"] for row in _rows(files).select_columns(["width"]))


def _ours_all(files: Files) -> int:
    samples = (dict(sample) for sample in jinx.open(str(files.jinx)))
    return sum(len(sample["image"]) + len(sample["messages"]) for sample in samples)


def _peer_all(files: Files) -> int:
    return sum(len(row["image"]["bytes"]) + len(row["messages"]) for row in _rows(files))


def _ours_random(files: Files) -> int:
    ds = jinx.open(str(files.jinx))
    return sum(len(ds[index]["image"]) for index in _order(len(ds)))


def _peer_random(files: Files) -> int:
    rows = _rows(files).select_columns(["image"])
    return sum(len(rows[index]["image"]["bytes"]) for index in _order(len(rows)))


CASES = (
    Case("open", _ours_open, _peer_open),
    Case("one field of all samples, in order", _ours_field, _peer_field),
    Case("all fields of all samples, in order", _ours_all, _peer_all),
    Case(f"image bytes of {RANDOM_READS} samples at random", _ours_random, _peer_random),
)
