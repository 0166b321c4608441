"""Runs models on the pictures of media: images, or frames of videos."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.models.feed import Results, feed
from jinx_pipeline.models.pretrained import Pretrained
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy.typing as npt
    from PIL.Image import Image

    Rows = npt.NDArray[np.float32]
    Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Pictures:
    """How to make pictures of a medium.

    Attributes:
        make: Makes the pictures.
        key: Distinguishes ways to make pictures, such as the sampling of frames.
    """

    make: "Callable[[Media], Iterable[Image]]"
    key: Hashable


def images_of(*, horizontal_flip: bool = False, vertical_flip: bool = False) -> Pictures:
    """The image as its only picture, possibly mirrored or turned upside down."""
    make = partial(_image, horizontal=horizontal_flip, vertical=vertical_flip)
    return Pictures(make, ("image", horizontal_flip, vertical_flip))


def _image(medium: Media, *, horizontal: bool, vertical: bool) -> "Iterator[Image]":
    yield flipped(medium.image(), horizontal=horizontal, vertical=vertical)


def parts_of(boxes: "Sequence[Box]", size: tuple[int, int] | None = None) -> Pictures:
    """The parts of an image inside boxes as its pictures.

    Args:
        boxes: Left, top, right and bottom in pixels; a part has at least one pixel.
        size: The width and height to which the image is scaled first; None: it keeps its size.
    """
    return Pictures(partial(_parts, boxes=boxes, size=size), ("parts", tuple(map(tuple, boxes)), size))


def _parts(medium: Media, *, boxes: "Sequence[Box]", size: tuple[int, int] | None) -> "Iterator[Image]":
    image = flipped(medium.image(), horizontal=False, vertical=False)
    if size is not None and image.size != size:
        image = image.resize(size)
    for box in boxes:
        yield image.crop(inside(box, image.size))


def inside(box: "Box", size: tuple[int, int]) -> tuple[int, int, int, int]:
    """A box in whole pixels within a picture, at least one pixel wide and high."""
    width, height = size
    left, top = (min(max(int(start), 0), length - 1) for start, length in zip(box[:2], size, strict=True))
    return left, top, min(max(int(box[2]), left + 1), width), min(max(int(box[3]), top + 1), height)


def flipped(image: "Image", *, horizontal: bool, vertical: bool) -> "Image":
    """An RGB image, possibly mirrored or turned upside down."""
    from PIL.Image import Transpose

    image = image.convert("RGB")
    if horizontal:
        image = image.transpose(Transpose.FLIP_LEFT_RIGHT)
    return image.transpose(Transpose.FLIP_TOP_BOTTOM) if vertical else image


def rows_of_pictures(
    loaded: Pretrained,
    media: Sequence[Media],
    pictures: Pictures,
    run: "Callable[[Any], Results[Rows]]",
    *,
    what: str,
    threads: int | None,
) -> "list[Rows]":
    """The outputs of a model for the pictures of media, float32 of shape (k, d) for each medium.

    It is kept with the medium: other operators with the same model do not compute it again.

    Args:
        loaded: The model.
        media: The media.
        pictures: How to make their pictures.
        run: Runs the model on a batch of pixels.
        what: Distinguishes what the model returns.
        threads: Threads that decode and resize.
    """
    key = (what, loaded.model.copy_key, pictures.key)
    new = list({id(medium): medium for medium in media if not medium.has_fact(key)}.values())

    def prepare(medium: Media) -> list[Any]:
        return [loaded.pixels(picture) for picture in pictures.make(medium)]

    def run_batch(pixels: list[Any]) -> "Results[Rows]":
        import torch

        with loaded.inference():
            return run(loaded.on_device(torch.stack(pixels)))

    found = feed(new, prepare, run_batch, limits=loaded.picture_limits, size=_pixel_count, threads=threads or 1)
    for number, rows in found:
        new[number].fact(key, lambda _, rows=rows: _stacked(rows))
    return [medium.fact(key, lambda _: _stacked([])) for medium in media]


def _pixel_count(pixels: Any) -> int:
    return pixels.shape[-2] * pixels.shape[-1]


def _stacked(rows: "Sequence[Rows]") -> "Rows":
    return np.stack(rows) if rows else np.empty((0, 0), np.float32)
