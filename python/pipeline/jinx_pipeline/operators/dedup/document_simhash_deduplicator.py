"""Near-deduplication of texts by SimHash: the operator `document_simhash_deduplicator`."""

from typing import TYPE_CHECKING, Literal

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.parameters import NGrams
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.dedup.near_hash import NearHashDeduplicator
from jinx_pipeline.operators.dedup.without_text import without_text
from jinx_pipeline.operators.text.patterns import checked_pattern, replaced

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@register("document_simhash_deduplicator", modality="text")
class DocumentSimhashDeduplicator(NearHashDeduplicator):
    """Removes samples whose text is nearly the same as another's, by 64-bit SimHashes that differ in few bits.

    Texts whose hashes differ in at most `hamming_distance` bits are duplicates, and so are all texts that such pairs
    connect; the first sample of each cluster stays. The search is exact. A sample without tokens is never a
    duplicate: one without text or with white space alone, or where nothing is left that `ignore_pattern` does not
    match.

    A hash is divided into blocks, and at least `num_blocks - hamming_distance` blocks are equal in similar texts.
    Samples that agree in any combination of this many blocks are compared, so a sample has a key of 12 bytes for each
    combination: 15 with the default parameters.

        text = "one of many words that are repeated here"
        create("document_simhash_deduplicator")([{"text": text}, {"text": text.upper()}])  # the first

    Attributes:
        tokenization: Split tokens at white space, or at white space and punctuation, or use characters.
        window_size: Tokens of a shingle.
        lowercase: Whether case is ignored.
        ignore_pattern: A regular expression for parts of texts to ignore; a dot also matches line ends.
    """

    tokenization: Literal["space", "punctuation", "character"] = "space"
    window_size: NGrams = 6
    lowercase: bool = True
    ignore_pattern: str | None = None

    def check(self) -> None:
        super().check()
        if self.ignore_pattern is not None:
            checked_pattern(self.name, self.ignore_pattern, "", "ignore_pattern")

    def hashes(self, batch: Batch, ctx: Context) -> "tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]":
        texts = batch.text
        if self.ignore_pattern is not None:
            texts = replaced(texts, [(self.ignore_pattern, "")], ctx)
        hashes = kernels.simhash(
            texts, tokens=self.tokenization, window=self.window_size, lowercase=self.lowercase, threads=ctx.threads
        )
        return hashes, (hashes == 0) | without_text(texts)
