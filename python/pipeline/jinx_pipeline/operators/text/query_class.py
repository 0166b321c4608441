"""The base class of mappers that classify queries with a model."""

from collections.abc import Mapping
from typing import Annotated, Any

from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.text_classifier import TEXT_CLASSIFIER, labels_and_scores
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import META, with_metadata
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import NotEmpty
from jinx_pipeline.operators.text.padded import PaddedTexts


class QueryClassMapper(PaddedTexts, Mapper):
    """Adds to `__dj__meta__` the most likely class of each query, and its probability.

    Attributes:
        hf_model: The directory of a model that classifies texts with its tokenizer, its name in the local cache, or in
            the recipe's `models`.
        label_key: The name of the class in `__dj__meta__`.
        score_key: The name of its probability.
        query_key: The column or path of the query.
    """

    hf_model: Annotated[Model, Kinds("transformers")]
    label_key: Annotated[str, NotEmpty()]
    score_key: Annotated[str, NotEmpty()]
    query_key: Annotated[str, NotEmpty()] = "query"

    batch_size = 1024
    pure = False  # rounding differs between devices

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.query_key, META)

    @property
    def writes(self) -> tuple[str, ...]:
        return (META,)

    def resolve(self) -> None:
        refuse_other_models(self, hf_model=TEXT_CLASSIFIER)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        ctx.begins(0)  # no time limit per row while the model runs
        queries = batch.column(self.query_key)
        for query in queries:
            if not isinstance(query, str):
                raise TypeError(f"{self.query_key} is not a text: {query!r:.60}")
        found = labels_and_scores(self.hf_model, queries, ctx)
        facts = [{self.label_key: label, self.score_key: score} for label, score in found]
        return with_metadata(batch.samples(), facts)
