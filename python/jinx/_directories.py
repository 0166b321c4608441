"""Which files of a directory are its dataset, and in which format. Every reader of directories uses this."""

import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from jinx import _core
from jinx._convert.formats import FORMATS, format_of
from jinx.errors import JinxError, MismatchError, UnsupportedError

MANIFEST = "jinx.json"
_INDEX_OF_MDS = "index.json"
_SHARD = re.compile(r"shard-\d")
# Metadata files of Hugging Face `datasets`, and the manifests of JINX and MDS directories in subdirectories.
_NOTES = {"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json", MANIFEST, _INDEX_OF_MDS}
# A directory with both files of a pair is the working directory of an unfinished pipeline run; earlier versions wrote
# the second pair.
_OF_WORK = ({"CURRENT", "lock"}, {"journal.jsonl", "lock"})


def has_manifest(directory: str) -> bool:
    """Whether the directory is a JINX dataset that lists its shards: other files in it do not belong to the dataset."""
    return os.path.isfile(os.path.join(directory, MANIFEST))  # noqa: PTH113, PTH118 - str in, str out


def files_in(directory: str, format: str | None = None) -> list[tuple[str, str]]:
    """The files of a directory's dataset and their formats, in no particular order.

    If there is a manifest, these are its shards; otherwise, all files of a known format in the directory and below.
    Files with other suffixes, hidden files and directories, working directories of pipelines, and the notes that
    Hugging Face `datasets` keeps with its data do not count.

    Args:
        directory: The directory.
        format: Only files of this format.

    Raises:
        ValueError: There are files of several formats, or JINX files outside the directory's top level.
        UnsupportedError: Some files are saved views, and others are not.
        FileNotFoundError: No file has a known format.
        OSError: A directory cannot be listed.
    """
    files = _files_of_one_format(directory, format)
    if files and files[0][1] == "jinx" and not has_manifest(directory):
        refuse_views_among(directory, [path for path, _ in files])
    return files


def _files_of_one_format(directory: str, format: str | None) -> list[tuple[str, str]]:
    if format in {None, "jinx"} and has_manifest(directory):
        return _shards(directory)
    files = _walk(directory)
    if format is not None:
        files = [entry for entry in files if entry[1] == format]
    formats = sorted({kind for _, kind in files})
    if len(formats) > 1:
        raise ValueError(
            f"{directory}: the files in this directory have different formats ({_examples(directory, files)}); say "
            f"which are meant with a pattern, for instance {_pattern(files)}, or in jinx commands with "
            f"--input-format {formats[0]}"
        )
    if formats == ["jinx"]:
        shards = _shards(directory)
        if format is None:
            _refuse_deeper(directory, files)
        return shards
    if not files:
        raise FileNotFoundError(f"{directory}: no file in this directory ends in one of {', '.join(FORMATS)}")
    return files


def refuse_mixed(directory: str) -> None:
    """Refuse a directory of JINX files that also contains data which would not be read.

    Raises:
        ValueError: See `files_in`. Views among the files are found when they are opened.
    """
    if has_manifest(directory):
        return
    files = _walk(directory)
    if any(kind == "jinx" for _, kind in files):
        _files_of_one_format(directory, None)


def refuse_unlisted(directory: str) -> None:
    """Refuse to remove or replace a directory of shards in which another dataset lies.

    Shards that the manifest does not list, such as those of a writer that died, are removed with it.

    Raises:
        MismatchError: A `.jinx` file is not in the manifest and has not the name of a shard.
    """
    if not os.path.isdir(directory):  # noqa: PTH112 - str in, str out
        return
    names = [name for name in os.listdir(directory) if format_of(name) == "jinx" and not name.startswith(".")]  # noqa: PTH208 - str in, str out
    others = [name for name in names if not _SHARD.match(name)]
    if has_manifest(directory):
        listed = _names_in_manifest(directory)
        others = [name for name in others if name not in listed]
    elif len(others) == len(names):  # files with names of their own, which are the dataset
        return
    if others:
        raise MismatchError(
            f"{directory}: {min(others)} is in this directory and is another dataset, none of its shards; nothing is "
            "removed"
        )


