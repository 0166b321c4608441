"""Shuffles all samples: the operator `shuffle`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx import _core
from jinx_pipeline.exchange.chunks import Chunks, chunk_bounds
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Selector
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import register

if TYPE_CHECKING:
    import numpy.typing as npt


@register("shuffle")
class Shuffle(Selector):
    """Puts all samples into a random order, the same as `jinx shuffle` with the same seed.

    The order depends only on the number of samples and the seed.

        create("shuffle", seed=3)([{"n": 0}, {"n": 1}, {"n": 2}])

    Attributes:
        seed: A number from 0 to 2**64 - 1; by default the seed of the run.
    """

    kind = "order"
    seed: int | None = None

    def check(self) -> None:
        if self.seed is not None and not 0 <= self.seed < 1 << 64:
            raise ParameterError(self.name, "seed", f"seed is {self.seed}; a seed is a number from 0 to 2**64 - 1")

    @property
    def reads(self) -> tuple[str, ...]:
        return ()

    def select(self, columns: Mapping[str, Sequence[Any]], count: int, ctx: Context) -> "npt.NDArray[np.int64]":
        return self.order(columns, count, ctx).array()

    def order(self, columns: Mapping[str, Sequence[Any]], count: int, ctx: Context) -> Chunks:
        del columns
        ordering = _core.Ordering.shuffled(count, ctx.seed if self.seed is None else self.seed)
        return Chunks(
            lambda: (np.frombuffer(ordering.positions(first, stop), dtype="<i8") for first, stop in chunk_bounds(count))
        )
