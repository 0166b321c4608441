"""document_simhash_deduplicator."""

from collections.abc import Iterable
from typing import Literal

import numpy as np
import pyarrow as pa

from jinx import kernels
from jinx_pipeline.dedup.signatures import columns_of, count_rows
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Deduplicator, Duplicates
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.patterns import checked_pattern, replaced


@register("document_simhash_deduplicator", modality="text")
class DocumentSimhashDeduplicator(Deduplicator):
    """Leaves out samples whose text nearly repeats another's, by SimHash: 64 bits that differ little for near texts.

    Texts whose hashes differ in at most `hamming_distance` bits are duplicates, and so is what they connect; of each
    cluster the first sample stays. The search is exact. A text without tokens repeats no other. Memory is about 100
    bytes for each sample.

        text = "one of many words that are repeated here"
        create("document_simhash_deduplicator")([{"text": text}, {"text": text.upper()}])  # the first

    Attributes:
        tokenization: Tokens lie between white space, or between white space and punctuation, or are characters.
        window_size: Tokens of a shingle.
        lowercase: Whether case makes no difference.
        ignore_pattern: A regular expression for what makes no difference.
        num_blocks: Into how many blocks a hash is cut for the search, more than `hamming_distance`; it changes the
            time.
        hamming_distance: Bits.
    """

    tokenization: Literal["space", "punctuation", "character"] = "space"
    window_size: int = 6
    lowercase: bool = True
    ignore_pattern: str | None = None
    num_blocks: int = 6
    hamming_distance: int = 4

    def check(self) -> None:
        if not 0 <= self.hamming_distance < self.num_blocks <= 64:  # noqa: PLR2004 - bits of a hash
            what = (
                f"num_blocks is {self.num_blocks}; it is more than hamming_distance ({self.hamming_distance}), up to 64"
            )
            raise ParameterError(self.name, "num_blocks", what)
        if self.ignore_pattern is not None:
            checked_pattern(self.name, self.ignore_pattern, "", "ignore_pattern")

    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        texts = batch.text
        if self.ignore_pattern is not None:
            texts = replaced(texts, [(self.ignore_pattern, "")], ctx)
        hashes = kernels.simhash(
            texts, tokens=self.tokenization, window=self.window_size, lowercase=self.lowercase, threads=ctx.threads
        )
        return pa.table({"simhash": pa.array(hashes, mask=hashes == 0)})

    def duplicates(self, signatures: Iterable[pa.Table]) -> Duplicates:
        count = count_rows(signatures)
        (hashes,), places = columns_of(signatures, ["simhash"], 0, 1)
        roots = kernels.near_simhashes(hashes, self.hamming_distance, self.num_blocks)
        originals = np.full(count, -1, dtype=np.int64)
        is_later = roots != np.arange(len(roots))
        originals[places[is_later]] = places[roots[is_later]]
        return originals < 0, originals
