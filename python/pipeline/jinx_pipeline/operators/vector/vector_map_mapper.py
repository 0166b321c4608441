"""A two-dimensional map of vectors, as a column: the operator `vector_map_mapper`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from jinx._vectors.directions import unit
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.parameters import NotEmpty, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.vector.fitted import FittedMapper
from jinx_pipeline.optional import require

if TYPE_CHECKING:
    import numpy.typing as npt

_NEIGHBOURS = 5
_LEAST_DISTANCE = 1e-6
_LEAST_FITTED = 4


@register("vector_map_mapper")
class VectorMapMapper(FittedMapper):
    """Adds the position of each sample on a map, where samples with similar vectors are close to each other.

    t-SNE with cosine distances (scikit-learn, `pip install 'jinx-pipeline[map]'`) places up to `fit_samples` random
    samples. Every sample is placed at the mean of its five most similar ones, weighted by their similarity, so that
    time grows with the number of samples and not with its square. Samples without a vector have no place.

        create("vector_map_mapper")([{"emb": [1, 0]}, {"emb": [0, 1]}])

    Attributes:
        vector_field: A column or path with vectors of one length.
        map_field: The column for the places: a list of two numbers.
        fit_samples: How many samples t-SNE places.
        perplexity: About how many neighbours of each sample t-SNE keeps close.
        seed: Decides which samples t-SNE places, and how.
    """

    vector_field: Annotated[str, NotEmpty()] = "emb"
    map_field: Annotated[str, NotEmpty()] = "map"
    fit_samples: Annotated[int, Range(1, 1 << 20)] = 10_000
    perplexity: Annotated[float, Range(1, 1000)] = 30.0
    seed: Annotated[int, Range(0, (1 << 32) - 1)] = 0

    @property
    def writes(self) -> tuple[str, ...]:
        return (self.map_field,)

    def fitted(self, vectors: "npt.NDArray[Any]") -> "npt.NDArray[np.float32]":
        random = np.random.Generator(np.random.PCG64(self.seed))
        chosen = np.sort(random.permutation(len(vectors))[: self.fit_samples])
        directions = unit(vectors[chosen])
        return np.concatenate([directions, self._places(directions)], axis=1)

    def _places(self, directions: "npt.NDArray[np.float32]") -> "npt.NDArray[np.float32]":
        count = len(directions)
        if count < _LEAST_FITTED:  # too few samples for a map: place them on a line
            return np.stack([np.arange(count), np.zeros(count)], axis=1).astype(np.float32)
        manifold = require("sklearn.manifold", extra="map", what=self.name)
        perplexity = min(self.perplexity, (count - 1) / 3)
        settings = {"metric": "cosine", "init": "random", "random_state": self.seed, "perplexity": perplexity}
        # Several threads would add numbers in varying order.
        with require("threadpoolctl", extra="map", what=self.name).threadpool_limits(1):
            return manifold.TSNE(n_components=2, **settings).fit_transform(directions).astype(np.float32)

    def mapped(self, batch: Batch, fitted: "npt.NDArray[np.float32]", ctx: Context) -> Mapping[str, Any]:
        del ctx
        directions, places = fitted[:, :-2], fitted[:, -2:].astype(np.float64)
        vectors, present = self.vectors(batch, directions.shape[1])
        found: list[list[float] | None] = [None] * len(batch)
        rows = np.flatnonzero(present)
        if len(rows):
            queries = unit(vectors[rows])
            few = min(_NEIGHBOURS, len(directions))
            nearest = np.sort(np.argpartition(-(queries @ directions.T), few - 1, axis=1)[:, :few], axis=1)
            for row, query, close in zip(rows.tolist(), queries.astype(np.float64), nearest, strict=True):
                distances = np.maximum(1 - (directions[close].astype(np.float64) * query).sum(axis=1), _LEAST_DISTANCE)
                weights = 1 / distances**2
                found[row] = (weights @ places[close] / weights.sum()).tolist()
        return {self.map_field: found}
