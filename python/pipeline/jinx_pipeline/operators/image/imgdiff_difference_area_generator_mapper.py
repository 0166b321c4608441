"""Finds where two similar images differ: the operator `imgdiff_difference_area_generator_mapper`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np

from jinx_pipeline.models.clip import CLIP_OF_IMAGES, DEFAULT_CLIP, Clip
from jinx_pipeline.models.detection import overlap
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.matching import MATCHING, matching_pictures
from jinx_pipeline.models.pictures import images_of, parts_of
from jinx_pipeline.models.segmentation import SEGMENTER, segments_in
from jinx_pipeline.models.spacy_pipeline import documents, needed_pipeline, pipeline_name
from jinx_pipeline.operators.api.arguments import Arguments, ComposedOperator
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import META, with_metadata
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.needed_files import NeededFile
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import Range, Share
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.image.image_pairs import BOXES, CAPTIONS, IMAGES, ImagePair, centred, pairs_of
from jinx_pipeline.optional import require

if TYPE_CHECKING:
    from jinx_pipeline.models.pictures import Box

_SAM: Final = Model(path="facebook/sam-vit-base")
_BLIP: Final = Model(path="Salesforce/blip-itm-base-coco")
# If the intersection of two areas is a larger share of their union, only the first area is kept.
_MAX_OVERLAP: Final = 0.5

Similarity = Annotated[float, Range(-1, 1)]


@dataclass(frozen=True, kw_only=True)
class PairSimilarity:
    """The limits above which two images, or two parts of them, count as similar.

    Attributes:
        hf_clip: A CLIP model.
        min_score_1: The smallest similarity of the images.
        max_score_1: The largest similarity of the images.
        min_score_2: The smallest similarity of their parts.
        max_score_2: The largest similarity of their parts.
    """

    hf_clip: Annotated[Model, Kinds("transformers")] = DEFAULT_CLIP
    min_score_1: Similarity = 0.1
    max_score_1: Similarity = 1.0
    min_score_2: Similarity = 0.1
    max_score_2: Similarity = 1.0


@dataclass(frozen=True, kw_only=True)
class Segmenting:
    """How images are segmented; see `image_segment_mapper`."""

    model_path: Annotated[Model, Kinds("transformers")] = _SAM
    conf: Share = 0.05
    iou: Share = 0.5
    points_per_side: Annotated[int, Range(1, 256)] = 32


@dataclass(frozen=True, kw_only=True)
class PartMatching:
    """The limit above which a part of an image shows what a noun names; see `image_text_matching_filter`."""

    hf_blip: Annotated[Model, Kinds("transformers")] = _BLIP
    min_score: Share = 0.1
    max_score: Share = 1.0


@register("imgdiff_difference_area_generator_mapper", modality="image")
class ImgdiffDifferenceAreaGeneratorMapper(ComposedOperator, Mapper):
    """Adds to `__dj__meta__` the areas in which two similar images differ, according to their captions.

    The images are in the columns `image_path1` and `image_path2`, the captions in `caption1` and `caption2`. If a CLIP
    model finds the images similar, both are segmented. A segment is an area if its part of the first image shows a noun
    that only the first caption has, its part of the second image one that only the second caption has (for a BLIP
    model), and the similarity of the parts is within bounds. `__dj__bbox__` is a list of boxes: the centre, width and
    height in pixels of the first image, to whose size the second one is scaled.

        create("imgdiff_difference_area_generator_mapper", image_segment_mapper_args={"model_path": "/models/sam"})

    Nouns come from a pipeline of spaCy. (Data-Juicer takes NLTK and FastSAM, and a box of zeros means no area.) Needs
    transformers, torch, Pillow and spaCy (the extras `model` and `spacy`).

    Attributes:
        image_pair_similarity_filter_args: `hf_clip`, the directory of a CLIP model, its name in the local cache, or in
            the recipe's `models`; the smallest and largest similarity of the images (`min_score_1`, `max_score_1`), and
            of their parts (`min_score_2`, `max_score_2`).
        image_segment_mapper_args: `model_path`, a SAM model; `conf`, `iou` and `points_per_side`, as
            `image_segment_mapper` has them.
        image_text_matching_filter_args: `hf_blip`, a BLIP model for retrieval; the smallest and largest probability
            that a part shows a noun (`min_score`, `max_score`).
        spacy_model: The directory of an English pipeline of spaCy, or the name of an installed one; None:
            `en_core_web_md`.
    """

    image_pair_similarity_filter_args: Annotated[dict[str, Any], Arguments(PairSimilarity)] = field(
        default_factory=dict[str, Any]
    )
    image_segment_mapper_args: Annotated[dict[str, Any], Arguments(Segmenting)] = field(default_factory=dict[str, Any])
    image_text_matching_filter_args: Annotated[dict[str, Any], Arguments(PartMatching)] = field(
        default_factory=dict[str, Any]
    )
    spacy_model: str | None = None

    batch_size = 8
    pure = False  # rounding differs between devices

    @property
    def reads(self) -> tuple[str, ...]:
        return (*IMAGES, *CAPTIONS, META)

    @property
    def writes(self) -> tuple[str, ...]:
        return (META,)

    @property
    def needed_files(self) -> list[NeededFile]:
        return [*super().needed_files, needed_pipeline("spacy_model", self._pipeline)]

    @property
    def _pipeline(self) -> str:
        return pipeline_name("en", self.spacy_model)

    def resolve(self) -> None:
        refuse_other_models(
            self,
            **{
                "image_pair_similarity_filter_args.hf_clip": CLIP_OF_IMAGES,
                "image_segment_mapper_args.model_path": SEGMENTER,
                "image_text_matching_filter_args.hf_blip": MATCHING,
            },
        )
        require("spacy", extra="spacy", what=self.name)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        ctx.begins(0)  # no time limit per row while the model runs
        pairs = pairs_of(batch)
        captions = [[text or "" for text in batch.column(name)] for name in CAPTIONS]
        parsed = [list(documents(self._pipeline, texts, ctx, needs=["TAG"])) for texts in captions]
        facts = [
            {BOXES: [] if pair is None else self._areas(pair, changed_nouns(*both), ctx)}
            for pair, both in zip(pairs, zip(*parsed, strict=True), strict=True)
        ]
        return with_metadata(batch.samples(), facts)

    def _areas(self, pair: ImagePair, nouns: tuple[list[str], list[str]], ctx: Context) -> list[list[float]]:
        similar = PairSimilarity(**self.image_pair_similarity_filter_args)
        clip = Clip(similar.hf_clip, ctx)
        first, second = clip.pictures([pair.first, pair.second], images_of())
        if not (all(nouns) and similar.min_score_1 <= float(first[0] @ second[0]) <= similar.max_score_1):
            return []
        boxes = self._segments(pair, ctx)
        shows = [
            self._shows(medium, size, boxes, of_image, ctx)
            for medium, size, of_image in zip(pair[:2], (None, pair.size), nouns, strict=True)
        ]
        boxes = [box for box, is_shown in zip(boxes, shows[0] & shows[1], strict=True) if is_shown]
        if not boxes:
            return []
        (firsts,) = clip.pictures([pair.first], parts_of(boxes))
        (seconds,) = clip.pictures([pair.second], parts_of(boxes, pair.size))
        kept: list[Box] = []
        for box, score in zip(boxes, (firsts * seconds).sum(axis=1).tolist(), strict=True):
            is_within = similar.min_score_2 <= score <= similar.max_score_2
            if is_within and all(overlap(box, other) <= _MAX_OVERLAP for other in kept):
                kept.append(box)
        return [centred(box) for box in kept]

    def _segments(self, pair: ImagePair, ctx: Context) -> "list[Box]":
        """The boxes around the segments of both images, in pixels of the first one."""
        how = Segmenting(**self.image_segment_mapper_args)
        found = segments_in(
            how.model_path,
            [pair.first, pair.second],
            images_of(),
            ctx,
            points=how.points_per_side,
            min_score=how.conf,
            max_overlap=how.iou,
        )
        width, height = pair.second.image().size
        scale = np.array([pair.size[0] / width, pair.size[1] / height] * 2)
        both = [found[0][0].boxes, found[1][0].boxes * scale]
        return [(box[0], box[1], box[2], box[3]) for boxes in both for box in boxes.tolist()]

    def _shows(
        self, medium: Any, size: tuple[int, int] | None, boxes: "Sequence[Box]", nouns: Sequence[str], ctx: Context
    ) -> Any:
        """A mask of the boxes whose part of an image shows at least one of the nouns."""
        how = PartMatching(**self.image_text_matching_filter_args)
        if not boxes:
            return np.zeros(0, bool)
        pictures = parts_of(boxes, size)
        scores = np.stack(matching_pictures(how.hf_blip, [(noun, medium, pictures) for noun in nouns], ctx))
        return ((scores >= how.min_score) & (scores <= how.max_score)).any(axis=0)


def changed_nouns(first: Any, second: Any) -> tuple[list[str], list[str]]:
    """For each of two texts, the nouns that the other one does not have, in lower case.

    Args:
        first: A text as spaCy's `Doc`, with the tags of the Penn Treebank.
        second: The other one.
    """
    words = [{_base(token) for token in document} for document in (first, second)]
    return _nouns(first, words[1]), _nouns(second, words[0])


def _nouns(document: Any, others: set[str]) -> list[str]:
    found = [_base(token) for token in document if token.tag_.startswith("NN")]
    return [noun for noun in dict.fromkeys(found) if noun not in others]


def _base(token: Any) -> str:
    """A word in lower case, plural nouns without their ending, so that `cats` and `cat` are the same noun."""
    word = token.text.lower()
    if token.tag_ not in {"NNS", "NNPS"}:
        return word
    if word.endswith("ies") and len(word) > 4:  # noqa: PLR2004 - `ties` stays
        return f"{word[:-3]}y"
    if word.endswith(("ses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    return word.removesuffix("s")
