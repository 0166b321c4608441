"""Blurs images in any mode."""

from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from jinx_pipeline.optional import require

if TYPE_CHECKING:
    import numpy.typing as npt
    from PIL.Image import Image

Blur = Literal["mean", "box", "gaussian"]

# The mode in which images of each mode are blurred; colours with alpha are premultiplied, so that hidden colours do not
# bleed.
_MODES: Final = {"1": "L", "LA": "La", "RGBA": "RGBa", "PA": "RGBa", "HSV": "RGB", "LAB": "RGB", "YCbCr": "RGB"}
_BACK: Final = {"La": "LA", "RGBa": "RGBA"}
_DEEP: Final = ("I", "F")


def blurred(image: "Image", kind: Blur, radius: float) -> "Image":
    """A blurred copy that keeps alpha, CMYK and 16 bits; palettes become colours.

    Args:
        image: The image.
        kind: `"mean"`: the mean of the pixels around a 3 x 3 square, as Pillow's `BLUR`; `"box"`: the mean of a square;
            `"gaussian"`: Gaussian.
        radius: The radius of the square, or the standard deviation, in pixels; not for `"mean"`.
    """
    if image.mode.startswith(_DEEP):
        return _deep(image, kind, radius)
    mode = _MODES.get(image.mode, image.mode)
    if image.mode == "P":
        mode = "RGBa" if "transparency" in image.info else "RGB"
    if mode in _BACK:
        image = image.convert(_BACK[mode])
    result = image.convert(mode).filter(_filter(kind, radius))
    return result.convert(_BACK.get(mode, mode))


def _filter(kind: Blur, radius: float) -> Any:
    filters = require("PIL.ImageFilter", extra="image", what="Blurring images")
    if kind == "mean":
        return filters.BLUR
    return filters.BoxBlur(radius) if kind == "box" else filters.GaussianBlur(radius)


def _deep(image: "Image", kind: Blur, radius: float) -> "Image":
    """A blurred image of more than 8 bits, which Pillow's filters do not accept."""
    pil = require("PIL.Image", extra="image", what="Blurring images")
    pixels = np.asarray(image)
    values = pixels.astype(np.float64)
    if kind == "mean":
        square, inner = _convolved(values, np.ones(5)), _convolved(values, np.array([0.0, 1, 1, 1, 0]))
        result = (square * 25 - inner * 9) / 16
    else:
        result = _convolved(values, _weights(kind, radius))
    if pixels.dtype.kind in "iu":
        result = np.rint(result)
    return pil.fromarray(result.astype(pixels.dtype))


def _weights(kind: Blur, radius: float) -> "npt.NDArray[np.float64]":
    if kind == "box":
        whole = int(radius)
        edge = [radius - whole] if radius > whole else []
        return np.array([*edge, *[1.0] * (2 * whole + 1), *edge])
    reach = max(int(np.ceil(3 * radius)), 1)
    places = np.arange(-reach, reach + 1)
    return np.exp(-(places**2) / (2 * max(radius, 1e-6) ** 2))


def _convolved(values: "npt.NDArray[np.float64]", weights: "npt.NDArray[np.float64]") -> "npt.NDArray[np.float64]":
    """The convolution along both axes; pixels beyond an edge are like those at the edge."""
    weights = weights / weights.sum()
    reach = len(weights) // 2
    for axis in (0, 1):
        widths = [(reach, reach) if axis == number else (0, 0) for number in (0, 1)]
        padded = np.pad(values, widths, mode="edge")
        length = values.shape[axis]
        parts = (np.take(padded, range(at, at + length), axis) * weight for at, weight in enumerate(weights))
        values = sum(parts, np.zeros_like(values))
    return values
