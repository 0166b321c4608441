"""Embeds texts: the operator `text_embedding_mapper`."""

from collections.abc import Mapping
from typing import Annotated, Any

from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.text_embedding import ENCODER, Pooling, embed_texts
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import NotEmpty
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.padded import PaddedTexts


@register("text_embedding_mapper", modality="text")
class TextEmbeddingMapper(PaddedTexts, Mapper):
    """Adds a column with the embedding of the text: a vector of length 1.

        create("text_embedding_mapper", hf_model="/models/embedding")

    A view stores the vectors as an array of float32, other outputs as lists. Needs transformers and torch (the extra
    `model`).

    Attributes:
        hf_model: The directory of a model of transformers or sentence-transformers, its name in the local cache, or in
            the recipe's `models`.
        pooling: `mean`, `cls` or `last`; None: as a sentence-transformers model says, or else the mean.
        embedding_field: The column for the vectors.
    """

    hf_model: Annotated[Model, Kinds("transformers", "sentence-transformers")]
    pooling: Pooling | None = None
    embedding_field: Annotated[str, NotEmpty()] = "text_embedding"

    batch_size = 1024
    pure = False  # rounding differs between devices

    @property
    def writes(self) -> tuple[str, ...]:
        return (self.embedding_field,)

    @property
    def vector_columns(self) -> tuple[str, ...]:
        return self.writes

    def resolve(self) -> None:
        refuse_other_models(self, hf_model=ENCODER)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        ctx.begins(0)  # no time limit per row while the model runs
        return {
            self.embedding_field: embed_texts(self.hf_model, batch.text.to_pylist(), ctx, pooling=self.pooling).tolist()
        }
