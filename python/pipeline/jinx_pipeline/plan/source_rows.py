"""Rows as their sources number them: those that could not be read count, too."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final

from jinx_pipeline.model.receipt import BadRow
from jinx_pipeline.plan.inputs import Input

# In place of an operator's name, for rows of the sources.
READING: Final = "reading the input"


class SourceRows:
    """Tells which row of which source a row of the pipeline's input is.

    Args:
        inputs: The inputs, in order.
    """

    def __init__(self, inputs: Sequence[Input]) -> None:
        self._inputs = inputs
        self._firsts = [0, *accumulate(one.rows for one in inputs)]

    def named(self, bad: BadRow) -> BadRow:
        """A row that was left out, with its source and its number there."""
        at = min(bisect_right(self._firsts, bad.row), len(self._inputs)) - 1
        if bad.row < 0 or at < 0 or bad.counted:
            return bad
        one = self._inputs[at]
        row = bad.row - self._firsts[at]
        before = bisect_right(one.rejected, row, key=lambda rejected: rejected.samples_before)
        return replace(bad, row=row + before, source=one.source)

    def unreadable(self) -> list[BadRow]:
        """Rows of the sources that cannot be read."""
        return [
            BadRow(rejected.samples_before + before, READING, rejected.reason, source=one.source)
            for one in self._inputs
            for before, rejected in enumerate(one.rejected)
        ]
