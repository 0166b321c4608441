"""Finds the sentiments of queries: the operator `query_sentiment_detection_mapper`."""

from typing import Annotated

from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.query_class import QueryClassMapper


@register("query_sentiment_detection_mapper", modality="text")
class QuerySentimentDetectionMapper(QueryClassMapper):
    """Adds to `__dj__meta__` the sentiment of each query and its probability, from a classifier.

        create("query_sentiment_detection_mapper", hf_model="/models/sentiment")

    Data-Juicer's operator can translate Chinese queries first; take a model for their language. Needs transformers and
    torch (the extra `model`).
    """

    hf_model: Annotated[Model, Kinds("transformers")] = Model(
        path="mrm8488/distilroberta-finetuned-financial-news-sentiment-analysis"
    )
    label_key: str = "query_sentiment_label"
    score_key: str = "query_sentiment_label_score"
