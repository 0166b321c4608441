"""Masks of the foreground of pictures, from U2-Net models or GrabCut."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jinx_pipeline.models.feed import Results, feed
from jinx_pipeline.models.onnx import load_onnx
from jinx_pipeline.models.pictures import flipped
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy.typing as npt
    from PIL.Image import Image

    Mask = npt.NDArray[np.uint8]
    Pixels = npt.NDArray[np.float32]

# The side of U2-Net's input, and the mean and standard deviation of colours in its training.
_SIDE: Final = 320
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_ROUNDS: Final = 5


def masks_of(model: Model, media: Sequence[Media], ctx: Context) -> "list[Mask]":
    """How much each pixel of images belongs to the foreground, from 0 to 255, uint8 of shape (height, width).

    Args:
        model: A model of the family U2-Net in the format ONNX.
        media: The images.
        ctx: The context of the operator.
    """
    if not media:
        return []
    loaded = ctx.model(model, load_onnx)
    (name, shape), *_ = loaded.inputs.items()
    height, width = (size if isinstance(size, int) else _SIDE for size in shape[-2:])

    def prepare(medium: Media) -> "list[Pixels]":
        return [_pixels(rgb(medium), width, height)]

    def run(batch: "list[Pixels]") -> "Results[Pixels]":
        # The batch size of an exported model may be fixed.
        stacks = [np.stack(batch)] if not isinstance(shape[0], int) else [pixels[None] for pixels in batch]
        found = np.concatenate([loaded.run({name: stack})[0] for stack in stacks])
        return lambda: list(found.reshape(len(batch), -1, *found.shape[-2:])[:, 0])

    masks: list[Any] = [None] * len(media)
    for number, (found,) in feed(media, prepare, run, limits=loaded.limits, threads=ctx.threads or 1):
        masks[number] = _mask(found, rgb(media[number]).size)
    return masks


def grabcut(image: "Image", operator: str) -> "Mask":
    """The foreground that GrabCut finds inside the edge of an image, 0 or 255, uint8 of shape (height, width).

    Args:
        image: The image in RGB.
        operator: The name of the operator, for the message if OpenCV is missing.
    """
    cv2 = require("cv2", extra="opencv", what=operator)
    cv2.setNumThreads(1)
    cv2.setRNGSeed(0)
    pixels = np.ascontiguousarray(np.asarray(image)[..., ::-1])
    height, width = pixels.shape[:2]
    if min(height, width) < 4:  # noqa: PLR2004 - room for an edge on each side, with two pixels between them
        return np.full((height, width), 255, np.uint8)
    found = np.zeros((height, width), np.uint8)
    states = [np.zeros((1, 65)), np.zeros((1, 65))]
    box = (1, 1, width - 2, height - 2)
    try:
        cv2.grabCut(pixels, found, box, *states, _ROUNDS, cv2.GC_INIT_WITH_RECT)
    except cv2.error:  # the image has too few colours
        return np.full((height, width), 255, np.uint8)
    return np.where((found == cv2.GC_FGD) | (found == cv2.GC_PR_FGD), 255, 0).astype(np.uint8)


def rgb(medium: Media) -> "Image":
    """An image in RGB."""
    return flipped(medium.image(), horizontal=False, vertical=False)


def _pixels(image: "Image", width: int, height: int) -> "Pixels":
    """The input of U2-Net for an image, float32 of shape (3, height, width)."""
    from PIL.Image import Resampling

    small = np.asarray(image.resize((width, height), Resampling.LANCZOS), np.float32)
    scaled = (small / max(float(small.max()), 1e-6) - np.asarray(_MEAN, np.float32)) / np.asarray(
        _DEVIATION, np.float32
    )
    return np.ascontiguousarray(scaled.transpose(2, 0, 1))


def _mask(found: "Pixels", size: tuple[int, int]) -> "Mask":
    """The output of U2-Net, scaled to the range 0 to 255 and to the size of the image."""
    from PIL import Image

    low, high = float(found.min()), float(found.max())
    stretched = (found - low) / max(high - low, 1e-6) * 255
    small = Image.fromarray(stretched.astype(np.uint8))
    return np.asarray(small.resize(size, Image.Resampling.LANCZOS))
