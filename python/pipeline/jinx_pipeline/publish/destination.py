"""The place of an output, looked at before any work: what would prevent it is reported at once."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import jinx
from jinx._outputs import refuse_existing
from jinx_pipeline.recipe.model import Export
from jinx_pipeline.store.file_lock import FileLock, LockedError

_ADVICE = "remove it, or choose another name"


def refuse_place(export: Export) -> None:
    """Refuse an output that could not be written after all the work; nothing is changed.

    Raises:
        FileExistsError: It exists, and is not to be replaced.
        OSError: Its directory is missing or cannot be written.
        ValueError: What is there cannot be replaced: a directory in place of a file, or one that holds other files.
    """
    if not export.overwrite:
        refuse_existing(export.path)
    path = Path(export.path)
    if export.kind in {"jinx", "view"}:
        # The writer looks at everything that it needs when it is opened.
        jinx.Writer(path, overwrite=True).abort()
        return
    if export.kind == "mds":
        if path.exists() and not path.is_dir():
            raise ValueError(f"{path}: this is a file, and MDS is a directory; {_ADVICE}")
    elif path.is_dir():
        raise ValueError(f"{path}: this is a directory, and the output is a file; {_ADVICE}")
    refuse_folder_of(path)


def refuse_below_file(path: str) -> None:
    """Refuse an output or working directory whose name leads through a file.

    Raises:
        NotADirectoryError: It does.
    """
    for folder in Path(path).parents:
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(f"{path}: {folder} is a file, not a directory; choose another name")


def refuse_folder_of(path: Path) -> None:
    """Refuse a file whose directory is missing or cannot be written.

    Raises:
        OSError: It is.
    """
    folder = path.absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such directory; create it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{folder}: this directory cannot be written")


@contextmanager
def claimed_output(export: Export, work_dir: Path) -> Generator[None]:
    """Hold the place of an output for one run.

    Raises:
        RuntimeError: Another run is about to write it.
        OSError: Its directory is missing or cannot be written.
    """
    out = Path(export.path)
    refuse_folder_of(out)
    try:
        claim = FileLock(out.with_name(f".{out.name}.pipeline"), str(work_dir))
    except LockedError as error:
        raise RuntimeError(
            f"{out}: another run writes this output, with the working directory {error}; wait for it, or stop it"
        ) from None
    with claim:
        yield
