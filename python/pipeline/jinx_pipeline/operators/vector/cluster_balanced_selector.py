"""Selects about as many samples from each cluster: the operator `cluster_balanced_selector`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Selector
from jinx_pipeline.operators.api.parameters import NotEmpty, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.select.sizes import check_size, size_of
from jinx_pipeline.operators.vector.spherical_kmeans import clusters
from jinx_pipeline.operators.vector.stored_vectors import StoredVectors, stored_of

if TYPE_CHECKING:
    import numpy.typing as npt


@register("cluster_balanced_selector")
class ClusterBalancedSelector(Selector):
    """Keeps equally many samples from each cluster of vectors, in the order of the dataset.

    Clusters with fewer samples are kept completely, and the others share what is left. Which samples of a cluster are
    kept is random, and the seed of the run decides. Samples without a vector are not kept.

        create("cluster_balanced_selector", select_num=2)([{"emb": [1, 0]}, {"emb": [0, 1]}])
        # [{"emb": [1, 0]}, {"emb": [0, 1]}]

    Attributes:
        vector_field: A column or path with vectors of one length.
        select_ratio: The share of samples to keep, from 0 to 1, rounded down.
        select_num: How many samples to keep; if both are given, the smaller number counts.
        clusters: The number of clusters; 0 is about the square root of the number of samples.
        seed: Decides the first centres of the clusters.
    """

    vector_field: Annotated[str, NotEmpty()] = "emb"
    select_ratio: float | None = None
    select_num: int | None = None
    clusters: Annotated[int, Range(0, 1 << 20)] = 0
    seed: Annotated[int, Range(0, 1 << 62)] = 0

    def check(self) -> None:
        check_size(self.name, self.select_ratio, self.select_num, ("select_ratio", "select_num"))

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.vector_field,)

    def gathered(self, path: str) -> StoredVectors:
        return StoredVectors(path)

    def select(self, columns: Mapping[str, Sequence[Any]], count: int, ctx: Context) -> "npt.NDArray[np.int64]":
        stored = stored_of(columns[self.vector_field], self.vector_field)
        places = np.flatnonzero(stored.present)
        numbers = clusters(stored.mapped(), self.clusters, self.seed)
        shuffled = ctx.rng("", self.name).permutation(len(places))
        order = shuffled[np.argsort(numbers[shuffled], kind="stable")]
        sizes = np.bincount(numbers)
        # The rank of each sample in its cluster: the first samples of all clusters come first, then the second ones.
        rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        chosen = order[np.argsort(rank, kind="stable")][: size_of(count, self.select_ratio, self.select_num)]
        return np.sort(places[chosen]).astype(np.int64)
