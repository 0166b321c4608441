"""The base of operators that answer the requests in samples, like an inference engine."""

from collections.abc import Mapping
from typing import Any

from jinx_pipeline.llm.prompt import Prompt
from jinx_pipeline.operators.api.metadata import META
from jinx_pipeline.operators.llm.asking import AskingAnyModel, Messages, as_text
from jinx_pipeline.operators.llm.mapping import RewritingMapper


class EngineMapper(AskingAnyModel, RewritingMapper):
    """Answers the request of each sample. Unlike with other operators, it is the request itself, and no data.

    Attributes:
        query_key: The column with the request.
        response_key: The column for the answer.
    """

    query_key: str = "query"
    response_key: str = "response"

    @property
    def keys(self) -> Mapping[str, str]:
        return {"query": self.query_key}

    @property
    def writes(self) -> tuple[str, ...]:
        return (self.response_key, META)

    def messages_for(self, prompt: Prompt, sample: Mapping[str, Any]) -> Messages | None:
        query = as_text(sample.get(self.query_key))
        if not query.strip():
            return None
        task = prompt.system.strip()
        urls = sample.get("urls", [])
        parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
        content: Any = [*parts, {"type": "text", "text": query}] if parts else query
        return [*([{"role": "system", "content": task}] if task else []), {"role": "user", "content": content}]

    def columns(self, value: Any) -> Mapping[str, Any]:
        return {self.response_key: value}
