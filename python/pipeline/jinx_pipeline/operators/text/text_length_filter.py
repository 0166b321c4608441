"""Filters by text length: the operator `text_length_filter`."""

import sys

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter, Stats
from jinx_pipeline.operators.api.registry import register


@register("text_length_filter", modality="text")
class TextLengthFilter(Filter):
    """Keeps texts whose length in code points lies in a range.

        create("text_length_filter", min_len=3)([{"text": "yes"}, {"text": "no"}])  # [{"text": "yes"}]

    Attributes:
        min_len: The smallest length.
        max_len: The largest length.
    """

    min_len: int = 10
    max_len: int = sys.maxsize

    stats = {"text_len": "int64"}
    bounds = {"text_len": ("min_len", "max_len")}

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        return {"text_len": kernels.code_points(batch.text, threads=ctx.threads)}
