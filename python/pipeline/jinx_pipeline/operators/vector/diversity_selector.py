"""Selects samples that are far from each other: the operator `diversity_selector`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Selector
from jinx_pipeline.operators.api.parameters import NotEmpty
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.select.sizes import check_size, size_of
from jinx_pipeline.operators.vector.stored_vectors import StoredVectors, directions_of, stored_of

if TYPE_CHECKING:
    import numpy.typing as npt


@register("diversity_selector")
class DiversitySelector(Selector):
    """Keeps samples whose vectors differ most, in the order of the dataset (k-center, greedy).

    The first sample with a vector is chosen; then, again and again, the sample whose cosine similarity to all chosen
    samples is lowest, the first of equal ones. Samples without a vector are not kept. The time is the number of samples
    times the number of chosen ones.

        create("diversity_selector", select_num=2)([{"emb": [1, 0]}, {"emb": [1, 0.1]}, {"emb": [0, 1]}])
        # [{"emb": [1, 0]}, {"emb": [0, 1]}]

    Attributes:
        vector_field: A column or path with vectors of one length.
        select_ratio: The share of samples to keep, from 0 to 1, rounded down.
        select_num: How many samples to keep; if both are given, the smaller number counts.
    """

    vector_field: Annotated[str, NotEmpty()] = "emb"
    select_ratio: float | None = None
    select_num: int | None = None

    def check(self) -> None:
        check_size(self.name, self.select_ratio, self.select_num, ("select_ratio", "select_num"))

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.vector_field,)

    def gathered(self, path: str) -> StoredVectors:
        return StoredVectors(path)

    def select(self, columns: Mapping[str, Sequence[Any]], count: int, ctx: Context) -> "npt.NDArray[np.int64]":
        del ctx
        stored = stored_of(columns[self.vector_field], self.vector_field)
        places = np.flatnonzero(stored.present)
        size = min(size_of(count, self.select_ratio, self.select_num), len(places))
        directions = directions_of(stored.mapped())
        similarity = np.full(len(places), -np.inf, np.float32)
        chosen = np.zeros(size, np.int64)
        for i in range(1, size):
            np.maximum(similarity, directions @ directions[chosen[i - 1]], out=similarity)
            similarity[chosen[i - 1]] = np.inf
            chosen[i] = similarity.argmin()
        return np.sort(places[chosen])
