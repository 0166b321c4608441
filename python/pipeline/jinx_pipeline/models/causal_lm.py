"""The loss of a causal language model on texts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from jinx_pipeline.models.feed import Results, feed_texts
from jinx_pipeline.models.files import Expected
from jinx_pipeline.models.pretrained import Pretrained, load_pretrained
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Model

CAUSAL_LM: Final = Expected("a causal language model", ("ForCausalLM", "LMHeadModel"), ("texts",))
"""Any such model of transformers."""

if TYPE_CHECKING:
    import torch


class Scored(NamedTuple):
    """A text whose end is scored.

    Attributes:
        context: What precedes the scored text; it may be empty.
        text: The scored text.
    """

    context: str
    text: str


class _Tokens(NamedTuple):
    ids: list[int]
    scored: int


def load_causal_lm(model: Model, device: str) -> Pretrained:
    """A language model, for `Context.model`."""
    return load_pretrained(model, device, "AutoModelForCausalLM", "AutoTokenizer")


def losses(model: Model, texts: Sequence[Scored], ctx: Context, *, max_length: int | None) -> list[float | None]:
    """The mean negative log-likelihood of the tokens of each text; None if no token has one before it.

    Context and text are joined by a space. Too long ones lose their beginning.

    Args:
        model: The model.
        texts: The texts.
        ctx: The context of the operator.
        max_length: The largest number of tokens; None: what the model takes.
    """
    if not texts:
        return []
    loaded = ctx.model(model, load_causal_lm)
    limits = (max_length, getattr(loaded.network.config, "max_position_embeddings", None))
    limit = min((number for number in limits if number is not None), default=None)

    def tokenize(part: Sequence[Scored]) -> list[_Tokens]:
        whole = loaded.encoded([f"{text.context} {text.text}".strip() for text in part])
        alone = loaded.encoded([text.text.strip() for text in part], add_special_tokens=False)
        return [_cut(_Tokens(ids, len(scored)), limit) for ids, scored in zip(whole, alone, strict=True)]

    def run(batch: list[_Tokens]) -> Results[float | None]:
        import torch

        scored = [tokens for tokens in batch if tokens.scored]
        if not scored:
            return lambda: [None] * len(batch)
        with loaded.inference():
            inputs = loaded.padded([tokens.ids for tokens in scored])
            logits = loaded.network(**inputs, use_cache=False).logits
            # One text at a time, because float copies of all logits would double the memory.
            means = [_mean_loss(logits[row], inputs["input_ids"][row], tokens) for row, tokens in enumerate(scored)]
            stacked = torch.stack(means)

        def read() -> list[float | None]:
            values = iter(stacked.tolist())
            return [next(values) if tokens.scored else None for tokens in batch]

        return read

    found: list[float | None] = [None] * len(texts)
    for number, loss in feed_texts(
        texts, tokenize, run, limits=loaded.text_limits, size=lambda tokens: len(tokens.ids)
    ):
        found[number] = loss
    return found


def _cut(tokens: _Tokens, limit: int | None) -> _Tokens:
    """The last tokens that fit; the first one is never scored, because nothing precedes it."""
    ids = tokens.ids if limit is None else tokens.ids[-limit:]
    return _Tokens(ids, max(min(tokens.scored, len(ids) - 1), 0))


def _mean_loss(logits: "torch.Tensor", ids: "torch.Tensor", tokens: _Tokens) -> Any:
    from torch.nn.functional import cross_entropy

    stop = len(tokens.ids)
    start = stop - tokens.scored
    return cross_entropy(logits[start - 1 : stop - 1].float(), ids[start:stop])
