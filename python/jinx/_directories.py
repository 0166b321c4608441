"""What a directory stands for: one dataset of one format. Every reader of directories asks here."""

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from jinx import _core
from jinx._convert.formats import FORMATS, format_of

MANIFEST = "jinx.json"
_INDEX_OF_MDS = "index.json"
# Of Hugging Face `datasets`, and the manifests of JINX and MDS directories below this one.
_NOTES = {"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json", MANIFEST, _INDEX_OF_MDS}
# A directory with both of either pair holds the unfinished work of a pipeline; the second one is of earlier versions.
_OF_WORK = ({"CURRENT", "lock"}, {"journal.jsonl", "lock"})


def has_manifest(directory: str) -> bool:
    """Whether the directory is a JINX dataset that lists its shards; other files in it are not part of the dataset."""
    return os.path.isfile(os.path.join(directory, MANIFEST))  # noqa: PTH113, PTH118 - str in, str out


def files_in(directory: str, format: str | None = None) -> list[tuple[str, str]]:
    """The files of a directory's dataset and their formats, in no order.

    With a manifest these are its shards. Without one they are all files of a known format in the directory and below.
    Files of other suffixes, hidden files and directories, working directories of pipelines, and the notes that
    Hugging Face `datasets` keeps with its data do not count.

    Args:
        directory: The directory.
        format: Only files of this format.

    Raises:
        ValueError: There are files of several formats, or JINX files outside the directory's top level.
        FileNotFoundError: No file has a known format.
        OSError: A directory cannot be listed.
    """
    if format in {None, "jinx"} and has_manifest(directory):
        return _shards(directory)
    found = _walk(directory)
    if format is not None:
        found = [entry for entry in found if entry[1] == format]
    formats = sorted({kind for _, kind in found})
    if len(formats) > 1:
        raise ValueError(
            f"{directory}: the files in this directory have different formats ({_examples(directory, found)}); say "
            f"which are meant with a pattern, for instance {_pattern(found)}, or in jinx commands with "
            f"--input-format {formats[0]}"
        )
    if formats == ["jinx"]:
        shards = _shards(directory)
        if format is None:
            _refuse_deeper(directory, found)
        return shards
    if not found:
        raise FileNotFoundError(f"{directory}: no file in this directory ends in one of {', '.join(FORMATS)}")
    return found


def refuse_mixed(directory: str) -> None:
    """Refuse a directory of JINX files that also holds data which would not be read.

    Raises:
        ValueError: As `files_in`.
    """
    if has_manifest(directory):
        return
    found = _walk(directory)
    if any(kind == "jinx" for _, kind in found):
        files_in(directory)


def _shards(directory: str) -> list[tuple[str, str]]:
    return [(path, "jinx") for path, _, _ in _core.resolve(directory)]


def _walk(directory: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for where, directories, names in os.walk(directory, onerror=_raise):
        if any(marks.issubset(names) for marks in _OF_WORK):
            directories.clear()
            continue
        directories[:] = [name for name in directories if not name.startswith(".")]
        for name in _without_notes(names):
            kind = format_of(name)
            if kind is not None:
                path = os.path.join(where, name)  # noqa: PTH118 - str in, str out
                _refuse_endless(path)
                found.append((path, kind))
    return found


def _refuse_endless(path: str) -> None:
    """Refuse what is read for ever, or until somebody writes.

    Raises:
        ValueError: It is a pipe or a device.
    """
    with suppress(OSError):  # a broken link is an error when it is opened
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - str in
            raise ValueError(f"{path}: this is a pipe or a device; in a directory, regular files are read")


def _raise(error: OSError) -> NoReturn:
    """What cannot be listed may hold data: it is never left out in silence."""
    raise error


def _without_notes(names: Sequence[str]) -> list[str]:
    """The names without hidden ones, and those that `datasets` keeps next to its data: notes, results of `map`."""
    has_caches = "dataset_info.json" in names
    return [
        name
        for name in names
        if not name.startswith(".") and name not in _NOTES and not (has_caches and name.startswith("cache-"))
    ]


def _refuse_deeper(directory: str, found: Sequence[tuple[str, str]]) -> None:
    """Refuse JINX files in subdirectories: only those at the top are read.

    Raises:
        ValueError: There are some.
    """
    top = os.path.join(directory, "")  # noqa: PTH118 - str in, str out
    deeper = sorted(path for path, _ in found if os.path.dirname(path) != os.path.dirname(top))  # noqa: PTH120
    if deeper:
        raise ValueError(
            f"{directory}: it holds JINX files itself and in subdirectories ({os.path.relpath(deeper[0], directory)}); "
            f"say which are meant with a pattern, for instance {top}*.jinx or {top}**/*.jinx"
        )


def _examples(directory: str, found: Sequence[tuple[str, str]]) -> str:
    """A file of each format by name, and how many more there are: `jsonl: a.jsonl and 3 more, jinx: b.jinx`."""
    by_format: dict[str, list[str]] = {}
    for path, kind in sorted(found):
        by_format.setdefault(kind, []).append(os.path.relpath(path, directory))
    said = ((kind, names[0], len(names) - 1) for kind, names in sorted(by_format.items()))
    return ", ".join(f"{kind}: {name}{f' and {more:,} more' if more else ''}" for kind, name, more in said)


def _pattern(found: Sequence[tuple[str, str]]) -> str:
    path, _ = min(found, key=lambda entry: (entry[1], entry[0]))
    where, name = os.path.split(path)
    return os.path.join(where, f"*{os.path.splitext(name)[1]}")  # noqa: PTH118, PTH122 - str in, str out
