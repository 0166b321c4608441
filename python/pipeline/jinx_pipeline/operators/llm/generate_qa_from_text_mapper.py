"""Makes questions and answers from texts: the operator `generate_qa_from_text_mapper`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.asking import AskingHfModel
from jinx_pipeline.operators.llm.mapping import AskingSplitter


@register("generate_qa_from_text_mapper", modality="text")
class GenerateQaFromTextMapper(AskingHfModel, AskingSplitter):
    """Makes a sample of each question that a text answers, with the answer.

        create("generate_qa_from_text_mapper", hf_model="qwen", api_endpoint="http://localhost:8000/v1", max_num=3)

    Attributes:
        max_num: How many questions of a text are used; None: all.
        query_key: The column for the question.
        response_key: The column for the answer.
        text_key: The column with the text.
    """

    max_num: Annotated[int, Range(1)] | None = None
    query_key: str = "query"
    response_key: str = "response"
    text_key: str = "text"

    @property
    def keys(self) -> Mapping[str, str]:
        return {"text": self.text_key}

    def given(self) -> Mapping[str, str]:
        return {"number": "as many questions as it answers" if self.max_num is None else f"at most {self.max_num}"}

    def children(self, sample: Mapping[str, Any], value: Any) -> Sequence[Mapping[str, Any]]:
        pairs = value["pairs"][: self.max_num]
        return [{self.query_key: pair["question"], self.response_key: pair["answer"]} for pair in pairs] or [{}]
