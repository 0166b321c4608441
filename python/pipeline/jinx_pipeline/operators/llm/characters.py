"""The base of operators that find characters in images with a detector, a vision language model, and matching."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from jinx_pipeline.models.detection import overlap
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.grounding import GROUNDING, Phrases, located
from jinx_pipeline.models.matching import MATCHING, matching_pictures
from jinx_pipeline.models.pictures import images_of, parts_of
from jinx_pipeline.operators.api.arguments import Arguments
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.characters import CHARACTERS, characters_of
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import META
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.parameters import Share
from jinx_pipeline.operators.llm.asking import Answer, Messages
from jinx_pipeline.operators.llm.faults import faults_of
from jinx_pipeline.operators.llm.pictures import AskingAboutImages
from jinx_pipeline.operators.llm.vision_arguments import AskingVisionModel
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    from jinx_pipeline.models.pictures import Box

LOCATIONS_PROMPT = "detect_character_locations_mapper"

_BLIP: Final = Model(path="Salesforce/blip-itm-base-coco")
_OWLVIT: Final = Model(path="google/owlvit-base-patch32")


@dataclass(frozen=True, kw_only=True)
class Matching:
    """A BLIP model that tells whether a part of an image shows a character.

    Attributes:
        hf_blip: The directory of a BLIP model for retrieval with its processor, its name in the local cache, or in the
            recipe's `models`.
    """

    hf_blip: Annotated[Model, Kinds("transformers")] = _BLIP


@dataclass(frozen=True, kw_only=True)
class Locating:
    """How characters are located.

    Attributes:
        image_text_matching_filter_args: `hf_blip`; see `Matching`.
        yoloe_path: A model that finds phrases in images.
        yoloe_conf: The smallest probability of a box of that model.
        iou_threshold: Two boxes whose intersection is a larger share of their union are the same.
        matching_score_threshold: The smallest probability that a part of the image shows the character.
    """

    image_text_matching_filter_args: Annotated[dict[str, Any], Arguments(Matching)] = field(
        default_factory=dict[str, Any]
    )
    yoloe_path: Annotated[Model, Kinds("transformers")] = _OWLVIT
    yoloe_conf: Share = 0.25
    iou_threshold: Share = 0.7
    matching_score_threshold: Share = 0.4


class Character(NamedTuple):
    """A character of a sample that may be in its first image."""

    row: int
    name: str
    medium: Media
    box: "Box"


class LocatingCharacters(AskingVisionModel, AskingAboutImages):
    """Finds the boxes of the characters of a sample in its first image."""

    def locating(self) -> Locating:
        """How characters are located."""
        raise NotImplementedError

    def refuse_other_locators(self, detector: str, matching: str) -> None:
        """Refuse models of other classes; errors use the names of the operator's parameters."""
        refuse_other_models(self, **{detector: GROUNDING, matching: MATCHING})

    @property
    def reads(self) -> tuple[str, ...]:
        return ("images", META)

    def characters_of(self, batch: Batch) -> list[list[str]]:
        """The names of the characters of each sample, from a column or from the facts about the sample."""
        column = batch.column(CHARACTERS) if CHARACTERS in batch.column_names else [None] * len(batch)
        known = batch.column(META) if META in batch.column_names else [None] * len(batch)
        return [characters_of({CHARACTERS: given, META: facts}) for given, facts in zip(column, known, strict=True)]

    def locations(
        self, names: Sequence[Sequence[str]], images: Sequence[Sequence[Media]], ctx: Context
    ) -> tuple[list[list[dict[str, Any]]], dict[int, Mapping[str, Any]]]:
        """The characters of each sample that were found, each as `main_character` and `bbox` in whole pixels.

        The second value has for samples with an answer that was not understood what was wrong.
        """
        how = self.locating()
        detected = self._detected(names, images, ctx, how)
        answers = self._asked(detected, ctx)
        blip = Matching(**how.image_text_matching_filter_args).hf_blip
        pairs = [
            (character, _whole(character.box), _box_of(answer.value, character.medium.image().size))
            for character, answer in zip(detected, answers, strict=True)
            if answer.parsed.is_good and answer.value["is_found"]
        ]
        unsure = [(character, boxes) for character, *boxes in pairs if overlap(*boxes) <= how.iou_threshold]
        scores = iter(
            matching_pictures(
                blip, [(character.name, character.medium, parts_of(boxes)) for character, boxes in unsure], ctx
            )
        )
        found: list[list[dict[str, Any]]] = [[] for _ in names]
        for character, first, second in pairs:
            if overlap(first, second) > how.iou_threshold:
                box = max(first, second, key=_area)
            else:
                of_first, of_second = map(float, next(scores))
                if max(of_first, of_second) < how.matching_score_threshold:
                    continue
                box = first if of_first > of_second else second
            found[character.row].append({"main_character": character.name, "bbox": list(box)})
        return found, faults_of([character.row for character in detected], answers)

    def _detected(
        self, names: Sequence[Sequence[str]], images: Sequence[Sequence[Media]], ctx: Context, how: Locating
    ) -> list[Character]:
        """The most probable box of each character that the detector finds."""
        rows = [row for row, (of_sample, media) in enumerate(zip(names, images, strict=True)) if of_sample and media]
        wanted = [Phrases(images[row][0], tuple(names[row])) for row in rows]
        detected: list[Character] = []
        all_boxes = located(how.yoloe_path, wanted, images_of(), ctx, min_score=how.yoloe_conf)
        for row, item, (boxes,) in zip(rows, wanted, all_boxes, strict=True):
            best = {found.number: found.box for found in reversed(boxes)}
            detected += [
                Character(row, name, item.medium, best[number])
                for number, name in enumerate(item.phrases)
                if number in best
            ]
        return detected

    def _asked(self, characters: Sequence[Character], ctx: Context) -> list[Answer]:
        """The boxes in which a language model sees each character."""
        prompt = self.template(LOCATIONS_PROMPT)
        messages: list[Messages] = [
            prompt.messages({"character": character.name}, images=[self.url_of(character.medium)])
            for character in characters
        ]
        return self.ask(ctx, prompt, messages, _fault)


def _fault(number: int, value: Mapping[str, Any]) -> str:
    del number
    is_box = value["left"] < value["right"] and value["top"] < value["bottom"]
    return "" if is_box or not value["is_found"] else "left is not less than right, or top not less than bottom"


def _box_of(value: Mapping[str, Any], size: tuple[int, int]) -> tuple[int, int, int, int]:
    """The box in an answer, in pixels."""
    (width, height) = size
    return _whole((value["left"] * width, value["top"] * height, value["right"] * width, value["bottom"] * height))


def _whole(box: "Box") -> tuple[int, int, int, int]:
    left, top, right, bottom = (round(side) for side in box)
    return left, top, right, bottom


def _area(box: Sequence[float]) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
