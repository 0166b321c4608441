"""`jinx.select`: writes the samples at some positions as a new dataset, or saves a view of them."""

import os
from typing import Any, Unpack

from jinx._convert.options import Progress, documented
from jinx._dataset.expression import matching
from jinx._outputs import refuse_input
from jinx._remote_output import also_to_urls
from jinx._results import WriteResult
from jinx._rewrite.inputs import opened
from jinx._rewrite.options import RewriteOptions
from jinx._rewrite.output import Output
from jinx._rewrite.positions_file import read_positions

Path = str | os.PathLike[str]


@documented(RewriteOptions)
@also_to_urls
def select(
    source: Any,
    out: Path,
    positions: Any = None,
    *,
    split: str | None = None,
    progress: Progress | None = None,
    **options: Unpack[RewriteOptions],
) -> WriteResult:
    """Write the samples at positions, in that order.

        jinx.select("all.jinx", "best.jinx", "best.npy")
        jinx.select("all.jinx", "good.jinx", where="score > 0.5", view=True)

    Args:
        source: A dataset, a path or pattern, or a list of these, of any formats.
        out: The output. Its suffix names the format; a name without a suffix is a directory of JINX shards.
        positions: A file of positions (`.npy`, `.json`, or one position per line), or anything that `Dataset.select`
            takes: ints, a slice, a mask. By default all samples. `where` selects among them.
        split: Only this split of the source; positions count within it.
        progress: Called with samples, bytes written, and the expected bytes.
        **options: Any of the options below.

    Raises:
        FileExistsError: The output exists, and `overwrite` is not set.
        IndexError: A position is out of range.
        MismatchError: The file was written for another dataset.
        OSError: There is not enough room on the disk; this is checked before anything is written.
        ValueError: The output is one of the inputs.
    """
    output = Output.of(out, options, progress)
    where = options.get("where")
    with opened(source, output.path, {**options, "where": None}, split) as dataset:
        chosen = dataset
        if isinstance(positions, str | bytes | os.PathLike):
            file = os.fsdecode(positions)  # pyright: ignore[reportUnknownArgumentType] - any path
            refuse_input(output.path, [file])
            chosen = dataset.select(read_positions(file).within(dataset, file))
        elif positions is not None:
            chosen = dataset.select(positions)
        return output.write(chosen if where is None else matching(chosen, where))
