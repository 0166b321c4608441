"""Checks the path of an output before any work, so that problems are reported at once."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import jinx
from jinx._outputs import refuse_existing
from jinx_pipeline.publish.identity import identity_of
from jinx_pipeline.recipe.export import Export
from jinx_pipeline.store.file_lock import LockedError
from jinx_pipeline.store.lease import lock_at
from jinx_pipeline.store.mirror import is_remote, mirrored, shown

# File systems allow 255 bytes; the hidden files of an output add the run's id, dots and a suffix to its name.
_MAX_NAME_BYTES = 255 - 28
_ADVICE = "remove it, or choose another name"


def refuse_place(export: Export) -> None:
    """Refuse an output that could not be written after all the work; nothing is changed.

    Raises:
        FileExistsError: The path exists, and may not be replaced.
        OSError: Its directory is missing or not writable.
        ValueError: The existing path cannot be replaced: a directory instead of a file, or one with other files.
    """
    if is_remote(export.path):
        _refuse_remote(export)
        return
    path = Path(export.path)
    if export.append:
        refuse_no_directory_of_shards(export)
    elif not export.overwrite:
        refuse_existing(export.path)
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ValueError(f"{path}: this is not a regular file, and is never replaced; choose another name")
    if export.kind in {"jinx", "view"}:
        # Opening a writer checks everything that a writer needs.
        jinx.Writer(path, overwrite=True).abort()
        return
    if export.kind == "mds":
        if path.exists() and not path.is_dir():
            raise ValueError(f"{path}: this is a file, and MDS is a directory; {_ADVICE}")
    elif path.is_dir():
        raise ValueError(f"{path}: this is a directory, and the output is a file; {_ADVICE}")
    refuse_folder_of(path)


def refuse_below_file(path: str) -> None:
    """Refuse an output or working directory with a file among its parent directories.

    Raises:
        NotADirectoryError: A parent is a file.
    """
    for folder in () if is_remote(path) else Path(path).parents:
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(f"{path}: {folder} is a file, not a directory; choose another name")


def refuse_long_name(path: str) -> None:
    """Refuse a name that leaves no room for the names of hidden files next to it.

    Raises:
        ValueError: It is too long.
    """
    if not is_remote(path) and len(os.fsencode(Path(path).name)) > _MAX_NAME_BYTES:
        raise ValueError(f"{path}: the name is too long: at most {_MAX_NAME_BYTES} bytes")


def refuse_around_work_dir(path: str, work_dir: Path) -> None:
    """Refuse an output that would replace the working directory of its run.

    Raises:
        ValueError: The output is the working directory, or it lies in the output.
    """
    folder = mirrored(path).resolve()
    if folder == work_dir.resolve() or folder in work_dir.resolve().parents:
        raise ValueError(f"{path}: the working directory {shown(work_dir)} would be replaced; choose another work_dir")


def refuse_folder_of(path: Path) -> None:
    """Refuse a file whose directory is missing or not writable.

    Raises:
        OSError: The directory is missing or not writable.
    """
    folder = path.absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such directory; create it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{folder}: this directory cannot be written")


def refuse_no_directory_of_shards(export: Export) -> None:
    """Refuse an output to which no shards can be appended.

    Raises:
        ValueError: There is something else at its path.
    """
    present = identity_of(export)
    if present is not None and "shards" not in present:
        raise ValueError(
            f"{export.path}: samples are appended to a directory of shards with a jinx.json, which this is not, or not "
            "whole: see `jinx verify` and `jinx merge`"
        )


def _refuse_remote(export: Export) -> None:
    if export.kind == "view":
        raise ValueError(f"{export.path}: a view is saved on a disk, next to its base; export with kind: jinx")
    if export.append:
        refuse_no_directory_of_shards(export)
    elif not export.overwrite and identity_of(export) is not None:
        raise FileExistsError(f"{export.path} exists; {_ADVICE}, or replace it with overwrite=True (--overwrite)")


@contextmanager
def claimed_output(export: Export, work_dir: Path) -> Generator[None]:
    """Lock the path of an output for one run.

    Raises:
        RuntimeError: Another run writes this output.
        OSError: Its directory is missing or not writable.
    """
    out = mirrored(export.path)
    if not is_remote(export.path):
        refuse_folder_of(out)
    try:
        claim = lock_at(out.with_name(f".{out.name}.pipeline"), shown(work_dir))
    except LockedError as error:
        raise RuntimeError(
            f"{export.path}: another run writes this output, with the working directory {error}; wait for it, or stop "
            "it"
        ) from None
    with claim:
        yield
