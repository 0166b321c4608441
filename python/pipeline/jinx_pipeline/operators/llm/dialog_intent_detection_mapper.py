"""Finds the intent of each turn of a user: the operator `dialog_intent_detection_mapper`."""

from collections.abc import Mapping
from typing import Any

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.dialog import DialogLabels


@register("dialog_intent_detection_mapper", modality="text")
class DialogIntentDetectionMapper(DialogLabels):
    """Adds the intent of each turn of the user in a dialog to `__dj__meta__`.

        create("dialog_intent_detection_mapper", api_model="qwen", intent_candidates=["first", "second"])

    Attributes:
        intent_candidates: The labels to choose from; None: any.
        labels_key: The name in `__dj__meta__` for the labels.
        analysis_key: The name in `__dj__meta__` for their reasons.
    """

    intent_candidates: list[str] | None = None
    labels_key: str = "dialog_intent_labels"
    analysis_key: str = "dialog_intent_labels_analysis"

    @property
    def candidates(self) -> list[str] | None:
        return self.intent_candidates

    def facts(self, value: Any) -> Mapping[str, Any]:
        turns = value["turns"]
        return {
            self.labels_key: [turn["label"] for turn in turns],
            self.analysis_key: [turn["analysis"] for turn in turns],
        }
