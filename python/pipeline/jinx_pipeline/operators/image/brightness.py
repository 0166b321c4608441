"""The brightness of any kind of image."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    from PIL.Image import Image


def on_white(image: "Image") -> "Image":
    """The image with transparent parts in white."""
    if image.mode not in {"RGBA", "LA", "PA"} and "transparency" not in image.info:
        return image
    transparent = image.convert("RGBA")
    opaque = transparent.convert("RGB")
    opaque.paste((255, 255, 255), mask=transparent.getchannel("A").point(lambda alpha: 255 - alpha))
    return opaque


def deep_brightness(image: "Image") -> "npt.NDArray[np.uint8] | None":
    """The brightness of an image of more than 8 bits, scaled from 0 (darkest) to 255; None for 8 bits."""
    if not image.mode.startswith(("I", "F")):
        return None
    pixels = np.asarray(image, dtype=np.float64)
    span = float(np.ptp(pixels))
    return np.rint((pixels - pixels.min()) * (255 / span if span else 0)).astype(np.uint8)


def brightness(image: "Image") -> "npt.NDArray[np.uint8]":
    """The brightness of an image, height x width; transparent parts are white."""
    image = on_white(image)
    deep = deep_brightness(image)
    return np.asarray(image.convert("L")) if deep is None else deep
