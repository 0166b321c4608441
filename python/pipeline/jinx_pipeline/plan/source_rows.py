"""Row numbers in the sources, where unreadable rows also count."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final

from jinx_pipeline.model.receipt import BadRow
from jinx_pipeline.plan.inputs import Input

# In reports of unreadable rows of the sources, this replaces the name of an operator.
READING: Final = "reading the input"


class SourceRows:
    """Maps a row of the pipeline's input to its source and its row number in the source.

    Args:
        inputs: The inputs, in order.
    """

    def __init__(self, inputs: Sequence[Input]) -> None:
        self._inputs = inputs
        self._firsts = [0, *accumulate(source.rows for source in inputs)]

    def named(self, bad: BadRow) -> BadRow:
        """A row that was left out, as its source and its row number there."""
        index = min(bisect_right(self._firsts, bad.row), len(self._inputs)) - 1
        if bad.row < 0 or index < 0 or bad.counted:
            return bad
        source = self._inputs[index]
        row = bad.row - self._firsts[index]
        before = bisect_right(source.rejected, row, key=lambda rejected: rejected.samples_before)
        return replace(bad, row=row + before, source=source.source)

    def unreadable(self) -> list[BadRow]:
        """Rows of the sources that cannot be read."""
        return [
            BadRow(rejected.samples_before + before, READING, rejected.reason, source=source.source)
            for source in self._inputs
            for before, rejected in enumerate(source.rejected)
        ]
