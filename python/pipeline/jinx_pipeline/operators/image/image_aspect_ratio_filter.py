"""Filters by the aspect ratio of images: the operator `image_aspect_ratio_filter`."""

from jinx_pipeline.operators.api.media_filter import MediaFilter
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.sample.media import Media


@register("image_aspect_ratio_filter", modality="image")
class ImageAspectRatioFilter(MediaFilter):
    """Keeps samples whose images have a ratio of width to height within a range; only headers are decoded.

    It is the ratio of the image as it is shown: EXIF data in the header may turn it.

        create("image_aspect_ratio_filter", min_ratio=0.5, max_ratio=2)

    Attributes:
        min_ratio: The smallest ratio.
        max_ratio: The largest ratio.
        any_or_all: Whether one image of a sample must pass, or each.
    """

    min_ratio: float = 0.333
    max_ratio: float = 3.0

    stats = {"aspect_ratios": "list<float64>"}
    bounds = {"aspect_ratios": ("min_ratio", "max_ratio")}

    def measure_medium(self, medium: Media) -> dict[str, float]:
        width, height = medium.dimensions
        return {"aspect_ratios": width / height}
