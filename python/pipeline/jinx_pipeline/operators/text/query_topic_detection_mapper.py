"""Finds the topics of queries: the operator `query_topic_detection_mapper`."""

from typing import Annotated

from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.query_class import QueryClassMapper


@register("query_topic_detection_mapper", modality="text")
class QueryTopicDetectionMapper(QueryClassMapper):
    """Adds to `__dj__meta__` the topic of each query and its probability, from a classifier.

        create("query_topic_detection_mapper", hf_model="/models/topic")

    Data-Juicer's operator can translate Chinese queries first; take a model for their language. Needs transformers and
    torch (the extra `model`).
    """

    hf_model: Annotated[Model, Kinds("transformers")] = Model(path="dstefa/roberta-base_topic_classification_nyt_news")
    label_key: str = "query_topic_label"
    score_key: str = "query_topic_label_score"
