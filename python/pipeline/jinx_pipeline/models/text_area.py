"""The share of a picture covered by text, from models with differentiable binarization (PP-OCR)."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jinx_pipeline.models.feed import Results, feed
from jinx_pipeline.models.files import Expected
from jinx_pipeline.models.picture_pixels import normalized, processor_facts
from jinx_pipeline.models.pictures import Pictures
from jinx_pipeline.models.pretrained import Pretrained, load_pretrained
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy.typing as npt
    from PIL.Image import Image

    Shares = npt.NDArray[np.float32]

_CLASSES: Final = tuple(
    f"{name}ForObjectDetection"
    for name in ("PPOCRV5ServerDet", "PPOCRV5MobileDet", "PPOCRV6MediumDet", "PPOCRV6SmallDet")
)
TEXT_DETECTOR: Final = Expected("a model that detects text", _CLASSES, ())
"""PP-OCRv5 and PP-OCRv6."""

# The mean and standard deviation of the channels, in the model's channel order, and the longest side.
_MEAN, _STD, _SIDE = (0.406, 0.456, 0.485), (0.225, 0.224, 0.229), 960
_MULTIPLE: Final = 32
# Thresholds: a pixel that is text, the mean of a text box, how much a box is widened, and its minimum side in pixels of
# the map.
_PIXEL, _BOX, _WIDENED, _SMALLEST = 0.3, 0.6, 1.5, 3


def load_text_detector(model: Model, device: str) -> Pretrained:
    """A model that detects text, for `Context.model`."""
    return load_pretrained(model, device, "AutoModelForObjectDetection")


def text_shares(model: Model, media: Sequence[Media], pictures: Pictures, ctx: Context) -> "list[Shares]":
    """The share of each picture that is covered by text, float32 of shape (k,) for each medium.

    Args:
        model: The model.
        media: The media.
        pictures: How to make their pictures.
        ctx: The context of the operator.
    """
    loaded = ctx.model(model, load_text_detector)
    facts = processor_facts(model)
    mean, std = facts.get("image_mean", _MEAN), facts.get("image_std", _STD)
    side = int(facts.get("limit_side_len", _SIDE))

    def pixels(picture: "Image") -> Any:
        import torch

        values = normalized(picture, _scaled(picture.size, side), mean, std)
        return torch.from_numpy(np.ascontiguousarray(values[::-1]))  # the model was trained with BGR

    def prepare(medium: Media) -> list[Any]:
        return [pixels(picture) for picture in pictures.make(medium)]

    def run(batch: list[Any]) -> Results[float]:
        import torch

        maps: list[Any] = []
        with loaded.inference():
            for _, equal in groupby(batch, key=lambda pixels: pixels.shape):
                output = loaded.network(pixel_values=loaded.on_device(torch.stack(list(equal))))
                maps += list(output.last_hidden_state[:, 0].float())
        return lambda: [text_share(text_map.cpu().numpy()) for text_map in maps]

    rows: list[Any] = [None] * len(media)
    size = lambda pixels: pixels.shape[-2] * pixels.shape[-1]  # noqa: E731 - too short for a function
    limits, threads = loaded.picture_limits, ctx.threads or 1
    for number, shares in feed(media, prepare, run, limits=limits, size=size, threads=threads):
        rows[number] = np.array(shares, np.float32)
    return rows


def _scaled(size: tuple[int, int], longest: int) -> tuple[int, int]:
    """The width and height for the model: the longest side is limited, and both are multiples of 32."""
    ratio = min(longest / max(size), 1.0)
    width, height = (max(round(int(side * ratio) / _MULTIPLE) * _MULTIPLE, _MULTIPLE) for side in size)
    return width, height


def text_share(probabilities: "npt.NDArray[np.float32]") -> float:
    """The share of a picture inside text boxes.

    A box is the smallest rectangle around pixels of text, in any direction; it counts if the mean of its pixels is high
    enough, and is widened because the model sees only the inner part of text.

    Args:
        probabilities: The probability that a pixel belongs to the inner part of text, of shape (height, width).
    """
    cv2 = require("cv2", extra="opencv", what="Text in pictures")
    inner = (probabilities > _PIXEL).astype(np.uint8)
    covered = np.zeros_like(inner)
    contours, _ = cv2.findContours(inner, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    for contour in contours:
        middle, (width, height), angle = cv2.minAreaRect(contour)
        if min(width, height) < _SMALLEST:
            continue
        mask = np.zeros_like(inner)
        cv2.fillPoly(mask, [np.int32(cv2.boxPoints((middle, (width, height), angle)))], 1)
        if cv2.mean(probabilities, mask)[0] < _BOX:
            continue
        more = width * height * _WIDENED / (2 * (width + height))  # added on each side
        widened = (middle, (width + 2 * more, height + 2 * more), angle)
        cv2.fillPoly(covered, [np.int32(np.round(cv2.boxPoints(widened)))], 1)
    return float(covered.mean())
