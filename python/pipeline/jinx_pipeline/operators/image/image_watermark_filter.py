"""Filters images with watermarks: the operator `image_watermark_filter`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.image.watermark_scores import WatermarkFilter


@register("image_watermark_filter", modality="image")
class ImageWatermarkFilter(WatermarkFilter):
    """Keeps samples by the probability that their images have a watermark, as estimated by a classifier.

        create("image_watermark_filter", hf_watermark_model="/models/watermark", prob_threshold=0.5)

    Needs transformers, torch and Pillow (the extra `model`).
    """

    stats = {"image_watermark_prob": "list<float64>"}
