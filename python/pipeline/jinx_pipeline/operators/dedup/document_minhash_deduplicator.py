"""Near-deduplication of texts by MinHash: the operator `document_minhash_deduplicator`."""

from typing import Annotated, Literal

import numpy as np
import pyarrow as pa

from jinx_pipeline import kernels
from jinx_pipeline.dedup.near import band_table, best_bands
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.needed_files import NeededFile
from jinx_pipeline.operators.api.parameters import NGrams, ParameterError, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.dedup.equal_keys import EqualKeysDeduplicator
from jinx_pipeline.operators.dedup.without_text import without_text
from jinx_pipeline.operators.text.patterns import checked_pattern, replaced
from jinx_pipeline.operators.text.tokens import needed_tokenizer, numbered_tokens

# Fills the signature of a text without tokens.
_NO_TOKENS = np.iinfo(np.uint32).max


@register("document_minhash_deduplicator", modality="text")
class DocumentMinhashDeduplicator(EqualKeysDeduplicator):
    """Removes samples whose text is nearly the same as another's, by MinHash signatures and bands (LSH).

    Texts are compared as sets of shingles of `window_size` tokens. Texts that agree in a band are duplicates, and so
    are all texts that such pairs connect; the first sample of each cluster stays. A text that is shorter than a shingle
    is one shingle, so short texts are only duplicates if they are equal. A sample without tokens is never a
    duplicate: one without text or with white space alone, or where nothing is left that `ignore_pattern` does not
    match.

        text = "one of many words that are repeated here"
        create("document_minhash_deduplicator")([{"text": text}, {"text": text.upper()}])  # the first

    Attributes:
        tokenization: Split tokens at white space, or at white space and punctuation, or use characters, or the tokens
            of a tokenizer (`sentencepiece`).
        window_size: Tokens of a shingle.
        lowercase: Whether case is ignored.
        ignore_pattern: A regular expression for parts of texts to ignore; a dot also matches line ends.
        num_permutations: Elements of a signature; more elements estimate the similarity better and take longer.
        jaccard_threshold: The minimum similarity of texts to find, from 0 to 1.
        num_bands: The number of bands; with `num_rows_per_band` it replaces the best choice for the threshold.
        num_rows_per_band: Elements of a band; by default `num_permutations // num_bands`.
        tokenizer_model: With `sentencepiece`, the path of a `tokenizer.json` or of its directory.
    """

    tokenization: Literal["space", "punctuation", "character", "sentencepiece"] = "space"
    window_size: NGrams = 5
    lowercase: bool = True
    ignore_pattern: str | None = None
    num_permutations: Annotated[int, Range(1, 4096)] = 256
    jaccard_threshold: float = 0.7
    num_bands: int | None = None
    num_rows_per_band: int | None = None
    tokenizer_model: str | None = None

    def check(self) -> None:
        if not 0 < self.jaccard_threshold <= 1:
            raise ParameterError(
                self.name,
                "jaccard_threshold",
                f"jaccard_threshold is {self.jaccard_threshold}; it lies between 0 and 1",
            )
        if self.num_rows_per_band is not None and self.num_bands is None:
            raise ParameterError(self.name, "num_rows_per_band", "num_rows_per_band is given without num_bands")
        bands, rows = self._bands()
        if bands < 1 or rows < 1 or bands * rows > self.num_permutations:
            problem = f"{bands} bands of {rows} rows do not fit {self.num_permutations} permutations"
            raise ParameterError(self.name, "num_bands", problem)
        if (self.tokenization == "sentencepiece") != (self.tokenizer_model is not None):
            problem = "tokenizer_model and tokenization: sentencepiece belong together; give both or neither"
            raise ParameterError(self.name, "tokenizer_model", problem)
        if self.ignore_pattern is not None:
            checked_pattern(self.name, self.ignore_pattern, "", "ignore_pattern")

    @property
    def needed_files(self) -> list[NeededFile]:
        return needed_tokenizer("tokenizer_model", self.tokenizer_model)

    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        texts, is_lower = batch.text, self.lowercase
        if self.ignore_pattern is not None:
            texts = replaced(texts, [(self.ignore_pattern, "")], ctx)
        is_missing = without_text(texts)
        if self.tokenizer_model is not None:
            texts, is_lower = (
                numbered_tokens(_in_lower_case(texts) if is_lower else texts, self.tokenizer_model, ctx),
                False,
            )
        signatures = kernels.minhash(
            texts,
            tokens="space" if self.tokenization == "sentencepiece" else self.tokenization,
            window=self.window_size,
            lowercase=is_lower,
            permutations=self.num_permutations,
            threads=ctx.threads,
        )
        is_missing |= (signatures == _NO_TOKENS).all(axis=1)
        return band_table(kernels.band_keys(signatures, *self._bands()), is_missing)

    @property
    def key_columns(self) -> list[list[str]]:
        return [[f"band_{band}"] for band in range(self._bands()[0])]

    def _bands(self) -> tuple[int, int]:
        if self.num_bands is None:
            return best_bands(self.jaccard_threshold, self.num_permutations)
        return self.num_bands, self.num_rows_per_band or self.num_permutations // max(self.num_bands, 1)


def _in_lower_case(texts: pa.Array) -> pa.Array:
    return pa.array([text.lower() for text in texts.to_pylist()], pa.large_string())
