"""Filters by the similarity to given texts: the operator `text_embd_similarity_filter`."""

from typing import Annotated, Any

from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.text_embedding import ENCODER, Pooling, embed_texts, mean_vector
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter, Stats
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.parameters import NotEmpty, ParameterError, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.language_model_scores import columns_in, filled
from jinx_pipeline.operators.text.padded import PaddedTexts


@register("text_embd_similarity_filter", modality="text")
class TextEmbdSimilarityFilter(PaddedTexts, Filter):
    """Keeps texts by the mean cosine of their embeddings and those of a validation set.

        create("text_embd_similarity_filter", api_or_hf_model="/models/embedding", valid_dataset=[{"text": "a recipe"}])

    Needs transformers and torch (the extra `model`).

    Attributes:
        api_or_hf_model: The directory of a model of transformers or sentence-transformers, its name in the local cache,
            or in the recipe's `models`.
        valid_dataset: The samples of the validation set.
        min_score: The smallest similarity.
        max_score: The largest similarity.
        pooling: `mean`, `cls` or `last`; None: as a sentence-transformers model says, or else the mean.
        input_template: What is embedded, with columns in braces; None: the text of the sample.
    """

    api_or_hf_model: Annotated[Model, Kinds("transformers", "sentence-transformers")]
    valid_dataset: Annotated[list[dict[str, Any]], NotEmpty()]
    min_score: Annotated[float, Range(-1, 1)] = 0.1
    max_score: Annotated[float, Range(-1, 1, or_no_limit=True)] = 1.0
    pooling: Pooling | None = None
    input_template: str | None = None

    batch_size = 1024
    pure = False  # rounding differs between devices
    stats = {"text_embd_similarity": "float64"}
    bounds = {"text_embd_similarity": ("min_score", "max_score")}

    @property
    def reads(self) -> tuple[str, ...]:
        return ("text",) if self.input_template is None else tuple(dict.fromkeys(columns_in(self.input_template)))

    def check(self) -> None:
        try:
            for sample in self.valid_dataset:
                filled(self.input_template or "{text}", sample)
        except KeyError as error:
            raise ParameterError(self.name, "valid_dataset", f"a sample of valid_dataset has no {error}") from None
        except ValueError as error:
            raise ParameterError(self.name, "input_template", f"input_template: {error}") from None

    def resolve(self) -> None:
        refuse_other_models(self, api_or_hf_model=ENCODER)

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        ctx.begins(0)  # no time limit per row while the model runs
        template = self.input_template
        valid = [filled(template or "{text}", sample) for sample in self.valid_dataset]
        # The mean of the cosines is the cosine with the mean vector.
        mean = mean_vector(self.api_or_hf_model, valid, ctx, pooling=self.pooling)
        texts = batch.text.to_pylist() if template is None else [filled(template, sample) for sample in batch.samples()]
        vectors = embed_texts(self.api_or_hf_model, texts, ctx, pooling=self.pooling)
        return {"text_embd_similarity": (vectors @ mean).astype(float) if len(vectors) else []}
