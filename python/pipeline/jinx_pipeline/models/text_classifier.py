"""Classes of texts, from sequence classification models."""

from collections.abc import Sequence
from typing import Any, Final

from jinx_pipeline.models.feed import Results, feed_texts
from jinx_pipeline.models.files import Expected
from jinx_pipeline.models.pretrained import Pretrained, load_pretrained
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Model

TEXT_CLASSIFIER: Final = Expected("a model that classifies texts", ("ForSequenceClassification",), ("texts",))
"""Any such model of transformers, such as RoBERTa with a head."""


def load_text_classifier(model: Model, device: str) -> Pretrained:
    """A classifier of texts, for `Context.model`."""
    return load_pretrained(model, device, "AutoModelForSequenceClassification", "AutoTokenizer")


def labels_and_scores(model: Model, texts: Sequence[str], ctx: Context) -> list[tuple[str, float]]:
    """The most likely class of each text and its probability. Long texts are cut at their end.

    Args:
        model: The model.
        texts: The texts.
        ctx: The context of the operator.
    """
    if not texts:
        return []
    loaded = ctx.model(model, load_text_classifier)
    config = loaded.network.config
    is_exclusive = config.num_labels > 1 and config.problem_type != "multi_label_classification"

    def run(batch: list[list[int]]) -> Results[tuple[float, int]]:
        with loaded.inference():
            logits = loaded.network(**loaded.padded(batch)).logits.float()
            scores, numbers = (logits.softmax(dim=-1) if is_exclusive else logits.sigmoid()).max(dim=-1)
        return lambda: list(zip(scores.tolist(), numbers.tolist(), strict=True))

    found: list[Any] = [None] * len(texts)
    for number, (score, label) in feed_texts(texts, loaded.tokens, run, limits=loaded.text_limits, size=len):
        found[number] = (str(config.id2label[label]), score)
    return found
