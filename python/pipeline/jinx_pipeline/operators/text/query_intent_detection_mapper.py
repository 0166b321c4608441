"""Finds the intents of queries: the operator `query_intent_detection_mapper`."""

from typing import Annotated

from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.query_class import QueryClassMapper


@register("query_intent_detection_mapper", modality="text")
class QueryIntentDetectionMapper(QueryClassMapper):
    """Adds to `__dj__meta__` the intent of each query and its probability, from a classifier.

        create("query_intent_detection_mapper", hf_model="/models/intent")

    Data-Juicer's operator can translate Chinese queries first; take a model for their language. Needs transformers and
    torch (the extra `model`).
    """

    hf_model: Annotated[Model, Kinds("transformers")] = Model(
        path="bespin-global/klue-roberta-small-3i4k-intent-classification"
    )
    label_key: str = "query_intent_label"
    score_key: str = "query_intent_label_score"
