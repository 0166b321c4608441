"""Gives images tags: the operator `image_tagging_vlm_mapper`."""

from collections.abc import Mapping
from typing import Any

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.asking import AskingAnyModel
from jinx_pipeline.operators.llm.mapping import FactsMapper
from jinx_pipeline.operators.llm.pictures import AskingAboutImages


@register("image_tagging_vlm_mapper", modality="image")
class ImageTaggingVlmMapper(AskingAnyModel, AskingAboutImages, FactsMapper):
    """Adds tags of each image to `__dj__meta__`, from a vision language model.

        create("image_tagging_vlm_mapper", api_or_hf_model="qwen-vl", api_endpoint="http://localhost:8000/v1")

    Attributes:
        tag_field_name: The name in `__dj__meta__` for the list of tags of each image.
    """

    tag_field_name: str = "image_tags"

    @property
    def reads(self) -> tuple[str, ...]:
        return ("images",)

    def fault(self, sample: Mapping[str, Any], value: Any) -> str:
        found, count = len(value["images"]), len(sample["urls"])
        return "" if found == count else f"it has tags for {found} images, and there are {count}"

    def facts(self, value: Any) -> Mapping[str, Any]:
        return {self.tag_field_name: [image["tags"] for image in value["images"]]}
