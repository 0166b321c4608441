"""Describes how two similar images differ: the operator `imgdiff_difference_caption_generator_mapper`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from jinx_pipeline.llm.images import picture_url
from jinx_pipeline.models.clip import CLIP_OF_TEXTS, DEFAULT_CLIP, Clip
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.matching import MATCHING, matching_pictures
from jinx_pipeline.models.pictures import flipped, inside, parts_of
from jinx_pipeline.operators.api.arguments import Arguments
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import META, metadata_of, with_metadata
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import Range, Share
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.image.image_pairs import BOXES, IMAGES, ImagePair, centred, corners, pairs_of
from jinx_pipeline.operators.llm.asking import Answer, Messages
from jinx_pipeline.operators.llm.faults import faults_of, with_faults
from jinx_pipeline.operators.llm.vision_arguments import AskingVisionModel

if TYPE_CHECKING:
    from PIL.Image import Image

    from jinx_pipeline.models.pictures import Box

_REGION_PROMPT: Final = "imgdiff_region_caption"
_BLIP: Final = Model(path="Salesforce/blip-itm-base-coco")
# An area with a larger share of the image is not a detail.
_MAX_SHARE: Final = 0.1
# The margin and outline of an area, and the bar between the images, in pixels.
_MARGIN, _LINE, _BAR = 5, 3, 20


@dataclass(frozen=True, kw_only=True)
class CaptionMatching:
    """The limit above which a part of an image matches its caption; see `image_text_matching_filter`."""

    hf_blip: Annotated[Model, Kinds("transformers")] = _BLIP
    min_score: Share = 0.1
    max_score: Share = 1.0


@dataclass(frozen=True, kw_only=True)
class CaptionSimilarity:
    """The limit above which two captions count as similar; see `text_pair_similarity_filter`."""

    hf_clip: Annotated[Model, Kinds("transformers")] = DEFAULT_CLIP
    min_score: Annotated[float, Range(-1, 1)] = 0.1
    max_score: Annotated[float, Range(-1, 1)] = 1.0


class _Area(NamedTuple):
    """An area in a pair of images, with a caption for each image."""

    row: int
    pair: ImagePair
    box: "Box"
    captions: tuple[str, str]


@register("imgdiff_difference_caption_generator_mapper", modality="image")
class ImgdiffDifferenceCaptionGeneratorMapper(AskingVisionModel, Mapper):
    """Adds to `__dj__meta__` captions of the areas in which two images differ, and of the difference.

    The images are in the columns `image_path1` and `image_path2`; the areas come from
    `imgdiff_difference_area_generator_mapper`. A language model with vision describes both parts of each area that is
    at most a tenth of the image. If a BLIP model finds that the parts fit their captions, and the similarity of the
    captions is within bounds, it is shown both images with a red frame around the area, and says how they differ. The
    lists `region_caption1`, `region_caption2`, `bbox_difference_captions` and `__dj__bbox__` have an entry for each of
    these areas; other areas are dropped.

        create("imgdiff_difference_caption_generator_mapper", mllm_mapper_args={"hf_model": "qwen-vl"})

    Needs transformers, torch and Pillow (the extra `model`).

    Attributes:
        image_text_matching_filter_args: `hf_blip`, the directory of a BLIP model for retrieval, its name in the local
            cache, or in the recipe's `models`; the smallest and largest probability that a part fits its caption
            (`min_score`, `max_score`).
        text_pair_similarity_filter_args: `hf_clip`, a CLIP model; the smallest and largest similarity of the captions
            (`min_score`, `max_score`).
        max_image_side: The longest side of an image in pixels; larger images are made smaller.
        max_image_bytes: The size limit of an encoded image.
    """

    image_text_matching_filter_args: Annotated[dict[str, Any], Arguments(CaptionMatching)] = field(
        default_factory=dict[str, Any]
    )
    text_pair_similarity_filter_args: Annotated[dict[str, Any], Arguments(CaptionSimilarity)] = field(
        default_factory=dict[str, Any]
    )
    max_image_side: Annotated[int, Range(64)] = 2048
    max_image_bytes: Annotated[int, Range(4096)] = 5_000_000

    batch_size = 16
    prompts = ("imgdiff_difference_caption_generator_mapper", _REGION_PROMPT)

    @property
    def reads(self) -> tuple[str, ...]:
        return (*IMAGES, META)

    @property
    def writes(self) -> tuple[str, ...]:
        return (META,)

    def resolve(self) -> None:
        super().resolve()
        refuse_other_models(
            self,
            **{
                "image_text_matching_filter_args.hf_blip": MATCHING,
                "text_pair_similarity_filter_args.hf_clip": CLIP_OF_TEXTS,
            },
        )

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        ctx.begins(0)  # no time limit per row while the model runs
        samples = batch.samples()
        faults: dict[int, Mapping[str, Any]] = {}
        areas = self._alike(self._fitting(self._described(pairs_of(batch), samples, faults, ctx), ctx), ctx)
        answers = self._differences(areas, ctx)
        faults = faults_of([area.row for area in areas], answers) | faults
        facts: list[dict[str, Any]] = [{name: [] for name in _NAMES} for _ in samples]
        for area, answer in zip(areas, answers, strict=True):
            if answer.parsed.is_good:
                values = (*area.captions, answer.value, centred(area.box))
                for name, value in zip(_NAMES, values, strict=True):
                    facts[area.row][name].append(value)
        return with_metadata(samples, with_faults(facts, faults, self.name))

    def _described(
        self,
        pairs: Sequence[ImagePair | None],
        samples: Sequence[Mapping[str, Any]],
        faults: dict[int, Mapping[str, Any]],
        ctx: Context,
    ) -> list[_Area]:
        """The areas, with captions of their parts from a language model."""
        prompt = self.template(_REGION_PROMPT)
        places = [
            (row, pair, box)
            for row, (pair, sample) in enumerate(zip(pairs, samples, strict=True))
            if pair is not None
            for box in _details(metadata_of(sample).get(BOXES), pair.size)
        ]
        parts = [
            part
            for _, pair, box in places
            for medium, size in ((pair.first, None), (pair.second, pair.size))
            for part in parts_of([box], size).make(medium)
        ]
        messages: list[Messages] = [prompt.messages({}, images=[self._url(part)]) for part in parts]
        answers = self.ask(ctx, prompt, messages)
        faults |= faults_of([row for row, _, _ in places for _ in range(2)], answers)
        both = zip(places, answers[::2], answers[1::2], strict=True)
        return [
            _Area(*place, (first.value, second.value))
            for place, first, second in both
            if first.parsed.is_good and second.parsed.is_good
        ]

    def _fitting(self, areas: Sequence[_Area], ctx: Context) -> list[_Area]:
        """The areas whose parts match their captions."""
        how = CaptionMatching(**self.image_text_matching_filter_args)
        scores = matching_pictures(
            how.hf_blip,
            [
                (caption, medium, parts_of([area.box], size))
                for area in areas
                for caption, medium, size in zip(area.captions, area.pair[:2], (None, area.pair.size), strict=True)
            ],
            ctx,
        )
        fits = [how.min_score <= float(values[0]) <= how.max_score for values in scores]
        return [area for area, *both in zip(areas, fits[::2], fits[1::2], strict=True) if all(both)]

    def _alike(self, areas: Sequence[_Area], ctx: Context) -> list[_Area]:
        """The areas whose captions are similar."""
        if not areas:
            return []
        how = CaptionSimilarity(**self.text_pair_similarity_filter_args)
        vectors = Clip(how.hf_clip, ctx).texts([caption for area in areas for caption in area.captions])
        scores = (vectors[::2] * vectors[1::2]).sum(axis=1).tolist()
        return [area for area, score in zip(areas, scores, strict=True) if how.min_score <= score <= how.max_score]

    def _differences(self, areas: Sequence[_Area], ctx: Context) -> list[Answer]:
        """What a language model says about the difference in each area."""
        prompt = self.template()
        messages: list[Messages] = [
            prompt.messages(
                dict(zip(("left_caption", "right_caption"), area.captions, strict=True)),
                images=[self._url(marked(area.pair, area.box))],
            )
            for area in areas
        ]
        return self.ask(ctx, prompt, messages)

    def _url(self, picture: "Image") -> str:
        return picture_url(picture, self.max_image_side, self.max_image_bytes)


_NAMES: Final = ("region_caption1", "region_caption2", "bbox_difference_captions", BOXES)


def _details(boxes: Any, size: tuple[int, int]) -> "Iterator[Box]":
    """The boxes that are small enough to be details of an image."""
    for value in boxes or ():
        box = corners(value)
        if 0 < (box[2] - box[0]) * (box[3] - box[1]) <= size[0] * size[1] * _MAX_SHARE:
            yield box


def marked(pair: ImagePair, box: "Box") -> "Image":
    """Both images side by side, with a black bar between them and a red frame around a box in each."""
    from PIL import Image, ImageDraw

    width, height = pair.size
    wide = (box[0] - _MARGIN, box[1] - _MARGIN, box[2] + _MARGIN, box[3] + _MARGIN)
    left, top, right, bottom = inside(wide, pair.size)
    whole = Image.new("RGB", (2 * width + _BAR, height))
    for number, medium in enumerate(pair[:2]):
        picture = flipped(medium.image(), horizontal=False, vertical=False).resize(pair.size)  # makes a copy
        ImageDraw.Draw(picture).rectangle((left, top, right - 1, bottom - 1), outline=(255, 0, 0), width=_LINE)
        whole.paste(picture, (number * (width + _BAR), 0))
    return whole
