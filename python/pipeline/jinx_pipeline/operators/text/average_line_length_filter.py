"""Filters by average line length: the operator `average_line_length_filter`."""

import sys

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter, Stats
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.ratios import shares


@register("average_line_length_filter", modality="text")
class AverageLineLengthFilter(Filter):
    r"""Keeps texts whose average line length lies in a range: code points, including line ends, over lines.

        create("average_line_length_filter", min_len=3)([{"text": "four\nfour"}, {"text": "a\nb"}])
        # [{"text": "four\nfour"}]

    Attributes:
        min_len: The smallest average.
        max_len: The largest average.
    """

    min_len: int = 10
    max_len: int = sys.maxsize

    stats = {"avg_line_length": "float64"}
    bounds = {"avg_line_length": ("min_len", "max_len")}

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        lengths = kernels.code_points(batch.text, threads=ctx.threads)
        return {"avg_line_length": shares(lengths, kernels.lines(batch.text, threads=ctx.threads)[:, 0])}
