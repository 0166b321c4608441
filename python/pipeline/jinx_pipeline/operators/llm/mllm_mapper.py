"""Asks a vision language model the questions in samples: the operator `mllm_mapper`."""

from collections.abc import Mapping
from typing import Annotated, Any

from jinx_pipeline.operators.api.metadata import META
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.asking import AskingHfModel
from jinx_pipeline.operators.llm.mapping import RewritingMapper
from jinx_pipeline.operators.llm.pictures import AskingAboutImages


@register("mllm_mapper", modality="multimodal")
class MllmMapper(AskingHfModel, AskingAboutImages, RewritingMapper):
    """Replaces the text of a sample, a question about its images, with the answer of a vision language model.

        create("mllm_mapper", hf_model="qwen-vl", api_endpoint="http://localhost:8000/v1", output_key="answer")

    Attributes:
        max_new_tokens: The maximum number of tokens of the answer.
        temperature: The temperature of sampling.
        top_p: The share of likely tokens to sample from; None: as the service does.
        output_key: The column for the answer.
    """

    max_new_tokens: Annotated[int, Range(1)] = 256
    temperature: Annotated[float, Range(0, 2)] = 0.2
    top_p: Annotated[float, Range(0, 1)] | None = None
    output_key: str = "text"

    @property
    def sampling(self) -> Mapping[str, Any]:
        fields = {"max_tokens": self.max_new_tokens, "temperature": self.temperature}
        return fields if self.top_p is None else {**fields, "top_p": self.top_p}

    @property
    def writes(self) -> tuple[str, ...]:
        return (self.output_key, META)

    def columns(self, value: Any) -> Mapping[str, Any]:
        return {self.output_key: value}
