"""Drops blurry images: the operator `image_sharpness_filter`."""

import sys
from typing import TYPE_CHECKING, Final

import numpy as np

from jinx_pipeline.operators.api.media_filter import MediaFilter
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.image.brightness import brightness
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy.typing as npt

# The number of rows that are processed at a time, so that large images take little memory.
_ROWS: Final = 256
_LEAST_SIDE: Final = 3


@register("image_sharpness_filter", modality="image")
class ImageSharpnessFilter(MediaFilter):
    """Drops samples with blurry images, and keeps sharp ones, by the variance of the Laplacian of the brightness.

        create("image_sharpness_filter", min_sharpness=50)

    At each pixel inside an image, the Laplacian is the sum of its four neighbors minus four times itself, of a
    brightness from 0 to 255. Out of focus and shaken images often have less than 100, smooth scenes such as
    skies too; noise and compression raise it, and so does scaling an image down. Look at the values with
    `jinx-pipeline analyze` before you choose a threshold. An image with a side below 3 pixels has the value 0.

    Attributes:
        min_sharpness: The smallest variance.
        max_sharpness: The largest variance.
        any_or_all: Whether one image of a sample must pass, or each.
    """

    min_sharpness: float = 100.0
    max_sharpness: float = sys.float_info.max

    stats = {"image_sharpness": "list<float64>"}
    bounds = {"image_sharpness": ("min_sharpness", "max_sharpness")}

    def measure_medium(self, medium: Media) -> dict[str, float]:
        return {"image_sharpness": _laplacian_variance(brightness(medium.image()))}


def _laplacian_variance(pixels: "npt.NDArray[np.uint8]") -> float:
    height, width = pixels.shape
    if min(height, width) < _LEAST_SIDE:
        return 0.0
    count, total, squares = (height - 2) * (width - 2), 0, 0
    for start in range(0, height - 2, _ROWS):
        rows = pixels[start : start + _ROWS + 2].astype(np.int32)
        laplacian = rows[:-2, 1:-1] + rows[2:, 1:-1] + rows[1:-1, :-2] + rows[1:-1, 2:] - 4 * rows[1:-1, 1:-1]
        total += int(laplacian.sum(dtype=np.int64))
        squares += int(np.square(laplacian).sum(dtype=np.int64))  # each value is at most 1,020 squared
    return (squares - total * total / count) / count
