"""`jinx.verify` and `jinx.repair`; the work is done in `rust/jinx-format/src/verify` and `repair.rs`."""

import os
import stat
from collections.abc import Callable

from jinx import _core
from jinx._directories import has_manifest
from jinx._open import PLAIN, expand_pattern, look, missing
from jinx._outputs import output_name
from jinx._results import Problem, RepairResult
from jinx._urls import is_readable, is_url, resolved
from jinx.mds._directories import find_directories

_BLOCK_BYTES = 1 << 16


def verify(
    path: str | os.PathLike[str],
    *,
    progress: Callable[[int, int], None] | None = None,
    max_value_bytes: int | None = None,
) -> list[Problem]:
    """Read everything and compare it with the checksums of rows, values, index, columns and footer.

    For a saved view, the datasets that it shows are checked too: that they exist, have not been replaced, and are
    intact.

    Args:
        path: A `.jinx` file, a directory of shards (compared with its manifest too), an MDS directory (compared with
            the hashes in its index), a URL of one of these, or a pattern.
        progress: Called with the bytes checked so far and the total bytes; it may raise an error to stop.
        max_value_bytes: A longer value is a problem, as for `jinx.open`; by default 2 GiB (JINX).

    Returns:
        The problems; an empty list if the dataset is intact. Files of 1.0 have no checksums, so only their structure is
        checked.

    Raises:
        FileNotFoundError: The file does not exist.
    """
    name = os.fsdecode(path)
    if is_url(name):
        name = resolved(name)
    names = [name] if is_readable(name) or look(name) is not None else expand_pattern(name)
    if not names:
        raise missing(name)
    return [problem for file in names for problem in _verify_one(file, progress, max_value_bytes)]


def _verify_one(name: str, progress: Callable[[int, int], None] | None, max_value_bytes: int | None) -> list[Problem]:
    if is_readable(name):
        problems = [Problem(**facts) for facts in _core.verify(name, progress, max_value_bytes)]
        return problems or _problems_of_bases(name, progress, max_value_bytes)
    if name.lower().endswith(PLAIN) and _is_blank(name):
        return []  # no lines are valid JSON lines
    directories = find_directories(name)
    if directories is None:
        problems = [Problem(**facts) for facts in _core.verify(name, progress, max_value_bytes)]
        if not problems and (_is_directory(name) or _core.sniff(name)[0] == "a JINX file"):
            return _problems_of_bases(name, progress, max_value_bytes)
        return problems
    return [Problem(**facts) for directory in directories for facts in _core.mds_verify(directory, progress)]


def _problems_of_bases(
    name: str, progress: Callable[[int, int], None] | None, max_value_bytes: int | None
) -> list[Problem]:
    from jinx._saved_views.verify import base_problems

    return base_problems(name, lambda base: _verify_one(base, progress, max_value_bytes))


def _is_blank(name: str) -> bool:
    """Whether a file has nothing but blanks and ends of lines."""
    if not os.path.isfile(name):  # noqa: PTH113 - str in
        return False
    with open(name, "rb") as file:  # noqa: PTH123
        return not any(part.strip(b" \t\r\n") for part in iter(lambda: file.read(_BLOCK_BYTES), b""))


def _is_directory(name: str) -> bool:
    """Like `os.path.isdir`, but a failing file system raises an error."""
    status = look(name)
    return status is not None and stat.S_ISDIR(status.st_mode)


def repair(
    path: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, *, dry_run: bool = False
) -> RepairResult:
    """Save every intact sample of a file whose writer died or whose bytes were damaged into a new file.

    Args:
        path: The `.jinx` file, the temporary file of an interrupted writer, or the name that the file would have had.
            This file is never changed.
        out: The path of the result; by default `STEM.repaired.jinx` next to the file.
        dry_run: Only report what would be kept and lost.

    Returns:
        The numbers of kept samples, and of those that could not be compared with a checksum; and the losses.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: `out` is not given, and a file next to the damaged one would be another shard of its directory.
    """
    name = os.fsdecode(path)
    if out is None and not dry_run and _is_among_shards(name):
        raise ValueError(
            f"{name}: this is a shard of a directory without jinx.json, in which the result would be another shard and "
            "its samples appear twice; give another place with --out (out=...)"
        )
    try:
        return RepairResult(**_core.repair(name, None if out is None else output_name(out), dry_run))
    except FileNotFoundError:
        if look(name) is not None:
            raise
        raise missing(name) from None


def _is_among_shards(name: str) -> bool:
    """Whether a file next to this one has a name that begins alike, and so is part of the same directory of shards."""
    folder, file = os.path.split(os.path.abspath(name))  # noqa: PTH100 - str in, str out
    is_of_writer = os.path.basename(folder).startswith(".")  # noqa: PTH119 - the directory of an interrupted writer
    return file.startswith("shard-") and not is_of_writer and not has_manifest(folder)
