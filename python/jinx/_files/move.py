"""Moving, copying and removing whole datasets, in an order that never leaves half of one."""

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from jinx import _core
from jinx._open import missing
from jinx._outputs import refuse_existing
from jinx._views.rebase import bases_after_move, set_bases
from jinx.errors import JinxError, MismatchError

_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True)
class Parts:
    """The files of a dataset.

    Attributes:
        path: The `.jinx` file or the directory.
        files: All files; the first is the one that makes the others a dataset.
        is_directory: Whether it is a directory of shards.
    """

    path: str
    files: list[str]
    is_directory: bool

    @classmethod
    def of(cls, path: str) -> Self:
        """The files of the dataset `path`.

        Raises:
            FileNotFoundError: The file does not exist.
            MismatchError: It is not a JINX dataset, or a directory that holds other files too.
        """
        path = path.rstrip("/") or path
        if os.path.isdir(path):
            names = os.listdir(path)
            others = [name for name in names if not _is_ours(name)]
            if others or not any(name.endswith(".jinx") or name == "jinx.json" for name in names):
                what = f"it holds {min(others)!r}" if others else "there is no .jinx file in it"
                raise MismatchError(f"{path}: this directory is not a dataset of shards alone: {what}")
            ordered = sorted(names, key=lambda name: (name != "jinx.json", name))
            return cls(path, [os.path.join(path, name) for name in ordered], True)  # noqa: FBT003
        if not os.path.lexists(path):
            raise missing(path)
        if not path.endswith(".jinx"):
            raise MismatchError(f"{path}: this is neither a .jinx file nor a directory of shards")
        sidecar = None
        with suppress(MismatchError):  # it is missing, which matters only to those that need it
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
        """Whether it is a saved view, which shows samples of other datasets; a file that cannot be read is none."""
        try:
            return not self.is_directory and _core.view_footer(self.path) is not None
        except JinxError:
            return False

    def require_sidecars(self) -> None:
        """Every main file has the sidecar that its footer names.

        Raises:
            MismatchError: One is missing.
        """
        for file in self.files:
            if file.endswith(".jinx"):
                _core.sidecar_of(file)

    def needed(self) -> set[str]:
        """The sidecar, if another main file of the directory needs it too."""
        sidecars = [] if self.is_directory else self.files[1:]
        return {file for file in sidecars if _core.other_owner(file, self.path)}


def move(source: str, target: str, *, overwrite: bool = False, moved: Mapping[str, str] = _NOTHING) -> None:
    """Give a dataset another name; on another disk it is copied, then removed.

    A sidecar that another main file needs too keeps its old name as well. A saved view still finds its datasets.

    Args:
        source: The dataset.
        target: Its new name.
        overwrite: Replace what has the new name.
        moved: Old and new paths, absolute, of datasets that were moved before: a view may show them.

    Raises:
        FileExistsError: The new name exists, and `overwrite` is not set.
        MismatchError: The sidecar is missing.
        InvalidError: The sidecar's new name is that of another dataset's sidecar.
    """
    parts, target = _checked(source, target, overwrite=overwrite)
    bases = bases_after_move(parts.path, target, moved) if parts.is_view else []
    _move_files(parts, target, overwrite=overwrite)
    if bases:
        set_bases(target, bases)


def _move_files(parts: Parts, target: str, *, overwrite: bool) -> None:
    if os.stat(parts.path).st_dev != os.stat(os.path.dirname(os.path.abspath(target))).st_dev:
        _copy_files(parts, target, overwrite=overwrite)
        remove(parts.path)
        return
    stays = parts.needed()
    if parts.is_directory:
        _move_directory(parts.path, target)
        return
    spare, replaced = _second_name(target)
    # The sidecar has both names while the main file changes its own, so that it is never without one.
    linked: list[str] = []
    for file, new in _renamed(parts, target)[1:]:
        temporary = _hidden(target, _identity(parts.path) or "moved")
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        try:
            _link(file, temporary)
            linked.append(file)
        except OSError:  # a file system without hard links
            (shutil.copy2 if file in stays else os.rename)(file, temporary)
        os.replace(temporary, new)
    _rename(parts.path, target)
    for file in linked:
        if file not in stays:
            os.unlink(file)
    kept = [os.path.abspath(file) for file in Parts.of(target).files]
    for file in [*spare, *replaced]:
        if os.path.abspath(file) not in kept:
            os.unlink(file)


def _second_name(target: str) -> tuple[list[str], list[str]]:
    """Give the sidecar of the pair to be replaced a second name, under which readers and `jinx clean` find it.

    While the files are replaced, the old main file may have the new sidecar next to it. Returns the second name and
    the sidecar, both of which are removed in the end.
    """
    if not os.path.lexists(target):
        return [], []
    old = Parts.of(target)
    if old.is_directory:
        raise IsADirectoryError(f"{target}: this is a directory; a pair cannot replace it")
    replaced = [file for file in old.files[1:] if file not in old.needed()]
    spare: list[str] = []
    for file in replaced:
        if os.path.abspath(file) == os.path.abspath(f"{target[:-5]}.binx"):
            spare.append(_hidden(target, _identity(target) or "old"))
            with suppress(FileNotFoundError):
                os.unlink(spare[0])
            try:
                _link(file, spare[0])
            except OSError:  # a file system without hard links
                shutil.copy2(file, spare[0])
    return spare, replaced


