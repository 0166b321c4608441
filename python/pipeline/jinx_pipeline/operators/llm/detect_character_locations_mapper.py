"""Locates the main characters of images: the operator `detect_character_locations_mapper`."""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any

from jinx_pipeline.operators.api.arguments import Arguments
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import META, with_metadata
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import Share
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.characters import Locating, LocatingCharacters, Matching
from jinx_pipeline.operators.llm.faults import with_faults


@register("detect_character_locations_mapper", modality="multimodal")
class DetectCharacterLocationsMapper(LocatingCharacters, Mapper):
    """Adds to `__dj__meta__` the list `main_character_locations_list`: where the characters are in the first image.

    The names of the characters are in the column `main_character_list`, or in `__dj__meta__`, as
    `detect_main_character_mapper` makes them. A detector looks for each; of those that it finds, a language model with
    vision gives a box too. If the two boxes agree, the larger one is taken; otherwise the one whose part of the image a
    BLIP model finds more similar to the name, if it is similar enough. An entry has `main_character` and `bbox`: left,
    top, right and bottom in pixels.

        create("detect_character_locations_mapper", yoloe_path="/models/owlvit", mllm_mapper_args={"hf_model": "qwen"})

    (Data-Juicer's detector is YOLOE of Ultralytics.) Needs transformers, torch and Pillow (the extra `model`).

    Attributes:
        image_text_matching_filter_args: `hf_blip`, the directory of a BLIP model for retrieval with its processor, its
            name in the local cache, or in the recipe's `models`.
        yoloe_path: The directory of an OWL-ViT or OWLv2 model with its processor, or the like.
        yoloe_conf: The smallest probability of a box of that model.
        iou_threshold: Two boxes agree if their intersection is a larger share of their union.
        matching_score_threshold: The smallest probability that a part of the image shows the character.
    """

    image_text_matching_filter_args: Annotated[dict[str, Any], Arguments(Matching)] = field(
        default_factory=dict[str, Any]
    )
    yoloe_path: Annotated[Model, Kinds("transformers")] = Locating.yoloe_path
    yoloe_conf: Share = Locating.yoloe_conf
    iou_threshold: Share = Locating.iou_threshold
    matching_score_threshold: Share = Locating.matching_score_threshold

    batch_size = 32

    @property
    def writes(self) -> tuple[str, ...]:
        return (META,)

    def locating(self) -> Locating:
        return Locating(
            image_text_matching_filter_args=self.image_text_matching_filter_args,
            yoloe_path=self.yoloe_path,
            yoloe_conf=self.yoloe_conf,
            iou_threshold=self.iou_threshold,
            matching_score_threshold=self.matching_score_threshold,
        )

    def resolve(self) -> None:
        super().resolve()
        self.refuse_other_locators("yoloe_path", "image_text_matching_filter_args.hf_blip")

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        ctx.begins(0)  # no time limit per row while the model runs
        images = [list(media) for media in batch.media("images")]
        found, faults = self.locations(self.characters_of(batch), images, ctx)
        facts = [{"main_character_locations_list": characters} for characters in found]
        return with_metadata(batch.samples(), with_faults(facts, faults, self.name))
