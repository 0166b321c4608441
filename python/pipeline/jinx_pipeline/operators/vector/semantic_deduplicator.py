"""Deduplication by meaning: the operator `semantic_deduplicator`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import numpy as np
import pyarrow as pa

from jinx._vectors.directions import unit
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Deduplicator, Duplicates
from jinx_pipeline.operators.api.parameters import NotEmpty, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.vector.spherical_kmeans import clusters, members_of
from jinx_pipeline.operators.vector.stored_vectors import stored_signatures, vector_signatures

if TYPE_CHECKING:
    import numpy.typing as npt

_BLOCK_ROWS = 1024


@register("semantic_deduplicator")
class SemanticDeduplicator(Deduplicator):
    """Removes samples whose vector is nearly the same as that of an earlier sample, as SemDeDup does.

    Vectors are divided into clusters by k-means, and compared within each cluster. A sample is a duplicate of the first
    kept sample of its cluster whose cosine similarity is at least `threshold`. Samples without a vector stay. For the
    decision, the vectors of all samples are in a temporary file, and those of one cluster in memory.

        create("semantic_deduplicator", threshold=0.9)([{"emb": [1, 0]}, {"emb": [1, 0.1]}, {"emb": [0, 1]}])
        # [{"emb": [1, 0]}, {"emb": [0, 1]}]

    Attributes:
        vector_field: A column or path with vectors of one length.
        threshold: The smallest similarity of duplicates, from -1 to 1.
        clusters: The number of clusters; 0 is about the square root of the number of samples. Fewer clusters find more
            duplicates and take longer; with 1, all pairs are compared.
        seed: Decides the first centres of the clusters.
    """

    vector_field: Annotated[str, NotEmpty()] = "emb"
    threshold: Annotated[float, Range(-1, 1)] = 0.95
    clusters: Annotated[int, Range(0, 1 << 20)] = 0
    seed: Annotated[int, Range(0, 1 << 62)] = 0

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.vector_field,)

    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        del ctx
        return vector_signatures(batch.column(self.vector_field), self.vector_field)

    def duplicates(self, signatures: Iterable[pa.Table]) -> Duplicates:
        stored = stored_signatures(signatures, self.vector_field)
        vectors, present = stored.mapped(), stored.present
        originals = np.full(len(present), -1, np.int64)
        places = np.flatnonzero(present)
        for members in members_of(clusters(vectors, self.clusters, self.seed)):
            firsts = first_similar(unit(vectors[members]), self.threshold)
            later = np.flatnonzero(firsts >= 0)
            originals[places[members[later]]] = places[members[firsts[later]]]
        return originals < 0, originals


def first_similar(vectors: "npt.NDArray[np.float32]", threshold: float) -> "npt.NDArray[np.int64]":
    """For each vector of length 1, the first earlier kept vector that is similar enough; -1 if it is kept itself."""
    firsts = np.full(len(vectors), -1, np.int64)
    for start in range(0, len(vectors), _BLOCK_ROWS):
        block = vectors[start : start + _BLOCK_ROWS]
        kept = np.flatnonzero(firsts[:start] < 0)
        if len(kept):
            is_similar = block @ vectors[kept].T >= threshold
            has_one = is_similar.any(axis=1)
            firsts[start : start + len(block)] = np.where(has_one, kept[is_similar.argmax(axis=1)], -1)
        is_similar = np.tril(block @ block.T >= threshold, -1)
        for row in np.flatnonzero(is_similar.any(axis=1) & (firsts[start : start + len(block)] < 0)).tolist():
            similar = np.flatnonzero(is_similar[row])
            similar = similar[firsts[start + similar] < 0]
            if len(similar):
                firsts[start + row] = start + similar[0]
    return firsts
