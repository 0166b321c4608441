"""Blurs images: the operator `image_blur_mapper`."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from jinx_pipeline.operators.api.media_mapper import MadeMedium
from jinx_pipeline.operators.api.parameters import Range, Share
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.image.blur import Blur, blurred
from jinx_pipeline.operators.image.edited_images import ImageMapper
from jinx_pipeline.operators.image.encode import edited
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy as np


@register("image_blur_mapper", modality="image")
class ImageBlurMapper(ImageMapper):
    """Blurs each image with some probability; the seed and the sample's id decide which.

    Images keep their format, alpha, 16 bits, frames, orientation and colour profile; palettes become colours.

        create("image_blur_mapper", p=1, blur_type="box", radius=3)

    Attributes:
        p: The probability.
        blur_type: `"mean"`: the mean of the pixels around a square of 3 x 3; `"box"`: the mean of a square;
            `"gaussian"`: Gaussian.
        radius: The radius of the square, or the standard deviation of the Gaussian, in pixels; `"mean"` has none.
    """

    p: Share = 0.2
    blur_type: Blur = "gaussian"
    radius: Annotated[float, Range(0, 1000)] = 2

    def edit(self, medium: Media, sample: Mapping[str, Any], rng: "np.random.Generator") -> MadeMedium | None:
        if rng.random() >= self.p:
            return None
        return edited(medium, partial(blurred, kind=self.blur_type, radius=self.radius))
