"""Exact deduplication of texts: the operator `document_deduplicator`."""

from typing import TYPE_CHECKING

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.dedup.by_hash import HashDeduplicator
from jinx_pipeline.operators.dedup.without_text import without_text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@register("document_deduplicator", modality="text")
class DocumentDeduplicator(HashDeduplicator):
    """Removes samples with the same text as an earlier sample, ignoring white space at both ends.

    A sample without text, or with white space alone, is never a duplicate.

        create("document_deduplicator", lowercase=True)([{"text": "A"}, {"text": "a"}])  # [{"text": "A"}]

    Attributes:
        lowercase: Whether case is ignored.
        ignore_non_character: Compare only letters, and ignore white space, digits, punctuation and symbols. A text
            without letters is only a duplicate of an equal text.
    """

    lowercase: bool = False
    ignore_non_character: bool = False

    def hashes(self, batch: Batch, ctx: Context) -> "tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]":
        hashes = kernels.hash128(
            batch.text,
            ignore_case=self.lowercase,
            ignore_non_letters=self.ignore_non_character,
            ignore_ends=True,
            threads=ctx.threads,
        )
        return hashes, without_text(batch.text)
