"""Keeps samples that are near to given examples, or far from them: the operator `nearest_filter`."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from jinx._vectors.directions import unit
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter, Stats
from jinx_pipeline.operators.api.parameters import NotEmpty, ParameterError, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.vector.vectors_of import vectors_of

if TYPE_CHECKING:
    import numpy.typing as npt


@register("nearest_filter")
class NearestFilter(Filter):
    """Keeps samples by the cosine similarity of their vector to the nearest of some examples.

    With `min_similarity`, it keeps what is like the examples; with `max_similarity`, what is unlike all of them. A
    sample without a vector is removed.

        create("nearest_filter", examples=[[1, 0]], min_similarity=0.9)([{"emb": [1, 0.1]}, {"emb": [0, 1]}])
        # [{"emb": [1, 0.1]}]

    Attributes:
        vector_field: A column or path with vectors of one length.
        examples: The vectors of the examples.
        examples_file: A file of numpy (.npy) with such vectors, of shape (n, width).
        min_similarity: The smallest similarity to keep.
        max_similarity: The largest similarity to keep.
    """

    vector_field: Annotated[str, NotEmpty()] = "emb"
    examples: list[list[float]] | None = None
    examples_file: Path | None = None
    min_similarity: Annotated[float, Range(-1, 1)] = -1.0
    max_similarity: Annotated[float, Range(-1, 1)] = 1.0

    stats: ClassVar[Mapping[str, str]] = {"nearest_similarity": "float64"}
    bounds: ClassVar[Mapping[str, tuple[str, str]]] = {"nearest_similarity": ("min_similarity", "max_similarity")}

    def check(self) -> None:
        if (self.examples is None) == (self.examples_file is None):
            raise ParameterError(self.name, "examples", "give examples, or examples_file with them")

    def resolve(self) -> None:
        if self.examples_file is not None and not self.examples_file.is_file():
            raise ParameterError(self.name, "examples_file", f"examples_file: {self.examples_file} is not a file")

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.vector_field,)

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        del ctx
        vectors, present = vectors_of(batch.column(self.vector_field), self.vector_field)
        if not present.any():
            return {"nearest_similarity": [None] * len(batch)}
        if vectors.shape[1] != self._directions.shape[1]:
            width = self._directions.shape[1]
            raise ValueError(f"vectors of {vectors.shape[1]} numbers, and examples of {width}")
        # Not a matrix product: its order of summation, and thus the rounding, may depend on the number of samples.
        nearest = np.full(len(batch), -1.0)
        for example in self._directions.astype(np.float64):
            similarity = (unit(vectors).astype(np.float64) * example).sum(axis=1)
            nearest = np.maximum(nearest, np.clip(similarity, -1, 1))
        return {"nearest_similarity": [v if p else None for v, p in zip(nearest.tolist(), present, strict=True)]}

    @cached_property
    def _directions(self) -> "npt.NDArray[np.float32]":
        given: Any = self.examples
        if self.examples_file is not None:
            given = np.load(self.examples_file, allow_pickle=False)
        vectors, present = vectors_of(list(given), "examples")
        if not present.all() or not len(vectors):
            raise ParameterError(self.name, "examples", "an example has a number that is not finite, or there is none")
        return unit(vectors)
