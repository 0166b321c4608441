"""Filters by the number of tokens: the operator `token_num_filter`."""

import sys
from typing import Annotated

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter, Stats
from jinx_pipeline.operators.api.needed_files import NeededFile
from jinx_pipeline.operators.api.parameters import NotEmpty
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.tokens import count_tokens, needed_tokenizer


@register("token_num_filter", modality="text")
class TokenNumFilter(Filter):
    """Keeps texts whose number of tokens lies in a range. Needs `tokenizers`.

        create("token_num_filter", hf_tokenizer="path/to/tokenizer.json")([{"text": "How many tokens has this text?"}])

    Attributes:
        hf_tokenizer: The path of a `tokenizer.json` or of its directory. Nothing is downloaded.
        min_num: The smallest number.
        max_num: The largest number.
    """

    hf_tokenizer: Annotated[str, NotEmpty()] = "EleutherAI/pythia-6.9b-deduped"
    min_num: int = 10
    max_num: int = sys.maxsize

    stats = {"num_token": "int64"}
    bounds = {"num_token": ("min_num", "max_num")}

    @property
    def needed_files(self) -> list[NeededFile]:
        return needed_tokenizer("hf_tokenizer", self.hf_tokenizer)

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        return {"num_token": count_tokens(batch.text, self.hf_tokenizer, ctx)}
