"""Filters by the width and height of images: the operator `image_shape_filter`."""

import sys

from jinx_pipeline.operators.api.media_filter import MediaFilter
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.sample.media import Media


@register("image_shape_filter", modality="image")
class ImageShapeFilter(MediaFilter):
    """Keeps samples whose images have a width and height within ranges, in pixels; only headers are decoded.

    They are those of the image as it is shown: EXIF data in the header may turn it.

        create("image_shape_filter", min_width=200, min_height=200)

    Attributes:
        min_width: The smallest width.
        max_width: The largest width.
        min_height: The smallest height.
        max_height: The largest height.
        any_or_all: Whether one image of a sample must pass, or each.
    """

    min_width: int = 1
    max_width: int = sys.maxsize
    min_height: int = 1
    max_height: int = sys.maxsize

    stats = {"image_width": "list<int64>", "image_height": "list<int64>"}
    bounds = {"image_width": ("min_width", "max_width"), "image_height": ("min_height", "max_height")}

    def measure_medium(self, medium: Media) -> dict[str, float]:
        width, height = medium.dimensions
        return {"image_width": width, "image_height": height}