def _names_in_manifest(directory: str) -> set[str]:
    """The names of the shards, whether or not they are there; none if the manifest is damaged."""
    import json

    try:
        with open(os.path.join(directory, MANIFEST), encoding="utf-8") as file:  # noqa: PTH118, PTH123 - str in, str out
            return {str(shard["name"]) for shard in json.load(file)["shards"]}
    except (ValueError, KeyError, TypeError):
        return set()


def refuse_views_among(place: str, files: Sequence[str]) -> None:
    """Refuse a mixture of saved views and other files, because a view may show the samples of those files again.

    Args:
        place: The directory or pattern that stands for the files.
        files: JINX files.

    Raises:
        UnsupportedError: Some files are saved views, and others are not.
    """
    of_views = [_is_view(path) for path in files]
    if len(set(of_views)) > 1:
        view, other = (os.path.basename(files[of_views.index(kind)]) for kind in (True, False))  # noqa: PTH119
        raise UnsupportedError(
            f"{place}: {view} is a saved view, which shows samples of other files, and {other} is not; name the files "
            "that are meant, or move the view to another directory"
        )


def refuse_views_of_several(files: Sequence[str]) -> None:
    """Refuse saved views among several files, which are opened as the shards of one dataset.

    Raises:
        UnsupportedError: A file is a saved view.
    """
    if len(files) > 1 and (view := next(filter(_is_view, files), None)) is not None:
        raise UnsupportedError(
            f"{view}: this is a saved view, which is opened by itself; join it with others by "
            "jinx.concat([jinx.open(path) for path in paths])"
        )


def _is_view(path: str) -> bool:
    try:
        return _core.view_footer(path) is not None
    except (JinxError, OSError):
        return False  # opening it reports the error


def _shards(directory: str) -> list[tuple[str, str]]:
    return [(path, "jinx") for path, _, _ in _core.resolve(directory)]


def _walk(directory: str) -> list[tuple[str, str]]:
    files: list[tuple[str, str]] = []
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
                files.append((path, kind))
    return files


def _refuse_endless(path: str) -> None:
    """Refuse files that may never end, or that wait for a writer.

    Raises:
        ValueError: The file is a pipe or a device.
    """
    with suppress(OSError):  # opening a broken link reports the error
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - path is a str
            raise ValueError(f"{path}: this is a pipe or a device; in a directory, regular files are read")


def _raise(error: OSError) -> NoReturn:
    """Raise the error of a directory that cannot be listed: leaving it out silently could lose data."""
    raise error


def _without_notes(names: Sequence[str]) -> list[str]:
    """The names without hidden files and files that `datasets` keeps next to its data: metadata, results of `map`."""
    has_caches = "dataset_info.json" in names
    return [
        name
        for name in names
        if not name.startswith(".") and name not in _NOTES and not (has_caches and name.startswith("cache-"))
    ]


def _refuse_deeper(directory: str, files: Sequence[tuple[str, str]]) -> None:
    """Refuse JINX files in subdirectories: only files at the top level are read.

    Raises:
        ValueError: A subdirectory holds JINX files.
    """
    top = os.path.join(directory, "")  # noqa: PTH118 - str in, str out
    deeper = sorted(path for path, _ in files if os.path.dirname(path) != os.path.dirname(top))  # noqa: PTH120
    if deeper:
        raise ValueError(
            f"{directory}: it holds JINX files itself and in subdirectories ({os.path.relpath(deeper[0], directory)}); "
            f"say which are meant with a pattern, for instance {top}*.jinx or {top}**/*.jinx"
        )


def _examples(directory: str, files: Sequence[tuple[str, str]]) -> str:
    """For each format, the name of one file and the number of others: `jsonl: a.jsonl and 3 more, jinx: b.jinx`."""
    by_format: dict[str, list[str]] = {}
    for path, kind in sorted(files):
        by_format.setdefault(kind, []).append(os.path.relpath(path, directory))
    said = ((kind, names[0], len(names) - 1) for kind, names in sorted(by_format.items()))
    return ", ".join(f"{kind}: {name}{f' and {left:,} more' if left else ''}" for kind, name, left in said)


def _pattern(files: Sequence[tuple[str, str]]) -> str:
    path, _ = min(files, key=lambda entry: (entry[1], entry[0]))
    where, name = os.path.split(path)
    return os.path.join(where, f"*{os.path.splitext(name)[1]}")  # noqa: PTH118, PTH122 - str in, str out
