"""Finds the main characters of images: the operator `detect_main_character_mapper`."""

from collections.abc import Mapping
from typing import Annotated, Any

from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.mapping import FactsMapper
from jinx_pipeline.operators.llm.pictures import AskingAboutImages
from jinx_pipeline.operators.llm.vision_arguments import AskingVisionModel


@register("detect_main_character_mapper", modality="multimodal")
class DetectMainCharacterMapper(AskingVisionModel, AskingAboutImages, FactsMapper):
    """Adds to `__dj__meta__` the list `main_character_list`: the people, animals and things that images are about.

    A language model with vision names them, with the text of the sample as a caption.

        create("detect_main_character_mapper", mllm_mapper_args={"hf_model": "qwen-vl"})

    Attributes:
        filter_min_character_num: If there are fewer, the list is empty.
    """

    filter_min_character_num: Annotated[int, Range(0)] = 0

    def facts(self, value: Any) -> Mapping[str, Any]:
        names = list(dict.fromkeys(name.strip() for name in value["characters"] if name.strip()))
        return {"main_character_list": names if len(names) >= self.filter_min_character_num else []}
