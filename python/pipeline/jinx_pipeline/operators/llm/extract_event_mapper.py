"""Makes a sample of each event in a text: the operator `extract_event_mapper`."""

from collections.abc import Mapping, Sequence
from typing import Any

from jinx_pipeline.operators.api.metadata import META
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.asking import AskingModel
from jinx_pipeline.operators.llm.mapping import AskingSplitter


@register("extract_event_mapper", modality="text")
class ExtractEventMapper(AskingModel, AskingSplitter):
    """Makes a sample of each event in a text, with its description and characters in `__dj__meta__`.

        create("extract_event_mapper", api_model="qwen", api_endpoint="http://localhost:8000/v1")

    Attributes:
        event_desc_key: The name in `__dj__meta__` for the description.
        relevant_char_key: The name in `__dj__meta__` for the list of characters.
        text_key: The column with the text.
        drop_text: Whether the text of the new samples is empty.
    """

    event_desc_key: str = "event_description"
    relevant_char_key: str = "relevant_characters"
    text_key: str = "text"
    drop_text: bool = False

    @property
    def keys(self) -> Mapping[str, str]:
        return {"text": self.text_key}

    def children(self, sample: Mapping[str, Any], value: Any) -> Sequence[Mapping[str, Any]]:
        text = {self.text_key: ""} if self.drop_text else {}
        events = [
            {META: {self.event_desc_key: event["description"], self.relevant_char_key: event["characters"]}, **text}
            for event in value["events"]
        ]
        return events or [{}]
