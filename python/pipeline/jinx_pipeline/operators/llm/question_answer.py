"""The bases of mappers that rewrite the question and the answer of a sample."""

from collections.abc import Mapping
from typing import Any, ClassVar

from jinx_pipeline.operators.api.metadata import META
from jinx_pipeline.operators.llm.asking import AskingAnyModel, AskingModel
from jinx_pipeline.operators.llm.mapping import RewritingMapper


class QuestionAnswerMapper(RewritingMapper):
    """Rewrites the question, the answer, or both.

    Attributes:
        query_key: The column with the question.
        response_key: The column with the answer.
    """

    query_key: str = "query"
    response_key: str = "response"

    written: ClassVar[tuple[str, ...]] = ("query", "response")

    @property
    def keys(self) -> Mapping[str, str]:
        return {"query": self.query_key, "response": self.response_key}

    @property
    def writes(self) -> tuple[str, ...]:
        return (*(self.keys[place] for place in self.written), META)

    def data(self, sample: Mapping[str, Any]) -> Mapping[str, str] | None:
        data = super().data(sample)
        # A sample without a text cannot be improved.
        return data if data is not None and any(data[place].strip() for place in self.written) else None

    def columns(self, value: Any) -> Mapping[str, Any]:
        return {self.keys[place]: value[place] for place in self.written}


class CalibratingMapper(AskingModel, QuestionAnswerMapper):
    """Corrects the question, the answer, or both, according to the text of the sample.

    Attributes:
        reference_key: The column with the reference text.
    """

    reference_key: str = "text"

    @property
    def keys(self) -> Mapping[str, str]:
        return {"reference": self.reference_key, **super().keys}


class OptimizingMapper(AskingAnyModel, QuestionAnswerMapper):
    """Improves the question, the answer, or both."""
