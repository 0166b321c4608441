"""A filter for the perplexity of texts under a language model."""

from pathlib import Path
from typing import Any, Literal

import numpy as np

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter, Stats
from jinx_pipeline.operators.api.needed_files import NeededFile, needed
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.tokens import load_tokenizer, needed_tokenizer


@register("perplexity_filter", modality="text")
class PerplexityFilter(Filter):
    """Keeps texts whose perplexity under an n-gram language model lies in a range.

    Perplexity measures how much a text surprises the model; it is low for the kind of text that the model was trained
    on. Each line of a text is a sentence. A text without words has the perplexity 0.

    `jinx-pipeline train-lm` makes a model from texts that you trust; a KenLM model works too, as an ARPA file.

        create("perplexity_filter", model="path/of/en.arpa", max_ppl=500)([{"text": "This is a sentence."}])

    Attributes:
        lang: The language of the texts; not used, since the model decides.
        min_ppl: The smallest perplexity.
        max_ppl: The largest perplexity.
        model: The path of an ARPA file. Nothing is downloaded.
        unit: The words of the model: `word` for text between white space, `character` for characters.
        tokenizer: The path of a `tokenizer.json` if the model was trained on tokens: its tokens, joined by spaces, are
            the words.
    """

    model: Path
    lang: str = "en"
    min_ppl: float = 0
    max_ppl: float = 1500
    unit: Literal["word", "character"] = "word"
    tokenizer: Path | None = None

    stats = {"perplexity": "float64"}
    bounds = {"perplexity": ("min_ppl", "max_ppl")}

    @property
    def needed_files(self) -> list[NeededFile]:
        return [needed("model", self.model), *needed_tokenizer("tokenizer", self.tokenizer)]

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        model = ctx.model(str(self.model), _load_model)
        texts: Any = batch.text
        if self.tokenizer is not None:
            texts = _tokenized(texts.to_pylist(), ctx.model(str(self.tokenizer), load_tokenizer))
        scores = model.score(texts, unit=self.unit, threads=ctx.threads)
        logarithms, words = scores[:, 0], scores[:, 1]
        with np.errstate(over="ignore"):
            perplexity = 10 ** (-logarithms / np.maximum(words, 1))
        return {"perplexity": np.where(words > 0, perplexity, 0.0)}


def _load_model(name: str, device: str) -> kernels.LanguageModel:
    del device
    if not Path(name).is_file():
        raise FileNotFoundError(f"{name}: no language model there; jinx-pipeline train-lm makes one")
    return kernels.LanguageModel(name)


def _tokenized(texts: list[str | None], tokenizer: Any) -> list[str]:
    """The lines of the texts as tokens separated by spaces."""
    lines = [(number, line) for number, text in enumerate(texts) for line in (text or "").splitlines()]
    encoded = tokenizer.encode_batch([line for _, line in lines], add_special_tokens=False)
    tokenized: list[list[str]] = [[] for _ in texts]
    for (number, _), encoding in zip(lines, encoded, strict=True):
        tokenized[number].append(" ".join(encoding.tokens))
    return ["\n".join(text_lines) for text_lines in tokenized]
