"""`jinx.compact`: writes many small shards as few large ones."""

import os
from typing import Any, Unpack

from jinx._convert.options import Progress, documented
from jinx._remote_output import also_to_urls
from jinx._results import CompactResult
from jinx._rewrite.inputs import files_of, opened
from jinx._rewrite.options import RewriteOptions
from jinx._rewrite.output import Output

Path = str | os.PathLike[str]


@documented(RewriteOptions)
@also_to_urls
def compact(
    source: Any, out: Path, *, progress: Progress | None = None, **options: Unpack[RewriteOptions]
) -> CompactResult:
    """Write the samples of many small files to few large ones.

        jinx.compact("shards", "compacted", shard_size="4GB")

    Values are copied as they are stored: nothing is decoded or compressed again.

    Args:
        source: A dataset, a path or pattern, or a list of these, of any formats.
        out: The output. A name that ends in `.jinx` is one file; any other name is a directory of shards.
        progress: Called with samples, bytes written, and the expected bytes.
        **options: Any of the options below.

    Raises:
        FileExistsError: The output exists, and `overwrite` is not set.
        OSError: There is not enough room on the disk; this is checked before anything is written.
        ValueError: The output is one of the inputs.
    """
    output = Output.of(out, options, progress)
    with opened(source, output.path, options) as dataset:
        before = len(files_of(dataset))
        done = output.write(dataset)
        return CompactResult(done.path, done.samples, done.shards, before, done.bytes, done.sidecar_bytes)
