"""Finds splits such as `train` in file names, by Hugging Face's rules."""

import os
import re
from collections.abc import Sequence
from pathlib import PurePath

_SPELT = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
    "testing": "test",
    "eval": "test",
    "evaluation": "test",
}
_NUMBERED = re.compile(r"^(?P<split>.+)-\d{5}-of-\d{5}\.")
# The first words of names such as `part-00000-of-00002`, and of the files of `save_to_disk`: these are not splits.
_NO_SPLITS = {"part", "data"}
_WORDS = re.compile(r"[-_. 0-9/]+")


def file_name(split: str) -> str:
    """The split's name as part of a file name.

    Raises:
        ValueError: The name, which may come from a file, would lead to another directory.
    """
    if not split or split.startswith(".") or "/" in split or "\0" in split:
        raise ValueError(f"split {split!r} cannot be a file name; choose another name for it (--split)")
    return split


def splits_of(directory: str, files: Sequence[str]) -> dict[str, list[str]]:
    """The files of each split, in the order of the files; empty if a file belongs to no split.

    Args:
        directory: The directory of the files; names above it do not count.
        files: Their paths. `data/train-00000-of-00004.parquet`, `train.jsonl` and `val/part-3.parquet` name a split.
    """
    splits: dict[str, list[str]] = {}
    for file in files:
        name = _split_of(os.path.relpath(file, directory))
        if name is None:
            return {}
        splits.setdefault(name, []).append(file)
    return splits


def _split_of(path: str) -> str | None:
    numbered = _NUMBERED.match(os.path.basename(path))  # noqa: PTH119 - str in, str out
    if numbered and numbered["split"] not in _NO_SPLITS:
        name = numbered["split"]
        return _SPELT.get(name.lower(), name if name.isidentifier() else None)
    for part in reversed(PurePath(path).parts):
        words = [_SPELT[word] for word in _WORDS.split(part.lower()) if word in _SPELT]
        if words:
            return words[0]
    return None
