"""Frames of videos as the pictures that models process."""

from functools import partial
from typing import TYPE_CHECKING

from jinx_pipeline.models.pictures import Pictures, flipped
from jinx_pipeline.operators.video.frames import Sampling, sampled_frames, upright
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PIL.Image import Image


def frames_of(
    operator: str, method: Sampling, count: int, *, horizontal_flip: bool = False, vertical_flip: bool = False
) -> Pictures:
    """Uses the sampled frames of a video as its pictures.

    Args:
        operator: The name of the operator, for messages.
        method: How frames are sampled; see `sampled_frames`.
        count: The number of frames of the method `uniform`.
        horizontal_flip: Mirror the frames.
        vertical_flip: Turn the frames upside down.
    """
    make = partial(
        _frames, operator=operator, method=method, count=count, horizontal=horizontal_flip, vertical=vertical_flip
    )
    number = count if method == "uniform" else 0
    return Pictures(make, ("frames", method, number, horizontal_flip, vertical_flip))


def _frames(
    medium: Media, *, operator: str, method: Sampling, count: int, horizontal: bool, vertical: bool
) -> "Iterator[Image]":
    for frame in sampled_frames(medium, operator, method, count):
        yield flipped(upright(frame), horizontal=horizontal, vertical=vertical)