def _hidden(main: str, tag: str) -> str:
    """A name of the sidecar of `main` that its readers try too, if the tag is the dataset's id."""
    directory, stem = os.path.split(main[:-5])
    return os.path.join(directory, f".{stem}.binx.{tag}")


def _identity(main: str) -> str:
    """The dataset's id; empty if it has none, or is damaged."""
    try:
        return _core.Reader([main])._identities()[0][1]
    except (JinxError, OSError):
        return ""


def _move_directory(source: str, target: str) -> None:
    """Rename a directory; one that is replaced is first moved aside, where `jinx clean` finds it again."""
    aside = None
    if os.path.lexists(target):
        Parts.of(target)
        parent, name = os.path.split(os.path.abspath(target))
        aside = os.path.join(parent, f".{name}.tmp.old")
        os.rename(target, aside)
    try:
        _rename(source, target)
    except OSError:
        if aside is not None:
            os.rename(aside, target)
        raise
    if aside is not None:
        shutil.rmtree(aside)


def _rename(file: str, new: str) -> None:
    """Rename; a relative link still leads to its file."""
    if not os.path.islink(file):
        os.replace(file, new)
        return
    temporary = os.path.join(os.path.dirname(new), f".{os.path.basename(new)}.moved")
    with suppress(FileNotFoundError):
        os.unlink(temporary)
    _link(file, temporary)
    os.replace(temporary, new)
    os.unlink(file)


def _link(file: str, new: str) -> None:
    """Give a file a second name; of a symbolic link, make one that leads to the same file."""
    if not os.path.islink(file):
        os.link(file, new)
        return
    to = os.readlink(file)
    if not os.path.isabs(to):
        # Directories of the path may be links too, and `..` leads out of what they name.
        there, here = (os.path.realpath(os.path.dirname(os.path.abspath(name))) for name in (file, new))
        to = os.path.relpath(os.path.join(there, to), here)
    os.symlink(to, new)


def copy(source: str, target: str, *, overwrite: bool = False, copied: Mapping[str, str] = _NOTHING) -> None:
    """Copy a dataset; the copy appears under its name when it is complete. A copy of a saved view finds its datasets.

    Args:
        source: The dataset.
        target: The name of the copy.
        overwrite: Replace what has this name.
        copied: Paths, absolute, of datasets that were copied before, and of their copies, which a copied view shows.

    Raises:
        FileExistsError: The new name exists, and `overwrite` is not set.
        MismatchError: A sidecar is missing.
        InvalidError: The sidecar's new name is that of another dataset's sidecar.
    """
    parts, target = _checked(source, target, overwrite=overwrite)
    bases = bases_after_move(parts.path, target, copied) if parts.is_view else []
    _copy_files(parts, target, overwrite=overwrite)
    if bases:
        set_bases(target, bases)


def _copy_files(parts: Parts, target: str, *, overwrite: bool) -> None:
    parts.require_sidecars()
    if parts.is_directory:
        _core.copy_directory(parts.files, target, overwrite)
    else:
        sidecar = parts.files[1] if len(parts.files) > 1 else None
        _core.copy_pair(parts.path, sidecar, target, overwrite)


def remove(path: str) -> None:
    """Remove a dataset with all its files; a sidecar that another main file needs is kept.

    Raises:
        FileNotFoundError: There is no such dataset.
    """
    parts = Parts.of(path)
    stays = parts.needed()
    for file in parts.files:
        if file not in stays:
            os.unlink(file)
    if parts.is_directory:
        os.rmdir(parts.path)


def _checked(source: str, target: str, *, overwrite: bool) -> tuple[Parts, str]:
    parts, target = Parts.of(source), target.rstrip("/") or target
    if not parts.is_directory and not target.endswith(".jinx"):
        raise ValueError(f"{target}: the new name of a .jinx file must end in .jinx")
    if parts.is_directory and target.endswith(".jinx"):
        raise ValueError(f"{target}: the new name of a directory must not end in .jinx")
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
    return parts, target


def _renamed(parts: Parts, target: str) -> list[tuple[str, str]]:
    """The files of a pair that get another name, and their names."""
    names = zip(parts.files, [target, f"{target[:-5]}.binx"], strict=False)
    # The sidecar of a renamed main file may have the name already.
    return [(file, new) for file, new in names if os.path.abspath(file) != os.path.abspath(new)]


def _is_ours(name: str) -> bool:
    return name == "jinx.json" or (name.endswith((".jinx", ".binx", ".jinx.json")) and not name.startswith("."))
