"""The base classes of filters by lists of values, such as a property of each image, audio or video."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import AnyOrAll, Filter, Stats, inside
from jinx_pipeline.sample.media import Media
from jinx_pipeline.sample.roles import Role

if TYPE_CHECKING:
    import numpy.typing as npt


class ListFilter(Filter):
    """Keeps samples by statistics that are lists, such as one value for each medium.

    A sample with empty lists passes, as in Data-Juicer.

    Attributes:
        any_or_all: Whether at least one value of a sample must be within all bounds, or each of them.
    """

    any_or_all: AnyOrAll = "any"

    def keep(self, stats: Mapping[str, pa.Array]) -> "npt.NDArray[np.bool_]":
        return any_or_all_of(stats, {name: self.bound(name) for name in self.stats}, self.any_or_all)


class MediaFilter(ListFilter):
    """Keeps samples by properties of their media; each statistic is a list with a value for each medium.

    A sample without media passes, as in Data-Juicer.

    Attributes:
        any_or_all: Whether at least one medium of a sample must be within all bounds, or each of them.
    """

    batch_size = 64
    role: ClassVar[Role] = "images"

    @abstractmethod
    def measure_medium(self, medium: Media) -> Mapping[str, float]:
        """The statistics of one medium by name."""

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.role,)

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        measured = [[self.measure_medium(medium) for medium in media] for media in ctx.each(batch.media(self.role))]
        return {name: [[values[name] for values in sample] for sample in measured] for name in self.stats}


def any_or_all_of(
    stats: Mapping[str, pa.Array], bounds: Mapping[str, tuple[float, float]], any_or_all: AnyOrAll
) -> "npt.NDArray[np.bool_]":
    """A mask of the samples of which any medium, or all media, are within all bounds, and of those without media.

    Args:
        stats: Lists with a value for each medium.
        bounds: The smallest and the largest value of each statistic, both inclusive.
        any_or_all: Whether one medium or each medium must pass.
    """
    import pyarrow.compute as pc

    lists = next(iter(stats.values()))
    masks = [inside(stats[name].flatten(), low, high) for name, (low, high) in bounds.items()]
    lengths = np.asarray(pc.fill_null(lists.value_lengths(), 0), dtype=np.int64)
    passed = np.concatenate([[0], np.cumsum(np.logical_and.reduce(masks))])
    stops = np.cumsum(lengths)
    counts = passed[stops] - passed[stops - lengths]
    return (counts > 0) | (lengths == 0) if any_or_all == "any" else counts == lengths
