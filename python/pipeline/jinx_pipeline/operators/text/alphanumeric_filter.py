"""Filters by the share of letters and digits: the operator `alphanumeric_filter`."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import numpy as np
import pyarrow as pa

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter, Stats, inside
from jinx_pipeline.operators.api.needed_files import NeededFile
from jinx_pipeline.operators.api.parameters import ParameterError, Range, Share, ShareLimit, check_bounds, fitted
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.ratios import shares
from jinx_pipeline.operators.text.tokens import count_tokens, needed_tokenizer

if TYPE_CHECKING:
    import numpy.typing as npt


@register("alphanumeric_filter", modality="text")
class AlphanumericFilter(Filter):
    """Keeps texts whose share of letters and digits, of any script, lies in a range.

    With `tokenization`, the measure is the number of letters for each token instead; it is low if a tokenizer finds no
    words. As in Python's `str.isalnum`, combining marks are neither letters nor digits. Hindi writes many vowels as
    such marks, so only about half of a Hindi text is letters.

        create("alphanumeric_filter")([{"text": "words"}, {"text": "#!? -- ... 1"}])  # [{"text": "words"}]

    Attributes:
        tokenization: Measure letters for each token.
        min_ratio: The smallest share.
        max_ratio: The largest share.
        tokenizer: The path of a `tokenizer.json` or of its directory; without one the tokens are words at Unicode's
            word boundaries.
    """

    tokenization: bool = False
    min_ratio: Annotated[float, Range(0)] = 0.25
    max_ratio: Annotated[float, Range(0, or_no_limit=True)] = sys.maxsize
    tokenizer: str | None = None

    stats = {"alnum_ratio": "float64", "alpha_token_ratio": "float64"}

    def check(self) -> None:
        check_bounds(self, "min_ratio", "max_ratio")
        if self.tokenization:
            return  # the number of letters per token is not a share
        for name, kind in (("min_ratio", Share), ("max_ratio", ShareLimit)):
            try:
                fitted(getattr(self, name), kind)
            except TypeError as error:
                raise ParameterError(self.name, name, f"without tokenization the parameter {name!r} {error}") from None

    @property
    def needed_files(self) -> list[NeededFile]:
        return needed_tokenizer("tokenizer", self.tokenizer)

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        texts = batch.text
        missing = np.full(len(batch), None)
        if not self.tokenization:
            counts = kernels.count_characters(texts, "alphanumeric", threads=ctx.threads)
            lengths = kernels.code_points(texts, threads=ctx.threads)
            return {"alnum_ratio": shares(counts, lengths), "alpha_token_ratio": missing}
        letters = kernels.count_characters(texts, "letter", threads=ctx.threads)
        return {"alnum_ratio": missing, "alpha_token_ratio": shares(letters, count_tokens(texts, self.tokenizer, ctx))}

    def keep(self, stats: Mapping[str, pa.Array]) -> "npt.NDArray[np.bool_]":
        name = "alpha_token_ratio" if self.tokenization else "alnum_ratio"
        return inside(stats[name], self.min_ratio, self.max_ratio)

    @property
    def stats_digest(self) -> str:
        return self._digest_of({"tokenization": self.tokenization, "tokenizer": self.tokenizer})
