"""Finds personal data that rules have missed: the operator `pii_llm_suspect_mapper`."""

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, Final, Literal

from jinx_pipeline.operators.api.metadata import metadata_of
from jinx_pipeline.operators.api.parameters import Range, Words
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.asking import AskingModel, as_text
from jinx_pipeline.operators.llm.mapping import FactsMapper

_SIGNS: Final = re.compile(r"@|\d[\d\s().-]{4,}\d|https?://")
_NAMES: Final = re.compile(r"\b[A-Z][a-z]+ [A-Z][a-z]+\b")


@register("pii_llm_suspect_mapper", modality="text")
class PiiLlmSuspectMapper(AskingModel, FactsMapper):
    """Adds passages that may be personal data to `__dj__meta__`; an answer is bad if a passage is not in the text.

        create("pii_llm_suspect_mapper", api_model="qwen", inspect_keys=["query", "response"])

    Attributes:
        inspect_keys: The columns that the model sees.
        max_chars_messages_excerpt: How much of them the model sees.
        gate_mode: Ask about all samples (`always`), or those with numbers, addresses or names (`heuristic`).
        heuristic_name_rules: Whether two capitalized words are a sign too.
        overwrite: Whether samples that have a result are asked about again.
        suspect_key: The name in `__dj__meta__` for the list of dicts with `passage`, `kind` and `reason`.
    """

    inspect_keys: Words = field(default_factory=lambda: ["text"])
    max_chars_messages_excerpt: Annotated[int, Range(1)] = 8000
    gate_mode: Literal["heuristic", "always"] = "heuristic"
    heuristic_name_rules: bool = True
    overwrite: bool = False
    suspect_key: str = "pii_llm_suspect"

    @property
    def keys(self) -> Mapping[str, str]:
        return {key: key for key in self.inspect_keys}

    def data(self, sample: Mapping[str, Any]) -> Mapping[str, str] | None:
        if self.suspect_key in metadata_of(sample) and not self.overwrite:
            return None
        text = self._excerpt(sample)
        is_sign = _SIGNS.search(text) or (self.heuristic_name_rules and _NAMES.search(text))
        return {"text": text} if text.strip() and (is_sign or self.gate_mode == "always") else None

    def fault(self, sample: Mapping[str, Any], value: Any) -> str:
        text = self._excerpt(sample)
        invented = [found["passage"] for found in value["findings"] if found["passage"] not in text]
        return f"{invented[0]!r:.80} is not in the text" if invented else ""

    def facts(self, value: Any) -> Mapping[str, Any]:
        return {self.suspect_key: value["findings"]}

    def _excerpt(self, sample: Mapping[str, Any]) -> str:
        return "\n\n".join(as_text(sample.get(key)) for key in self.inspect_keys)[: self.max_chars_messages_excerpt]
