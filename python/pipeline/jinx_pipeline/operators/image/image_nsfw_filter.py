"""Filters images that are not safe for work: the operator `image_nsfw_filter`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.image.nsfw_scores import NsfwFilter


@register("image_nsfw_filter", modality="image")
class ImageNsfwFilter(NsfwFilter):
    """Keeps samples by the probability that their images are not safe for work, which a classifier estimates.

        create("image_nsfw_filter", hf_nsfw_model="/models/nsfw", max_score=0.3)

    Needs transformers, torch and Pillow (the extra `model`).
    """

    stats = {"image_nsfw_score": "list<float64>"}
    bounds = {"image_nsfw_score": ("min_score", "max_score")}
