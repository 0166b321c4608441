"""`jinx.shuffle`; the order and the writing are in `rust/jinx-order`."""

import os
from typing import Unpack

from jinx import _core
from jinx._arguments import whole_number
from jinx._convert.options import documented
from jinx._order.rewrite import Job, Progress, Source, write
from jinx._remote_output import also_to_urls
from jinx._results import OrderResult
from jinx._rewrite.options import OrderOptions

_SEED_BITS = 64
# The bits of a random seed: few enough digits to copy by hand.
_RANDOM_BITS = 32


@documented(OrderOptions)
@also_to_urls
def shuffle(
    source: Source,
    out: str | os.PathLike[str],
    *,
    seed: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[OrderOptions],
) -> OrderResult:
    """Write a dataset in shuffled order, so that reading the result from its start is a global shuffle.

    Samples are copied as they are stored. The order only depends on the number of samples and the seed: it is the same
    on any machine, for any memory limit, and with `view=True`. Columns that the input indexes are indexed in the
    output.

        jinx.shuffle("train.jinx", "shuffled.jinx", seed=7)

    Args:
        source: Anything that `jinx.open` takes, or a dataset or view.
        out: A name that ends in `.jinx` is one file (and its sidecar); any other name is a directory of shards. It
            appears when it is complete.
        seed: From 0 to 2**64 - 1; by default a random seed, which the result names.
        progress: Called with samples, bytes done and total bytes; it may raise an error to stop.
        **options: Any of the options below.

    Raises:
        FileExistsError: The output exists.
        OSError: There is not enough room for the output and the temporary files.
        ValueError: The output is also an input.
    """
    if seed is None:
        import secrets

        seed = secrets.randbits(_RANDOM_BITS)
    seed = whole_number("seed", seed, least=0)
    if not seed < 1 << _SEED_BITS:
        raise ValueError(f"seed={seed}: a seed is a number from 0 to 2**{_SEED_BITS} - 1")
    job = Job.of(source, out, options, progress)
    return write(job, _core.Ordering.shuffled(len(job.dataset), seed), seed=seed)
