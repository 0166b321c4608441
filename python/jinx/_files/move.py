"""Moves, copies and removes datasets; `move_files.rs` and `copy_files.rs` in `rust/jinx-format/src` do the work."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from jinx import _core
from jinx._directories import refuse_unlisted
from jinx._open import missing
from jinx._outputs import refuse_existing, refuse_input, refuse_within
from jinx._saved_views.bases import candidates, is_view, read_view
from jinx._saved_views.rebase import FilePlaces, bases_after_move, set_bases
from jinx._urls import is_readable, is_url
from jinx.errors import JinxError, MismatchError

if TYPE_CHECKING:
    from jinx._dataset.dataset import Dataset

_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True)
class Parts:
    """The files of a dataset.

    Attributes:
        path: The `.jinx` file or the directory.
        files: All files; the first one names the others.
        is_directory: Whether the dataset is a directory of shards.
    """

    path: str
    files: list[str]
    is_directory: bool

    @classmethod
    def of(cls, path: str) -> Self:
        """The files of the dataset `path`.

        Raises:
            FileNotFoundError: The file does not exist.
            MismatchError: The path is not a JINX dataset, or is a directory with other files.
        """
        path = path.rstrip("/") or path
        if os.path.isdir(path):
            # The temporary manifest of a writer that is adding shards, or that died while adding them.
            names = [name for name in os.listdir(path) if name != ".jinx.json.tmp"]
            others = [name for name in names if not _is_ours(name)]
            if others or not any(name.endswith(".jinx") or name == "jinx.json" for name in names):
                problem = f"it holds {min(others)!r}" if others else "there is no .jinx file in it"
                raise MismatchError(f"{path}: this directory is not a dataset of shards alone: {problem}")
            ordered = sorted(names, key=lambda name: (name != "jinx.json", name))
            return cls(path, [os.path.join(path, name) for name in ordered], True)  # noqa: FBT003
        if not os.path.lexists(path):
            raise missing(path)
        if not path.endswith(".jinx"):
            raise MismatchError(f"{path}: this is neither a .jinx file nor a directory of shards")
        sidecar = None
        with suppress(MismatchError):  # a missing sidecar only matters to callers that need it
            sidecar = _core.sidecar_of(path)
        return cls(path, [path, str(sidecar)] if sidecar else [path], False)  # noqa: FBT003

    @classmethod
    def is_dataset(cls, path: str) -> bool:
        """Whether `path` is a dataset."""
        try:
            cls.of(path)
        except (OSError, MismatchError):
            return False
        return True

    @property
    def is_view(self) -> bool:
        """Whether the path is a saved view, which shows samples of other datasets; False for an unreadable file."""
        try:
            return is_view(self.path)
        except JinxError:
            return False

    def require_sidecars(self) -> None:
        """Require that every main file has the sidecar named in its footer.

        Raises:
            MismatchError: A sidecar is missing.
        """
        for file in self.files:
            if file.endswith(".jinx"):
                _core.sidecar_of(file)


def move(source: str, target: str, *, overwrite: bool = False, moved: Mapping[str, str] = _NOTHING) -> None:
    """Move or rename a dataset; to another disk, it is copied and then removed.

    If another main file also needs the sidecar, the sidecar stays under its old name too. A moved view still finds its
    datasets.

    Args:
        source: The dataset.
        target: Its new name.
        overwrite: Replace an existing dataset with the new name.
        moved: Absolute old and new paths of datasets that were moved before, which a view may show.

    Raises:
        FileExistsError: The new name exists, and `overwrite` is not set.
        OSError: Another process is writing one of the two datasets.
        MismatchError: The sidecar is missing.
        InvalidError: The sidecar's new name is that of another dataset's sidecar.
        ValueError: The new name is that of a dataset that the view shows.
    """
    if is_readable(source) or is_readable(target):
        _move_over_network(source, target, overwrite=overwrite, moved=moved)
        return
    parts, target = _checked(source, target, overwrite=overwrite)
    new_bases = _bases_at(parts, target, moved)
    if parts.is_directory:
        _core.move_directory(parts.path, target, overwrite)
    else:
        _core.move_pair(parts.path, target, overwrite)
    if new_bases:
        set_bases(target, new_bases)


def copy(source: str, target: str, *, overwrite: bool = False, copied: Mapping[str, str] = _NOTHING) -> None:
    """Copy a dataset; the copy appears under its name when it is complete. A copy of a saved view finds its datasets.

    Args:
        source: The dataset.
        target: The name of the copy.
        overwrite: Replace an existing dataset with this name.
        copied: Absolute paths of datasets that were copied before, with the paths of their copies; a copied view shows
            the copies.

    Raises:
        FileExistsError: The new name exists, and `overwrite` is not set.
        MismatchError: A sidecar is missing, or another process changed the dataset meanwhile.
        InvalidError: The sidecar's new name is that of another dataset's sidecar.
        ValueError: The new name is that of a dataset that the view shows.
    """
    if is_readable(source) or is_readable(target):
        _copy_over_network(source, target, overwrite=overwrite, copied=copied)
        return
    parts, target = _checked(source, target, overwrite=overwrite)
    new_bases = _bases_at(parts, target, copied)
    parts.require_sidecars()
    if parts.is_directory:
        _core.copy_directory(parts.path, target, overwrite)
    else:
        sidecar = parts.files[1] if len(parts.files) > 1 else None
        _core.copy_pair(parts.path, sidecar, target, overwrite)
    if new_bases:
        set_bases(target, new_bases)


def _move_over_network(source: str, target: str, *, overwrite: bool, moved: Mapping[str, str]) -> None:
    """Move a dataset from a URL, to one, or between two: copy it, then remove the original.

    Raises:
        MismatchError: The dataset was changed while it was copied; it is not removed.
    """
    if source.rstrip("/") == target.rstrip("/"):
        raise ValueError(f"{target}: this is the dataset itself")
    if not is_readable(source):
        _copy_over_network(source, target, overwrite=overwrite, copied=moved)
        remove(source)
        return
    from jinx._files.at_urls import RemoteParts
    from jinx._object_store import ObjectStore

    store = ObjectStore()
    before = RemoteParts.of(source, store)
    _copy_over_network(source, target, overwrite=overwrite, copied=moved)
    if RemoteParts.of(source, store) != before:
        raise MismatchError(f"{source}: the dataset was changed while it was copied, so that it is not removed")
    before.remove(store)


def _copy_over_network(source: str, target: str, *, overwrite: bool, copied: Mapping[str, str]) -> None:
    """Copy a dataset from a URL, to one, or between two.

    Raises:
        ValueError: The new name is that of another kind, or a view would be at a URL and show files of this machine.
    """
    _refuse_ending(target, is_directory=not source.rstrip("/").endswith(".jinx"))
    if is_readable(source):
        from jinx._convert.convert import convert
        from jinx._open import open

        dataset = open(source)
        if dataset._definition is not None:
            dataset.save(target, overwrite=overwrite)
        else:
            convert(dataset, target, overwrite=overwrite)
        return
    parts = Parts.of(source)
    parts.require_sidecars()
    if parts.is_view:
        _opened_over(parts, copied).save(target, overwrite=overwrite)
    else:
        _core.upload(parts.path, target, overwrite, {})


def _opened_over(view: Parts, copied: Mapping[str, str]) -> "Dataset":
    """A local view, opened over copies of the datasets that it shows, where there are copies.

    Raises:
        ValueError: It shows a dataset of this machine that was not copied.
    """
    from jinx._open import open

    if view.is_directory:
        return open(view.path)
    places: list[str] = []
    for base in read_view(view.path)["base"]:
        known = candidates(base, os.path.abspath(view.path))
        place = next((copied[path] for path in known if path in copied), base.get("location"))
        if place is None:
            raise ValueError(
                f"{view.path}: a view at a URL shows datasets at URLs, and {known[0]} is on this machine; copy both in "
                "one call, jinx cp DATASET VIEW URL/, or tell the view where it is: jinx rebase VIEW URL"
            )
        places.append(place)
    return open(view.path, base=places)


def remove(path: str) -> None:
    """Remove a dataset with all its files, except a sidecar that another main file needs and the target of a link.

    Raises:
        FileNotFoundError: There is no such dataset.
        MismatchError: Another dataset lies in the directory.
        OSError: Another process is writing it.
    """
    if is_readable(path):
        from jinx._files.at_urls import remove as remove_at_url

        remove_at_url(path)
        return
    parts = Parts.of(path)
    if parts.is_directory and os.path.islink(parts.path):
        os.unlink(parts.path)
        return
    if parts.is_directory:
        refuse_unlisted(parts.path)
        _core.remove_directory(parts.path)
    else:
        _core.remove_pair(parts.path)


def _bases_at(parts: Parts, target: str, moved: Mapping[str, str]) -> list[FilePlaces] | None:
    """The paths to the bases of a view for its new name; None for other datasets."""
    if not parts.is_view:
        return None
    files = bases_after_move(parts.path, target, moved)
    shown = [base for file in files for base in file.places if base is not None and not is_url(base)]
    refuse_input(target, shown)
    if os.path.lexists(target):  # a shard in a directory that the view shows
        refuse_within(target, shown)
    return files


def _refuse_ending(target: str, *, is_directory: bool) -> None:
    if target.endswith(".jinx") == is_directory:
        kind, must = ("directory", "must not") if is_directory else (".jinx file", "must")
        raise ValueError(f"{target}: the new name of a {kind} {must} end in .jinx")


def _checked(source: str, target: str, *, overwrite: bool) -> tuple[Parts, str]:
    parts, target = Parts.of(source), target.rstrip("/") or target
    _refuse_ending(target, is_directory=parts.is_directory)
    directory = os.path.dirname(os.path.abspath(target))
    if not os.path.isdir(directory):
        raise FileNotFoundError(f"{directory}: no such directory")
    if os.path.lexists(target) and os.path.samefile(parts.path, target):
        raise ValueError(f"{target}: this is the dataset itself")
    renamed = [("", target)] if parts.is_directory else _renamed(parts, target)
    if not parts.is_directory:
        parts.require_sidecars()
    if len(renamed) > 1:
        _core.require_own_sidecar(target)
    if not overwrite:
        for _, new in renamed:
            refuse_existing(new)
    refuse_unlisted(target)
    return parts, target


def _renamed(parts: Parts, target: str) -> list[tuple[str, str]]:
    """The files of a pair to rename, with their new names."""
    names = zip(parts.files, [target, f"{target[:-5]}.binx"], strict=False)
    # The sidecar of a renamed main file may already have the new name.
    return [(file, new) for file, new in names if os.path.abspath(file) != os.path.abspath(new)]


def _is_ours(name: str) -> bool:
    return name == "jinx.json" or (name.endswith((".jinx", ".binx", ".jinx.json")) and not name.startswith("."))
