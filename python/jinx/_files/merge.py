"""`jinx.merge`: makes one dataset of the parts of several writers; done in `rust/jinx-format/src/merge.rs`."""

import os

from jinx import _core
from jinx._results import WriteResult

# The first part of the name of the file that lists the inputs from which the parts are made.
INPUTS_OF_PARTS = ".inputs-of-parts-"


def parse_part(part: str | tuple[int, int]) -> tuple[int, int]:
    """(number, count) of `(3, 8)`, or of `"3/8"`, the form of the command line.

    Raises:
        TypeError: `part` has neither form.
        ValueError: There is no such part.
    """
    if not isinstance(part, str | tuple | list):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without types
        raise TypeError(f"part={part!r}: give number and count, from part=(0, 8) to part=(7, 8)")
    text = part if isinstance(part, str) else "/".join(map(str, part))
    number, _, parts = text.partition("/")
    if not (number.isdecimal() and parts.isdecimal()) or not int(number) < int(parts):
        raise ValueError(f"part {text!r}: write NUMBER/COUNT, counted from 0, for instance 0/8 to 7/8")
    return int(number), int(parts)


def part_directory(out: str, part: int, parts: int) -> str:
    """The hidden directory of one part inside `out`, which is created if needed.

    Raises:
        ValueError: `out` is a single file, or there is no such part.
        FileExistsError: `out` is already a dataset.
    """
    parse_part((part, parts))
    if out.endswith(".jinx"):
        raise ValueError(f"{out}: parts make a directory; give a name that does not end in .jinx")
    if os.path.lexists(os.path.join(out, "jinx.json")):  # noqa: PTH118 - str in, str out
        raise FileExistsError(f"{out} is a dataset already; write the parts to a new directory")
    os.makedirs(out, exist_ok=True)  # noqa: PTH103
    return os.path.join(out, f".part-{part:05}-of-{parts:05}")  # noqa: PTH118


def inputs_of_parts(directory: str) -> list[str]:
    """The names of the files that list the inputs of the parts in a directory; at most one, if all agree."""
    return [name for name in os.listdir(directory) if name.startswith(INPUTS_OF_PARTS)]  # noqa: PTH208


def merge(out: str | os.PathLike[str]) -> WriteResult:
    """Make one dataset from the parts in a directory; no sample is copied.

    To resume an interrupted merge, run it again.

    Args:
        out: The directory that `Writer(out, part=(i, n))` or `convert(..., part=(i, n))` wrote to.

    Raises:
        FileNotFoundError: The directory does not exist.
        JinxError: Parts are missing or unfinished, or their counts differ; the message names them. Nothing is changed.
    """
    directory = os.fsdecode(out)
    if not os.path.isdir(directory):  # noqa: PTH112 - str in, str out
        from jinx._open import missing

        raise (
            missing(directory)
            if not os.path.lexists(directory)
            else NotADirectoryError(f"{directory}: this is not a directory")
        )
    rows, size, sidecar, shards = _core.merge(directory)
    for name in inputs_of_parts(directory):
        os.unlink(os.path.join(directory, name))  # noqa: PTH108, PTH118 - str in, str out
    return WriteResult(directory, rows, shards, size, sidecar)
