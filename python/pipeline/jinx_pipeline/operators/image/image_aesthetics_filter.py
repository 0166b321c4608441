"""Filters images by their aesthetics: the operator `image_aesthetics_filter`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.image.aesthetics_scores import AestheticsFilter


@register("image_aesthetics_filter", modality="image")
class ImageAestheticsFilter(AestheticsFilter):
    """Keeps samples by the aesthetics score of their images, from 0 to 1, which a LAION predictor gives.

        create("image_aesthetics_filter", hf_scorer_model="/models/aesthetics", min_score=0.6)

    Needs transformers, torch and Pillow (the extra `model`).
    """

    stats = {"image_aesthetics_scores": "list<float64>"}
    bounds = {"image_aesthetics_scores": ("min_score", "max_score")}
