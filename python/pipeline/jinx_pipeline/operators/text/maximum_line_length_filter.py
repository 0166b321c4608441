"""Filters by the length of the longest line: the operator `maximum_line_length_filter`."""

import sys

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter, Stats
from jinx_pipeline.operators.api.registry import register


@register("maximum_line_length_filter", modality="text")
class MaximumLineLengthFilter(Filter):
    r"""Keeps texts whose longest line has a number of code points in a range.

        create("maximum_line_length_filter", min_len=3)([{"text": "one\nb"}, {"text": "a\nb"}])  # [{"text": "one\nb"}]

    Attributes:
        min_len: The smallest length of the longest line.
        max_len: The largest length of the longest line.
    """

    min_len: int = 10
    max_len: int = sys.maxsize

    stats = {"max_line_length": "int64"}
    bounds = {"max_line_length": ("min_len", "max_len")}

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        return {"max_line_length": kernels.lines(batch.text, threads=ctx.threads)[:, 1]}
