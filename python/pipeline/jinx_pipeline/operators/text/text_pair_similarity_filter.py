"""Filters by the similarity of two texts: the operator `text_pair_similarity_filter`."""

from typing import Annotated

from jinx_pipeline.models.clip import CLIP_OF_TEXTS, DEFAULT_CLIP, Clip
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Stats
from jinx_pipeline.operators.api.media_filter import ListFilter
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.parameters import NotEmpty, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.padded import PaddedTexts


@register("text_pair_similarity_filter", modality="text")
class TextPairSimilarityFilter(PaddedTexts, ListFilter):
    """Keeps samples whose text is similar to a second text, by the cosine of their CLIP embeddings.

    A sample in which one of them is missing or empty has no value.

        create("text_pair_similarity_filter", hf_clip="/models/clip", text_key_second="caption", min_score=0.5)

    Needs transformers and torch (the extra `model`).

    Attributes:
        hf_clip: The directory of a CLIP or SigLIP model with its tokenizer, its name in the local cache, or in the
            recipe's `models`.
        text_key_second: The column or path of the second text.
        min_score: The smallest similarity.
        max_score: The largest similarity.
    """

    hf_clip: Annotated[Model, Kinds("transformers")] = DEFAULT_CLIP
    text_key_second: Annotated[str, NotEmpty()]
    min_score: Annotated[float, Range(-1, 1)] = 0.1
    max_score: Annotated[float, Range(-1, 1, or_no_limit=True)] = 1.0

    batch_size = 1024
    pure = False  # rounding differs between devices
    stats = {"text_pair_similarity": "list<float64>"}
    bounds = {"text_pair_similarity": ("min_score", "max_score")}

    @property
    def reads(self) -> tuple[str, ...]:
        return ("text", self.text_key_second)

    def resolve(self) -> None:
        refuse_other_models(self, hf_clip=CLIP_OF_TEXTS)

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        ctx.begins(0)  # no time limit per row while the model runs
        firsts, seconds = batch.text.to_pylist(), batch.column(self.text_key_second)
        for value in seconds:
            if value is not None and not isinstance(value, str):
                raise TypeError(f"{self.text_key_second} is not a text: {value!r:.60}")
        pairs = [(first, second) if first and second else None for first, second in zip(firsts, seconds, strict=True)]
        vectors = iter(Clip(self.hf_clip, ctx).texts([text for pair in pairs if pair for text in pair]))
        return {
            "text_pair_similarity": [[] if pair is None else [float(next(vectors) @ next(vectors))] for pair in pairs]
        }
