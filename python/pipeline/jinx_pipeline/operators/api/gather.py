"""Combines streams of a graph, once all their rows are available."""

from typing import ClassVar

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator import Operator


class Gather(Operator):
    """Combines streams: one after another, as a mixture, or under a condition.

    The reader of a graph makes it from flows with a weight and from nodes with `when`; it has no name in recipes.

    Attributes:
        weights: The share of each stream in a mixture, as of `SourceSpec`; None: all rows of all streams.
        at_least: If the last stream, which is only counted, has fewer rows, no row passes.
        at_most: If the last stream, which is only counted, has more rows, no row passes.
    """

    name: ClassVar[str] = "gather"
    kind = "gather"
    weights: list[float] | None = None
    at_least: int | None = None
    at_most: int | None = None

    @property
    def counts_last(self) -> bool:
        """Whether the last stream is only counted."""
        return self.at_least is not None or self.at_most is not None

    def passes(self, rows: int) -> bool:
        """Whether the rows of the other streams are passed on.

        Args:
            rows: The rows of the stream that is counted.
        """
        return rows >= (self.at_least or 0) and (self.at_most is None or rows <= self.at_most)

    def run(self, batch: Batch, ctx: Context) -> Batch:
        del ctx
        return batch
