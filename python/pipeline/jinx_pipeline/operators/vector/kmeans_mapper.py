"""Clusters of vectors as a column: the operator `kmeans_mapper`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from jinx._vectors.directions import unit
from jinx._vectors.kmeans import centres_of, nearest_centres
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.parameters import NotEmpty, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.vector.fitted import FittedMapper

if TYPE_CHECKING:
    import numpy.typing as npt


@register("kmeans_mapper")
class KmeansMapper(FittedMapper):
    """Adds the number of the cluster of each sample's vector, and its similarity to the centre.

    The centres are found by spherical k-means from the vectors of all samples (at most 256 for each cluster); then
    every sample gets the number of the centre with the highest cosine similarity. Samples without a vector get no
    number.

        create("kmeans_mapper", clusters=1)([{"emb": [1, 0]}])
        # [{"emb": [1, 0], "cluster": 0, "cluster_similarity": 1.0}]

    Attributes:
        vector_field: A column or path with vectors of one length.
        clusters: The number of clusters; 0 is about the square root of the number of samples.
        cluster_field: The column for the numbers of clusters.
        similarity_field: The column for the similarity to the centre, from -1 to 1.
        seed: Decides the first centres.
    """

    vector_field: Annotated[str, NotEmpty()] = "emb"
    clusters: Annotated[int, Range(0, 1 << 20)] = 0
    cluster_field: Annotated[str, NotEmpty()] = "cluster"
    similarity_field: Annotated[str, NotEmpty()] = "cluster_similarity"
    seed: Annotated[int, Range(0, 1 << 62)] = 0

    @property
    def writes(self) -> tuple[str, ...]:
        return (self.cluster_field, self.similarity_field)

    def fitted(self, vectors: "npt.NDArray[Any]") -> "npt.NDArray[np.float32]":
        return centres_of(vectors, self.clusters, self.seed)

    def mapped(self, batch: Batch, fitted: "npt.NDArray[np.float32]", ctx: Context) -> Mapping[str, Any]:
        del ctx
        vectors, present = self.vectors(batch, fitted.shape[1])
        numbers: list[int | None] = [None] * len(batch)
        similarities: list[float | None] = [None] * len(batch)
        places = np.flatnonzero(present)
        found = nearest_centres(vectors[places], fitted) if len(places) else places
        for place, number in zip(places.tolist(), found.tolist(), strict=True):
            # The order of each sum does not depend on the other samples of the batch.
            products = unit(vectors[place : place + 1])[0].astype(np.float64) * fitted[number]
            numbers[place], similarities[place] = number, min(max(float(products.sum()), -1.0), 1.0)
        return {self.cluster_field: numbers, self.similarity_field: similarities}
