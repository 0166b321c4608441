"""Which passes over all data one process makes, from the code that makes them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jinx_pipeline.global_ops.decide import decide
from jinx_pipeline.plan.file_digest import file_digest
from jinx_pipeline.plan.pieces import pieces_of
from jinx_pipeline.publish.outputs import write_output
from jinx_pipeline.sample.validators import validate


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass over all data.

    Attributes:
        function: What makes it.
        reads: What it reads or writes, and when.
    """

    function: Callable[..., Any]
    reads: str

    @property
    def name(self) -> str:
        """The function, with its module."""
        return f"{self.function.__module__}.{self.function.__qualname__}"


IN_ONE_PROCESS = (
    Pass(write_output, "one file, a view or another format: one worker writes all rows of the output"),
    Pass(file_digest, "an input that is one file of JSON lines: its bytes are hashed, since it may grow between runs"),
    Pass(pieces_of, "inputs that cannot be divided (one Parquet file, one compressed file): one worker converts each"),
    Pass(validate, "recipes with validators: all samples are read before the run begins"),
    Pass(decide, "selectors and groupers that are not divided: the columns that they look at are read for all rows"),
)
