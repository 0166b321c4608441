"""Mappers that first read the vectors of all samples, and then add columns to each sample."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.part_deduplicator import PartDeduplicator
from jinx_pipeline.operators.vector.stored_vectors import stored_signatures, vector_signatures
from jinx_pipeline.operators.vector.vectors_of import vectors_of

if TYPE_CHECKING:
    import numpy.typing as npt

    Fitted = npt.NDArray[np.float32]


class FittedMapper(PartDeduplicator):
    """Adds columns that depend on the vectors of all samples.

    It works in three phases: the vectors are collected block by block on any worker; one process fits an array of rows
    to them; then each sample is mapped by these rows, again on any worker.
    """

    kind = "fitted"
    takes_missing: ClassVar[bool] = True
    vector_field: str

    @abstractmethod
    def fitted(self, vectors: "npt.NDArray[Any]") -> "Fitted":
        """The rows that are used to map samples, of shape (rows, numbers).

        Args:
            vectors: The vectors of all samples that have one, mapped from a file.
        """

    @abstractmethod
    def mapped(self, batch: Batch, fitted: "Fitted", ctx: Context) -> Mapping[str, Any]:
        """The added columns, each with a value for each sample."""

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.vector_field,)

    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        del ctx
        return vector_signatures(batch.column(self.vector_field), self.vector_field)

    def repeated(self, signatures: Iterable[pa.Table]) -> Any:
        rows = self.fitted(stored_signatures(signatures, self.vector_field).mapped())
        # Decisions are stored as one dimension: the length of a row, then the rows.
        return np.concatenate([[rows.shape[1]], rows.ravel()]).astype(np.float32)

    def edit(self, batch: Batch, keys: Any, ctx: Context) -> Mapping[str, Any]:
        return self.mapped(batch, keys[1:].reshape(-1, int(keys[0])), ctx)

    def vectors(self, batch: Batch, width: int) -> "tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]":
        """The vectors of a batch, and which samples have one.

        Raises:
            ValueError: They are not of `width` numbers.
        """
        vectors, present = vectors_of(batch.column(self.vector_field), self.vector_field)
        if present.any() and vectors.shape[1] != width:
            raise ValueError(f"vectors of {vectors.shape[1]} and of {width} numbers in {self.vector_field!r}")
        return vectors, present
