"""`jinx.rebase`: changes the paths of bases in a saved view, after the bases or the view moved."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from jinx import _core
from jinx._arguments import encodable
from jinx._core import Reader
from jinx._views.bases import Base, candidates, footer_of, places
from jinx._views.open import Path, absolute_paths, open_base
from jinx.errors import JinxError


def rebase(view: Path, new: Path | Sequence[Path] | Mapping[Any, Path]) -> None:
    """Tell a saved view the new places of its datasets, after they moved.

    The view is rewritten in one step, and only these places change. Each new place is opened first: it must hold the
    dataset that the view was saved over.

        jinx.rebase("good.jinx", "/data/laion.jinx")

    Args:
        view: The saved view.
        new: A path for each dataset that the view shows, in the order in which `jinx info` names them; or a dict of old
            and new paths, for some of them.

    Raises:
        MismatchError: `view` is not a saved view, or a new place does not hold the dataset that the view shows.
        KeyError: The view shows nothing at one of the old paths.
        ValueError: There are more or fewer paths than datasets.
    """
    name = encodable("the view", os.fsdecode(view))
    file = Reader([name])
    footer = footer_of(file)
    bases = footer["base"]
    if isinstance(new, Mapping):
        new_paths = _renamed(name, bases, new)
    else:
        given = absolute_paths(new)
        if len(given) != len(bases):
            raise ValueError(f"{name}: this view shows {len(bases)} datasets; {len(given)} paths were given")
        new_paths = list(given)
    for i, (base, path) in enumerate(zip(bases, new_paths, strict=True)):
        if path is not None:
            open_base(file, name, i, base, [path])._close()
    entries = [None if path is None else places(path, name) for path in new_paths]
    _core.view_set_paths(name, footer["id"], json.dumps(entries, ensure_ascii=False))


def _renamed(view: str, bases: Sequence[Base], new: Mapping[Any, Path]) -> list[str | None]:
    """The new path of each base; None for bases that stay."""
    paths: list[str | None] = [None] * len(bases)
    for old, path in new.items():
        (before,), (after,) = absolute_paths(old), absolute_paths(path)
        matching = [i for i, base in enumerate(bases) if before in candidates(base, view)]
        if not matching:
            shown = ", ".join((*candidates(base, view), base.get("location", ""))[0] for base in bases)
            raise KeyError(f"{view}: this view shows nothing at {before}; it shows {shown}")
        for i in matching:
            paths[i] = after
    return paths


def bases_after_move(view: str, target: str, moved: Mapping[str, str]) -> tuple[str, list[str | None]]:
    """The id of a view that is about to become `target`, and the places of its bases; None for a base with only a URL.

    Args:
        view: The saved view.
        target: Its new name.
        moved: Old and new paths of datasets that were moved or copied together with it.
    """
    file = Reader([view])
    footer = footer_of(file)
    paths: list[str | None] = []
    for i, base in enumerate(footer["base"]):
        if "path" not in base:
            paths.append(None)
            continue
        before = candidates(base, view)
        together = [place for path in before for place in _followed(path, moved)]
        paths.append(_first(file, view, (i, base), [*together, *before, *candidates(base, target)]) or before[0])
    return footer["id"], paths


def set_bases(view: str, id_: str, paths: Sequence[str | None]) -> None:
    """Write the paths of the bases of the view with this id; None for bases that stay.

    Raises:
        MismatchError: Another dataset has replaced the view.
    """
    entries = [None if path is None else places(path, view) for path in paths]
    _core.view_set_paths(view, id_, json.dumps(entries, ensure_ascii=False))


def _followed(path: str, moved: Mapping[str, str]) -> list[str]:
    """The new path of a file or directory that was moved, itself or with the directory that holds it."""
    return [
        new + path[len(old) :]
        for old, new in moved.items()
        if path == old or path.startswith(old.rstrip(os.sep) + os.sep)
    ]


def _first(file: Reader, view: str, base: tuple[int, Base], paths: Sequence[str]) -> str | None:
    """The first place that holds a base."""
    for path in paths:
        try:
            open_base(file, view, *base, [path])._close()
        except (JinxError, OSError):
            continue
        return path
    return None
