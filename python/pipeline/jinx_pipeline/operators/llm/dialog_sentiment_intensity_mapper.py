"""Finds how positive each turn of a user is: the operator `dialog_sentiment_intensity_mapper`."""

from collections.abc import Mapping
from typing import Any

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.dialog import DialogLabels


@register("dialog_sentiment_intensity_mapper", modality="text")
class DialogSentimentIntensityMapper(DialogLabels):
    """Adds how positive each turn of the user in a dialog is to `__dj__meta__`, from -5 to 5.

        create("dialog_sentiment_intensity_mapper", api_model="qwen", api_endpoint="http://localhost:8000/v1")

    Attributes:
        intensities_key: The name in `__dj__meta__` for the numbers.
        analysis_key: The name in `__dj__meta__` for their reasons.
    """

    intensities_key: str = "dialog_sentiment_intensity"
    analysis_key: str = "dialog_sentiment_intensity_analysis"

    def facts(self, value: Any) -> Mapping[str, Any]:
        turns = value["turns"]
        return {
            self.intensities_key: [turn["label"] for turn in turns],
            self.analysis_key: [turn["analysis"] for turn in turns],
        }
