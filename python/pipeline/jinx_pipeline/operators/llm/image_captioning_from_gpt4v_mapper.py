"""Writes about images: the operator `image_captioning_from_gpt4v_mapper`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.asking import AskingModel
from jinx_pipeline.operators.llm.mapping import AskingSplitter
from jinx_pipeline.operators.llm.pictures import AskingAboutImages

_TASKS: Final = {
    "description": "Describe the images in detail: what is there, what it looks like, and how it is arranged.",
    "reasoning": "Write a question about the images that needs several steps of thought, then its answer.",
    "conversation": "Write a conversation about the images: a person asks, and an assistant who sees them answers.",
}


@register("image_captioning_from_gpt4v_mapper", modality="multimodal")
class ImageCaptioningFromGpt4vMapper(AskingModel, AskingAboutImages, AskingSplitter):
    """Makes a sample whose text a vision language model writes about the images.

        create("image_captioning_from_gpt4v_mapper", api_model="qwen-vl", api_endpoint="http://localhost:8000/v1")

    The text begins with the tokens of the images.

    Attributes:
        mode: What to write; `custom`: what `user_prompt` says.
        user_prompt: The task of the mode `custom`.
        max_token: The maximum number of tokens of the text.
        temperature: The temperature of sampling.
        keep_original_sample: Whether the sample itself stays too.
    """

    mode: Literal["description", "reasoning", "conversation", "custom"] = "description"
    user_prompt: str = ""
    max_token: Annotated[int, Range(1)] = 500
    temperature: Annotated[float, Range(0, 2)] = 1.0
    keep_original_sample: bool = True

    @property
    def sampling(self) -> Mapping[str, Any]:
        return {"max_tokens": self.max_token, "temperature": self.temperature}

    def given(self) -> Mapping[str, str]:
        return {"task": _TASKS.get(self.mode, self.user_prompt)}

    def children(self, sample: Mapping[str, Any], value: Any) -> Sequence[Mapping[str, Any]]:
        return [*([{}] if self.keep_original_sample else []), {"text": f"{sample['tokens']} {value}"}]
