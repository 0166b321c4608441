"""Deduplication by meaning: the operator `semantic_deduplicator`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import numpy as np
import pyarrow as pa

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Deduplicator, Duplicates
from jinx_pipeline.operators.api.parameters import NotEmpty, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.vector.clusters import clusters
from jinx_pipeline.operators.vector.vectors_of import unit, vectors_of

if TYPE_CHECKING:
    import numpy.typing as npt

_VECTOR, _PRESENT = "vector", "present"
_BLOCK_ROWS = 1024


@register("semantic_deduplicator")
class SemanticDeduplicator(Deduplicator):
    """Removes samples whose vector is nearly that of an earlier sample, as SemDeDup does.

    Vectors are divided into clusters by k-means, and compared within each cluster. A sample is a duplicate of the first
    kept sample of its cluster whose cosine similarity is at least `threshold`. Samples without a vector stay. The
    vectors of all samples are in memory for the decision.

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
        vectors, present = vectors_of(batch.column(self.vector_field), self.vector_field)
        cells = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
        return pa.table({_VECTOR: cells, _PRESENT: present})

    def duplicates(self, signatures: Iterable[pa.Table]) -> Duplicates:
        vectors, present = self._gathered(signatures)
        originals = np.full(len(present), -1, np.int64)
        places = np.flatnonzero(present)
        numbers = clusters(vectors, self.clusters, self.seed)
        order = np.argsort(numbers, kind="stable")
        for members in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1):
            firsts = first_similar(unit(vectors[members]), self.threshold)
            later = np.flatnonzero(firsts >= 0)
            originals[places[members[later]]] = places[members[firsts[later]]]
        return originals < 0, originals

    def _gathered(self, signatures: Iterable[pa.Table]) -> "tuple[npt.NDArray[np.generic], npt.NDArray[np.bool_]]":
        """The vectors that are present, and the mask of the samples that have one."""
        parts, masks = list[np.ndarray](), list[np.ndarray]()
        for table in signatures:
            mask = table.column(_PRESENT).to_numpy()
            masks.append(mask)
            if mask.any():
                cells = table.column(_VECTOR).combine_chunks()
                parts.append(cells.flatten().to_numpy().reshape(len(table), -1)[mask])
        widths = {part.shape[1] for part in parts}
        if len(widths) > 1:
            raise ValueError(f"vectors of {min(widths)} and of {max(widths)} numbers in {self.vector_field!r}")
        present = np.concatenate(masks) if masks else np.zeros(0, np.bool_)
        return (np.concatenate(parts) if parts else np.zeros((0, 1), np.float32)), present


def first_similar(vectors: "npt.NDArray[np.float32]", threshold: float) -> "npt.NDArray[np.int64]":
    """For each vector of length 1, the first kept vector before it that is similar enough; -1: none, it is kept."""
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
