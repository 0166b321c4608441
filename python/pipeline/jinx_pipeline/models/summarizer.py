"""Summaries of texts, from sequence-to-sequence models such as T5 and BART."""

from collections.abc import Sequence
from typing import Final

from jinx_pipeline.models.feed import Results, feed_texts
from jinx_pipeline.models.files import Expected
from jinx_pipeline.models.pretrained import Pretrained, load_pretrained
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Model

SUMMARIZER: Final = Expected(
    "a sequence-to-sequence model of texts", ("ForConditionalGeneration", "MTModel"), ("texts",)
)
"""Any such model of transformers."""


def load_summarizer(model: Model, device: str) -> Pretrained:
    """Load a model for `Context.model`."""
    return load_pretrained(model, device, "AutoModelForSeq2SeqLM", "AutoTokenizer")


def summaries(model: Model, texts: Sequence[str], ctx: Context, *, max_new_tokens: int) -> list[str]:
    """The summary of each text, by greedy search. Long texts are cut at their end.

    Args:
        model: The model.
        texts: The texts.
        ctx: The context of the operator.
        max_new_tokens: The largest number of tokens of a summary.
    """
    if not texts:
        return []
    loaded = ctx.model(model, load_summarizer)

    def run(batch: list[list[int]]) -> Results[str]:
        with loaded.inference():
            ids = loaded.network.generate(**loaded.padded(batch), max_new_tokens=max_new_tokens, do_sample=False)
        made = [text.strip() for text in loaded.tokenizer.batch_decode(ids, skip_special_tokens=True)]
        return lambda: made

    found = [""] * len(texts)
    for number, text in feed_texts(texts, loaded.tokens, run, limits=loaded.text_limits, size=len):
        found[number] = text
    return found
