"""Describes the main characters of images: the operator `detect_character_attributes_mapper`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from jinx_pipeline.llm.images import picture_url
from jinx_pipeline.models.pictures import parts_of
from jinx_pipeline.operators.api.arguments import Arguments
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import META, with_metadata
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.characters import LOCATIONS_PROMPT, Locating, LocatingCharacters
from jinx_pipeline.operators.llm.faults import faults_of, with_faults
from jinx_pipeline.operators.llm.vision_arguments import VisionModel
from jinx_pipeline.sample.media import Media

_SEEN_PROMPT = "detect_character_attributes_seen"


@dataclass(frozen=True, kw_only=True)
class Locations(Locating):
    """The parameters of `detect_character_locations_mapper`."""

    mllm_mapper_args: Annotated[dict[str, Any], Arguments(VisionModel)] = field(default_factory=dict[str, Any])


@register("detect_character_attributes_mapper", modality="multimodal")
class DetectCharacterAttributesMapper(LocatingCharacters, Mapper):
    """Adds to `__dj__meta__` the list `main_character_attributes_list`: what characterizes an image's characters.

    The names of the characters are in the column `main_character_list`, or in `__dj__meta__`. They are located as
    `detect_character_locations_mapper` does it. A language model with vision collects what the text says of each; of
    those that are located, it then checks and completes the list by their part of the image. An entry has
    `main_character`, `bbox` (empty if the character is not located), and `characteristic_list`: what can be seen, or
    what the text says if nothing can.

        create("detect_character_attributes_mapper", detect_character_locations_mapper_args={
            "mllm_mapper_args": {"hf_model": "qwen-vl"}, "yoloe_path": "/models/owlvit"})

    The list is checked in one request. (Data-Juicer asks about each entry.) Needs transformers, torch and Pillow (the
    extra `model`).

    Attributes:
        mllm_mapper_args: The model, in place of that in `detect_character_locations_mapper_args`.
        detect_character_locations_mapper_args: The parameters of `detect_character_locations_mapper`:
            `mllm_mapper_args`, `image_text_matching_filter_args`, `yoloe_path`, `yoloe_conf`, `iou_threshold` and
            `matching_score_threshold`.
    """

    detect_character_locations_mapper_args: Annotated[dict[str, Any], Arguments(Locations)] = field(
        default_factory=dict[str, Any]
    )

    batch_size = 32
    prompts = ("detect_character_attributes_mapper", _SEEN_PROMPT, LOCATIONS_PROMPT)

    @property
    def reads(self) -> tuple[str, ...]:
        return ("text", "images", META)

    @property
    def writes(self) -> tuple[str, ...]:
        return (META,)

    @property
    def vision(self) -> VisionModel:
        return VisionModel(**{**self.locating().mllm_mapper_args, **self.mllm_mapper_args})

    def locating(self) -> Locations:
        return Locations(**self.detect_character_locations_mapper_args)

    def resolve(self) -> None:
        super().resolve()
        place = "detect_character_locations_mapper_args"
        self.refuse_other_locators(f"{place}.yoloe_path", f"{place}.image_text_matching_filter_args.hf_blip")

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        ctx.begins(0)  # no time limit per row while the model runs
        images = [list(media) for media in batch.media("images")]
        names = [of_sample if media else [] for of_sample, media in zip(self.characters_of(batch), images, strict=True)]
        located, faults = self.locations(names, images, ctx)
        said = self._said(names, batch.text.to_pylist(), images, faults, ctx)
        boxes = {
            (row, character["main_character"]): character["bbox"]
            for row, characters in enumerate(located)
            for character in characters
        }
        seen = self._seen(
            {key: (box, images[key[0]][0]) for key, box in boxes.items() if key in said}, said, faults, ctx
        )
        found = [
            [
                {
                    "main_character": name,
                    "bbox": boxes.get((row, name), []),
                    "characteristic_list": seen.get((row, name)) or said.get((row, name), ("", []))[1],
                }
                for name in of_sample
            ]
            for row, of_sample in enumerate(names)
        ]
        facts = [{"main_character_attributes_list": characters} for characters in found]
        return with_metadata(batch.samples(), with_faults(facts, faults, self.name))

    def _said(
        self,
        names: Sequence[Sequence[str]],
        texts: Sequence[str],
        images: Sequence[Sequence[Media]],
        faults: dict[int, Mapping[str, Any]],
        ctx: Context,
    ) -> dict[tuple[int, str], tuple[str, list[str]]]:
        """The kind of each character, and what the text says about it, by row and name."""
        prompt = self.template()
        keys = [(row, name) for row, of_sample in enumerate(names) for name in of_sample]
        messages = [
            prompt.messages({"character": name, "text": texts[row]}, images=[self.url_of(images[row][0])])
            for row, name in keys
        ]
        answers = self.ask(ctx, prompt, messages)
        faults |= faults_of([row for row, _ in keys], answers)
        return {
            key: (answer.value["kind"], _distinct(answer.value["characteristics"]))
            for key, answer in zip(keys, answers, strict=True)
            if answer.parsed.is_good
        }

    def _seen(
        self,
        located: Mapping[tuple[int, str], tuple[Sequence[float], Media]],
        said: Mapping[tuple[int, str], tuple[str, list[str]]],
        faults: dict[int, Mapping[str, Any]],
        ctx: Context,
    ) -> dict[tuple[int, str], list[str]]:
        """What the part of the image that shows a character reveals about it."""
        prompt = self.template(_SEEN_PROMPT)
        messages = [
            prompt.messages(
                {"character": key[1], "characteristics": json.dumps(said[key][1], ensure_ascii=False)},
                {"kind": said[key][0]},
                [picture_url(part, self.max_image_side, self.max_image_bytes)],
            )
            for key, (box, medium) in located.items()
            for part in parts_of([(box[0], box[1], box[2], box[3])]).make(medium)
        ]
        answers = self.ask(ctx, prompt, messages)
        faults |= faults_of([row for row, _ in located], answers)
        return {
            key: _distinct([entry["characteristic"] for entry in answer.value["entries"] if entry["is_seen"]])
            for key, answer in zip(located, answers, strict=True)
            if answer.parsed.is_good
        }


def _distinct(phrases: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(phrase.strip() for phrase in phrases if phrase.strip()))
