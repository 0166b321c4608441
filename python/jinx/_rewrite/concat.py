"""`jinx.concat`: joins datasets as a view in memory, or as a new dataset on disk."""

import os
from collections.abc import Iterable
from typing import Any, Unpack, overload

from jinx._convert.options import Progress, documented
from jinx._dataset.dataset import Dataset
from jinx._remote_output import also_to_urls
from jinx._results import WriteResult
from jinx._rewrite.inputs import opened
from jinx._rewrite.options import RewriteOptions
from jinx._rewrite.output import Output

Path = str | os.PathLike[str]


@overload
def concat(sources: Iterable[Dataset]) -> Dataset: ...
@overload
def concat(
    sources: Path | Iterable[Path | Dataset],
    out: Path,
    *,
    progress: Progress | None = None,
    **options: Unpack[RewriteOptions],
) -> WriteResult: ...
@documented(RewriteOptions)
@also_to_urls
def concat(
    sources: Path | Iterable[Path | Dataset],
    out: Path | None = None,
    *,
    progress: Progress | None = None,
    **options: Unpack[RewriteOptions],
) -> Dataset | WriteResult:
    """One dataset of the samples of several, in order.

    Without `out`, it is a view in memory; see `Dataset.concat`. With `out`, it is written, and `sources` may be paths
    of any formats that `convert` reads, even of different formats:

        jinx.concat(["old.jinx", "new.parquet", "shards/"], "all.jinx")

    Args:
        sources: Datasets, paths and patterns.
        out: The output. Its suffix names the format; a name without a suffix is a directory of JINX shards.
        progress: Called with samples, bytes written, and the expected bytes.
        **options: Any of the options below.

    Raises:
        FileExistsError: The output exists, and `overwrite` is not set.
        OSError: There is not enough room on the disk; this is checked before anything is written.
        ValueError: The output is one of the inputs.
    """
    if out is None:
        return Dataset.concat(_datasets(sources))
    output = Output.of(out, options, progress)
    with opened(sources, output.path, options) as dataset:
        return output.write(dataset)


def _datasets(sources: Any) -> list[Dataset]:
    datasets: list[Any] = list(sources)
    for dataset in datasets:
        if not isinstance(dataset, Dataset):
            kind = type(dataset).__name__
            raise TypeError(f"concat joins datasets, not {kind}; to join files, name the output: concat(paths, out)")
    return datasets
