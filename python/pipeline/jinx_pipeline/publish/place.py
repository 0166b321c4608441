"""Moves a complete output to its path in one step; on the same disk, nothing is read or copied."""

import errno
import os
import shutil
from pathlib import Path

from jinx import _core
from jinx_pipeline.recipe.export import Export
from jinx_pipeline.store.sync import sync_folder

_TAKEN = frozenset({errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR})


def put_in_place(export: Export, staged: Path, *, replaces: bool) -> None:
    """Move an output to its path.

    Args:
        export: The path and kind of the output.
        staged: The complete output, next to its path.
        replaces: Whether an existing output may be replaced.

    Raises:
        FileExistsError: The path exists and may not be replaced.
        ValueError: The path is a directory with files that do not belong to a dataset.
    """
    out = Path(export.path)
    is_taken = os.path.lexists(out)
    if is_taken and not replaces:
        raise FileExistsError(errno.EEXIST, "File exists", str(out))
    if export.kind in {"jinx", "view"} and out.suffix == ".jinx":
        _core.move_pair(str(staged), str(out), replaces)
        return  # it has synced the directory
    if staged.is_dir() and is_taken:
        if export.kind == "mds":
            _replace_mds(staged, out)
        else:
            _core.move_directory(str(staged), str(out), True)  # noqa: FBT003
    elif staged.is_dir():
        _rename_directory(staged, out)
    elif replaces:
        staged.replace(out)
    else:
        _name_file(staged, out)
    sync_folder(out.absolute().parent)


def _rename_directory(staged: Path, out: Path) -> None:
    try:
        staged.rename(out)
    except OSError as error:
        if error.errno in _TAKEN:
            raise FileExistsError(errno.EEXIST, "File exists", str(out)) from None
        raise


def _name_file(staged: Path, out: Path) -> None:
    """Rename a file, but never replace another one."""
    try:
        os.link(staged, out)
    except FileExistsError:
        raise
    except OSError:  # the file system does not support hard links
        staged.rename(out)
    else:
        staged.unlink()


def _replace_mds(staged: Path, out: Path) -> None:
    for file in out.iterdir():
        if file.name != "index.json" and not (file.name.startswith("shard.") and ".mds" in file.name):
            raise ValueError(f"{out}: it holds {file.name}, which is not of an MDS dataset; remove it, or move it away")
    replaced = staged.with_name(f"{staged.name}.replaced")
    out.rename(replaced)
    staged.rename(out)
    shutil.rmtree(replaced, ignore_errors=True)


def hidden_directory(export: Export, run: str) -> Path:
    """The directory in which a run makes an output, next to its final path, so that a rename completes it."""
    out = Path(export.path).absolute()
    return out.with_name(f".{out.name}.{run}")


def remove_hidden(export: Export, run: str) -> None:
    """Remove the leftovers of a run next to its output."""
    shutil.rmtree(hidden_directory(export, run), ignore_errors=True)
