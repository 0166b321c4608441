"""Filters by the probability that image and text match: the operator `image_text_matching_filter`."""

from collections.abc import Sequence
from typing import Annotated

from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.matching import MATCHING, matching
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.multimodal.media_text_scores import MediaTextFilter, Pair


@register("image_text_matching_filter", modality="multimodal")
class ImageTextMatchingFilter(MediaTextFilter):
    """Keeps samples whose images and text match for a BLIP model: the probability lies in a range.

    Each chunk of the text is compared with the images of its tokens; a text without tokens is compared with all images.
    The statistic has a value for each chunk with images.

        create("image_text_matching_filter", hf_blip="/models/blip-itm", min_score=0.1)

    Needs transformers, torch and Pillow (the extra `model`).

    Attributes:
        hf_blip: The directory of a BLIP model for retrieval with its processor, its name in the local cache, or in the
            recipe's `models`.
        min_score: The smallest probability.
        max_score: The largest probability.
    """

    hf_blip: Annotated[Model, Kinds("transformers")] = Model(path="Salesforce/blip-itm-base-coco")
    min_score: Annotated[float, Range(0, 1)] = 0.003
    max_score: Annotated[float, Range(0, 1, or_no_limit=True)] = 1.0

    stats = {"image_text_matching_score": "list<float64>"}
    bounds = {"image_text_matching_score": ("min_score", "max_score")}

    def resolve(self) -> None:
        refuse_other_models(self, hf_blip=MATCHING)

    def scores(self, pairs: Sequence[Pair], ctx: Context) -> Sequence[Sequence[float]]:
        single = [(pair.text, medium) for pair in pairs for medium in pair.media]
        found = iter(matching(self.hf_blip, single, self.pictures, ctx))
        return [[float(score) for _ in pair.media for score in next(found)] for pair in pairs]
