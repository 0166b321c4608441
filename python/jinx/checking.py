"""Checking a dataset against its checksums, and rebuilding one whose writer died."""

import os
from collections.abc import Callable
from typing import Any

from jinx import _core
from jinx.opening import expand_pattern, missing


def verify(path: str | os.PathLike[str], *, progress: Callable[[int, int], None] | None = None) -> list[dict[str, Any]]:
    """Read everything and compare it with the checksums of rows, values, index, columns and footer.

    Args:
        path: A `.jinx` file, a folder of shards, or a pattern.
        progress: Called with the bytes read and the bytes of the present file.

    Returns:
        One dict for each problem: `file`, `sample`, `field`, `byte` (None where they do not apply), `cause`, `what`.
        Empty when the dataset is intact.
    """
    problems: list[dict[str, Any]] = []
    for file, samples, digest in files_of(os.fspath(path)):
        found = _core.verify(file, progress)
        if not found and (samples is not None or digest is not None):
            found = _against_manifest(file, samples, digest)
        problems += found
    return problems


def repair(
    path: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, *, dry_run: bool = False
) -> dict[str, Any]:
    """Rebuild a file whose writer died: every whole row is kept, and the index and footer are made anew.

    Args:
        path: The `.jinx` file, or the temporary file an interrupted writer left.
        out: Where the result goes; if not given, the file is replaced.
        dry_run: Only say what would be kept and lost.

    Returns:
        `samples` found, `kept`, `lost` (one text for each loss), `out`.
    """
    name = os.fspath(path)
    if not os.path.lexists(name):
        raise missing(name)
    return _core.repair(name, None if out is None else os.fspath(out), dry_run)


def files_of(path: str) -> list[tuple[str, int | None, str | None]]:
    """Main files with the samples and ids a manifest promises."""
    if os.path.isdir(path):  # noqa: PTH112
        return _core.resolve(path)
    if os.path.lexists(path):
        return [(path, None, None)]
    matches = expand_pattern(path)
    if not matches:
        raise missing(path)
    return [entry for match in matches for entry in files_of(match)]


def _against_manifest(file: str, samples: int | None, digest: str | None) -> list[dict[str, Any]]:
    reader = _core.Reader([file], verify="none")
    actual = reader._identities()[0][1]  # pyright: ignore[reportPrivateUsage]
    if (digest is None or actual == digest) and (samples is None or len(reader) == samples):
        return []
    what = f"the manifest lists {samples} samples with id {digest}, the file has {len(reader)} with id {actual}"
    return [{"file": file, "sample": None, "field": None, "byte": None, "cause": "mismatch", "what": what}]
