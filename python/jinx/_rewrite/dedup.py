"""`jinx.dedup`: leaves out samples that are equal to earlier ones, by their 128-bit hashes."""

import os
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Unpack

from jinx import _core
from jinx._arguments import texts
from jinx._convert.options import Progress, documented
from jinx._dataset.selection import at
from jinx._outputs import refuse_input, separate_file
from jinx._remote_output import also_to_urls
from jinx._results import DedupResult
from jinx._rewrite.inputs import files_of, opened
from jinx._rewrite.key_fingerprints import Missing, check_missing, checked_policy, chunks, key_paths
from jinx._rewrite.options import RewriteOptions
from jinx._rewrite.output import Output
from jinx._rewrite.positions_file import Origin, appearing_after

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from jinx._dataset.dataset import Dataset

Path = str | os.PathLike[str]


@documented(RewriteOptions)
@also_to_urls
def dedup(
    source: Any,
    out: Path,
    *,
    by: str | Sequence[str] | None = None,
    missing: Missing = "keep",
    removed: Path | None = None,
    progress: Progress | None = None,
    **options: Unpack[RewriteOptions],
) -> DedupResult:
    """Leave out samples that equal an earlier one; the first of them stays, and the order does not change.

        jinx.dedup("all.jinx", "unique.jinx")
        jinx.dedup("all.jinx", "unique.jinx", by="url", view=True)

    Samples are compared by 128-bit hashes, which take about 20 bytes of memory a sample. Without `by`, two samples are
    the same if they have the same columns with the same values of the same types, however columns are ordered and
    stored. Images in a sidecar are compared by their lengths and checksums, so they are not read.

    Args:
        source: A dataset, a path or pattern, or a list of these, of any formats.
        out: The output. Its suffix names the format; a name without a suffix is a directory of JINX shards.
        by: Compare only these columns or paths.
        missing: Samples that have no value (or NaN) at one of these paths: `"keep"` them all, `"drop"` them, or
            `"fail"`.
        removed: A file for the positions of the samples that were left out, which `select` reads. It appears with the
            output.
        progress: Called with samples, bytes written, and the expected bytes.
        **options: Any of the options below.

    Raises:
        FileExistsError: The output or `removed` exists, and `overwrite` is not set.
        KeyError: No sample has a column, or some samples lack it and `missing="fail"`.
        OSError: There is not enough room on the disk; this is checked before anything is written.
        ValueError: The output or `removed` is one of the inputs, both are the same, or `removed` lies in the output or
            has the name of a dataset.
    """
    import numpy as np

    checked_policy(missing)
    if by is None and missing != "keep":
        raise ValueError(f"missing={missing!r} has no meaning without by")
    names = None if by is None else texts("by", by)
    output = Output.of(out, options, progress)
    if removed is not None:
        removed = separate_file(removed, output.path, overwrite=output.overwrite)
    where = options.get("where")
    with opened(source, output.path, {**options, "where": None}) as whole:
        if removed is not None:
            refuse_input(removed, files_of(whole))
        dataset = whole if where is None else whole.filter(where)
        paths = None if names is None else key_paths(dataset, names)
        is_kept, lacking = _first_ones(dataset, paths, missing)
        listed = nullcontext()
        if removed is not None:
            listed = appearing_after(removed, _positions_in(whole, dataset)[~is_kept], Origin.of(whole))
        with listed:
            done = output.write(at(dataset, np.flatnonzero(is_kept)))
        dropped = lacking if missing == "drop" else 0
        duplicates = len(dataset) - done.samples - dropped
        return DedupResult(done.path, done.samples, duplicates, lacking, done.shards, done.bytes, done.sidecar_bytes)


def _first_ones(
    dataset: "Dataset", paths: list[list[str]] | None, missing: Missing
) -> "tuple[npt.NDArray[np.bool_], int]":
    """A mask of shape (n,) of the samples to keep, and the number of samples without a key."""
    import numpy as np

    seen = _core.SeenFingerprints(len(dataset))
    is_kept = np.empty(len(dataset), dtype=np.bool_)
    start = lacking = first_lacking = 0
    for part in chunks(dataset):
        fingerprints = part._fingerprints(paths)
        stop = start + len(part)
        is_kept[start:stop] = np.frombuffer(seen.add(fingerprints), dtype=np.bool_)
        if paths is not None:
            is_missing = ~np.frombuffer(fingerprints, dtype="<u8").reshape(-1, 2).any(axis=1)
            count = int(is_missing.sum())
            if count and not lacking:
                first_lacking = start + int(np.argmax(is_missing))
            lacking += count
            is_kept[start:stop][is_missing] = missing == "keep"
        start = stop
    check_missing(missing, lacking, first_lacking, paths or [])
    return is_kept, lacking


def _positions_in(whole: "Dataset", chosen: "Dataset") -> "npt.NDArray[np.int64]":
    """The positions of the samples of a filtered dataset in the whole dataset."""
    import numpy as np

    if chosen is whole or chosen._indices is None:
        return np.arange(len(whole))
    chosen_positions = np.frombuffer(chosen._indices, dtype="<u8")
    if whole._indices is None:
        return chosen_positions.astype(np.int64)
    # A filter keeps a stored sample at all its positions in the dataset, or at none.
    return np.flatnonzero(np.isin(np.frombuffer(whole._indices, dtype="<u8"), chosen_positions))
