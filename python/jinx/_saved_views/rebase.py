"""`jinx.rebase`: changes where a saved view finds its bases, after they or the view moved."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jinx import _core
from jinx._arguments import encodable
from jinx._core import Reader
from jinx._saved_views.bases import Base, ViewFooter, candidates, footer_of, places
from jinx._saved_views.open import Path, absolute_paths, open_base
from jinx._urls import is_url
from jinx.errors import JinxError


class _File(NamedTuple):
    """The file of a view, or a shard of a directory of views."""

    path: str
    file: Reader
    footer: ViewFooter


class FilePlaces(NamedTuple):
    """The new locations of a file's bases; None for a base that has not moved.

    Attributes:
        name: The name of the file.
        id: Its id.
        places: Paths and URLs.
    """

    name: str
    id: str
    places: list[str | None]


def rebase(view: Path, new: Path | Sequence[Path] | Mapping[Any, Path]) -> None:
    """Tell a saved view the new places of its datasets, after they moved.

    The view is rewritten in one step, and only these places change. Each new path is opened first: it must hold the
    dataset that the view was saved over.

        jinx.rebase("good.jinx", "/data/laion.jinx")

    A URL becomes the `location` of a dataset, next to its paths. It is not opened: the dataset there is compared when
    the view is.

        jinx.rebase("good.jinx", "s3://bucket/laion.jinx")

    Args:
        view: The saved view.
        new: A path or URL for each dataset that the view shows, in the order in which `jinx info` names them; or a dict
            of old and new places, for some of them.

    Raises:
        MismatchError: `view` is not a saved view, or a new path does not hold the dataset that the view shows.
        KeyError: The view shows nothing at one of the old places.
        ValueError: There are more or fewer places than datasets, or a URL is malformed.
    """
    name = encodable("the view", os.fsdecode(view))
    renamed: list[FilePlaces] = []
    checked: set[str] = set()
    for path, file, footer in _files_of(name):
        bases = footer["base"]
        new_places = _renamed(name, bases, new) if isinstance(new, Mapping) else _listed(name, bases, new)
        for i, (base, place) in enumerate(zip(bases, new_places, strict=True)):
            # The shards of a directory usually have the same bases.
            key = json.dumps([base, place])
            if place is not None and not is_url(place) and key not in checked:
                open_base(file, path, i, base, [place])._close()
                checked.add(key)
        renamed.append(FilePlaces(os.path.basename(path), footer["id"], new_places))  # noqa: PTH119
    set_bases(name, renamed)


def _files_of(view: str) -> list[_File]:
    """The files of a view.

    Raises:
        MismatchError: It is not a saved view.
    """
    file = Reader(location=view)
    files = [file._derive(rows=rows) for rows in _core.view_files(file)] if file._is_saved_view() else [file]
    # A relative path of a base starts at the directory in the view's name, even if that is a link.
    name = os.path.join(view, "shard") if os.path.isdir(view) else view  # noqa: PTH112, PTH118
    folder = os.path.dirname(name)  # noqa: PTH120
    return [
        _File(os.path.join(folder, os.path.basename(shard._shard_paths[0])), shard, footer_of(shard))  # noqa: PTH118, PTH119
        for shard in files
    ]


def _listed(view: str, bases: Sequence[Base], new: Path | Sequence[Path]) -> list[str | None]:
    given = absolute_paths(new)
    if len(given) != len(bases):
        raise ValueError(f"{view}: this view shows {len(bases)} datasets; {len(given)} paths were given")
    return [*given]


def _renamed(view: str, bases: Sequence[Base], new: Mapping[Any, Path]) -> list[str | None]:
    """The new path of each base; None for bases that have not moved."""
    renamed: list[str | None] = [None] * len(bases)
    for old, place in new.items():
        (before,), (after,) = absolute_paths(old), absolute_paths(place)
        matching = [i for i, base in enumerate(bases) if before in (*candidates(base, view), base.get("location"))]
        if not matching:
            shown = ", ".join((*candidates(base, view), base.get("location", ""))[0] for base in bases)
            raise KeyError(f"{view}: this view shows nothing at {before}; it shows {shown}")
        for i in matching:
            renamed[i] = after
    return renamed


def bases_after_move(view: str, target: str, moved: Mapping[str, str]) -> list[FilePlaces]:
    """The paths of the bases of a view that is about to become `target`; None for a base that only has a URL.

    Args:
        view: The saved view.
        target: Its new name.
        moved: Old and new paths of datasets that were moved or copied together with it.
    """
    files: list[FilePlaces] = []
    for path, file, footer in _files_of(view):
        name = os.path.basename(path)  # noqa: PTH119
        after = os.path.join(target, name) if os.path.isdir(view) else target  # noqa: PTH112, PTH118
        new_places: list[str | None] = []
        for i, base in enumerate(footer["base"]):
            if "path" not in base:
                new_places.append(None)
                continue
            before = candidates(base, path)
            together = [place for old in before for place in _followed(old, moved)]
            found = _first(file, path, (i, base), [*together, *before, *candidates(base, after)])
            new_places.append(found or before[0])
        files.append(FilePlaces(name, footer["id"], new_places))
    return files


def set_bases(view: str, files: Sequence[FilePlaces]) -> None:
    """Write the locations of the bases into the files of a view.

    Raises:
        MismatchError: Another dataset has replaced the view.
    """
    if not os.path.isdir(view):  # noqa: PTH112
        [(_, id_, new_places)] = files
        _core.view_set_paths(view, id_, json.dumps(_entries(view, new_places), ensure_ascii=False))
        return
    shards = [
        (name, id_, _entries(os.path.join(view, name), new_places))  # noqa: PTH118
        for name, id_, new_places in files
    ]
    _core.view_directory_set_paths(view, json.dumps(shards, ensure_ascii=False))


def _entries(view: str, new_places: Sequence[str | None]) -> list[str | tuple[str, str] | None]:
    return [place if place is None or is_url(place) else places(place, view) for place in new_places]


def _followed(path: str, moved: Mapping[str, str]) -> list[str]:
    """The new path of a file or directory that was moved, alone or with the directory that contains it."""
    return [
        new + path[len(old) :]
        for old, new in moved.items()
        if path == old or path.startswith(old.rstrip(os.sep) + os.sep)
    ]


def _first(file: Reader, view: str, base: tuple[int, Base], paths: Sequence[str]) -> str | None:
    """The first of the paths at which the base exists."""
    for path in paths:
        try:
            open_base(file, view, *base, [path])._close()
        except (JinxError, OSError):
            continue
        return path
    return None
