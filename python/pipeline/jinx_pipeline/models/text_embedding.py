"""Embeddings of texts from encoders of transformers and sentence-transformers."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from jinx_pipeline.models.feed import Results, feed_texts
from jinx_pipeline.models.files import Expected
from jinx_pipeline.models.pretrained import Pretrained, load_pretrained
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Model

if TYPE_CHECKING:
    import numpy.typing as npt

ENCODER: Final = Expected("a model of texts", ("",), ("texts",))
"""Any model of transformers with a tokenizer; one for another task is used without its head."""

Pooling: TypeAlias = Literal["mean", "cls", "last"]
"""Which hidden states make the vector: the mean of all tokens, the first token, or the last."""

_MODES: Final[dict[str, Pooling]] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "last",
}


def load_encoder(model: Model, device: str) -> Pretrained:
    """An encoder, for `Context.model`."""
    return load_pretrained(model, device, "AutoModel", "AutoTokenizer")


def embed_texts(
    model: Model, texts: Sequence[str], ctx: Context, *, pooling: Pooling | None = None
) -> "npt.NDArray[np.float32]":
    """The vectors of texts, scaled to length 1, float32 of shape (n, d). Long texts are cut at their end.

    Args:
        model: The model.
        texts: The texts.
        ctx: The context of the operator.
        pooling: The pooling; None: as the directory of a sentence-transformers model says, or else the mean.
    """
    if not texts:
        return np.empty((0, 0), np.float32)
    loaded = ctx.model(model, load_encoder)
    way = pooling or stored_pooling(model.directory) or "mean"

    def run(batch: list[list[int]]) -> "Results[npt.NDArray[np.float32]]":
        inputs = loaded.padded(batch)
        with loaded.inference():
            states = loaded.network(**inputs).last_hidden_state.float()
            vectors = _pooled(states, inputs["attention_mask"], way)
            vectors = vectors / vectors.norm(dim=-1, keepdim=True)
        return lambda: vectors.cpu().numpy()

    rows: list[Any] = [None] * len(texts)
    for number, row in feed_texts(texts, loaded.tokens, run, limits=loaded.text_limits, size=len):
        rows[number] = row
    return np.stack(rows)


def mean_vector(
    model: Model, texts: Sequence[str], ctx: Context, *, pooling: Pooling | None = None
) -> "npt.NDArray[np.float32]":
    """The mean of the vectors of texts, float32 of shape (d,); computed once per process."""
    kept = ctx.model(model, load_encoder).kept
    key = ("mean", tuple(texts), pooling)
    if key not in kept:
        kept[key] = embed_texts(model, texts, ctx, pooling=pooling).mean(axis=0)
    return kept[key]


def stored_pooling(directory: Path | None) -> Pooling | None:
    """The pooling that the directory of a sentence-transformers model specifies; None if it specifies none."""
    for file in () if directory is None else sorted(directory.glob("*_Pooling/config.json")):
        config = json.loads(file.read_text("utf-8"))
        return next((way for name, way in _MODES.items() if config.get(name)), None)
    return None


def _pooled(states: Any, mask: Any, way: Pooling) -> Any:
    """One vector for each text; padding is on the right."""
    if way == "cls":
        return states[:, 0]
    if way == "last":
        last = mask.sum(dim=1) - 1
        return states[range(len(states)), last]
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1)
