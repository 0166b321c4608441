"""Filters, which compute statistics of each sample and keep samples by them."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.parameters import check_bounds
from jinx_pipeline.operators.api.returned import checked_mask

if TYPE_CHECKING:
    import numpy.typing as npt

    Mask = npt.NDArray[np.bool_]

AnyOrAll = Literal["any", "all"]
Stats: TypeAlias = "Mapping[str, Any]"


class Filter(Operator):
    """Keeps some samples, by statistics that it computes.

    A subclass names its statistics with their Arrow types in `stats` (`{"text_len": "int64"}`; `list<int64>` for one
    with a value per image) and computes them. `bounds` names the two parameters that bound each statistic, both
    inclusive; override `keep` for other conditions.

    Attributes:
        stats: The statistics by name, with their types.
        bounds: For each statistic, the names of the parameters with its smallest and largest value.
        thresholds: Other parameters that only `keep` uses.
    """

    kind = "filter"
    commutes = True
    stats: ClassVar[Mapping[str, str]] = {}
    bounds: ClassVar[Mapping[str, tuple[str, str]]] = {}
    thresholds: ClassVar[tuple[str, ...]] = ("any_or_all",)

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        for low, high in self.bounds.values():
            check_bounds(self, low, high)

    @abstractmethod
    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        """The statistics by name: an array or list with a value for each sample, None for a sample without a value."""

    def keep(self, stats: Mapping[str, pa.Array]) -> "Mask":
        """A mask of shape (n,), bool, of the samples to keep.

        Args:
            stats: The statistics of n samples.
        """
        masks = [inside(stats[name], *self.bound(name)) for name in self.bounds]
        return np.logical_and.reduce(masks)

    def bound(self, name: str) -> tuple[float, float]:
        """The smallest and largest value of a statistic that is kept."""
        low, high = self.bounds[name]
        return getattr(self, low), getattr(self, high)

    @property
    def stats_digest(self) -> str:
        """Like `digest`, but without the parameters that only `keep` uses; filters with equal statistics share it."""
        ignored = {name for pair in self.bounds.values() for name in pair} | set(self.thresholds)
        return self._digest_of(
            {name: value for name, value in self.described_parameters.items() if name not in ignored}
        )

    def measure(self, batch: Batch, ctx: Context) -> Batch:
        """The batch with this filter's statistics; statistics that are already known are not computed again."""
        digest = self.stats_digest
        if all(batch.known_stats.get(name) == digest and name in batch.stats for name in self.stats):
            return batch
        stats = self.compute_stats(batch, ctx)
        missing = [name for name in self.stats if name not in stats]
        if missing:
            raise ValueError(f"compute_stats did not return {', '.join(missing)}, which `stats` names")
        return batch.with_stats({name: as_arrow(stats[name], kind) for name, kind in self.stats.items()}, digest)

    def run(self, batch: Batch, ctx: Context) -> Batch:
        measured = self.measure(batch, ctx)
        mask = self.keep({name: measured.stats[name] for name in self.stats})
        return measured.take(checked_mask("what keep returned", mask, len(batch)))

    def mark(self, batch: Batch, ctx: Context) -> Batch:
        return self.measure(batch, ctx)


def inside(values: pa.Array, low: float, high: float) -> "Mask":
    """A mask of the numbers between two inclusive bounds; False for missing numbers."""
    numbers = _floats(values)
    return (numbers >= low) & (numbers <= high)


def _floats(values: pa.Array) -> "npt.NDArray[Any]":
    """The numbers as an ndarray that compares exactly; NaN for missing numbers."""
    if values.null_count:
        return values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return values.to_numpy(zero_copy_only=False)


_TYPES = {
    "int64": pa.int64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "list<int64>": pa.list_(pa.int64()),
    "list<float64>": pa.list_(pa.float64()),
    "list<string>": pa.list_(pa.string()),
}


def as_arrow(values: Any, kind: str) -> pa.Array:
    """Statistics as an Arrow array of a kind in `Filter.stats`."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, list) and kind.endswith(("int64", "int64>")):
        # Only a cast refuses floats with a fraction; as values of the type, they are cut off.
        values = pa.array(values)
    return values.cast(_TYPES[kind]) if isinstance(values, pa.Array) else pa.array(values, _TYPES[kind])
