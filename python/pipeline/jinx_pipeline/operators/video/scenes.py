"""Finds the scenes of a video from the changes between its frames."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from jinx_pipeline.operators.video.container import opened
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

Detector = Literal["ContentDetector", "AdaptiveDetector", "ThresholdDetector"]
_WIDTH = 256
"""Frames are compared at this width; changes of scenes do not depend on details."""
_SIXTHS, _SIXTH_OF_HUE = np.float32(6), 30
"""Hues are numbers from 0 to 180, as in OpenCV."""


def changes(medium: Media, operator: str, *, luma_only: bool) -> "Floats":
    """For each frame, how much it differs from the previous one, from 0 to 255; 0 for the first frame.

    It is the mean of the absolute differences of hue, saturation and value over all pixels.

    Args:
        medium: The video.
        operator: The name of the operator.
        luma_only: Whether only the value counts.
    """

    def compute(medium: Media) -> "Floats":
        result: list[float] = []
        before: npt.NDArray[np.float32] | None = None
        for picture in _pictures(medium, operator):
            planes = _hue_saturation_value(picture)[2:] if luma_only else _hue_saturation_value(picture)
            result.append(0.0 if before is None else float(np.abs(planes - before).mean()))
            before = planes
        return np.array(result)

    return medium.fact(("changes", luma_only), compute)


def brightness(medium: Media, operator: str) -> "Floats":
    """The mean of all channels of each frame, from 0 to 255."""

    def compute(medium: Media) -> "Floats":
        return np.array([float(picture.mean()) for picture in _pictures(medium, operator)])

    return medium.fact("brightness", compute)


def content_cuts(scores: "Floats", threshold: float, min_length: int) -> list[int]:
    """The first frames of new scenes: those that differ from the previous frame by at least `threshold`.

    Args:
        scores: See `changes`.
        threshold: The smallest change.
        min_length: The minimum number of frames of a scene.
    """
    return _apart(np.flatnonzero(scores >= threshold).tolist(), min_length)


def adaptive_cuts(scores: "Floats", threshold: float, min_length: int, window: int, least: float) -> list[int]:
    """The first frames of new scenes: those whose change is `threshold` times that of the frames around them.

    Args:
        scores: See `changes`.
        threshold: The smallest ratio.
        min_length: The minimum number of frames of a scene.
        window: The number of frames before, and after, whose changes are averaged.
        least: The smallest change.
    """
    found: list[int] = []
    for number in range(window, len(scores) - window):
        around = np.concatenate([scores[number - window : number], scores[number + 1 : number + window + 1]])
        if scores[number] >= least and scores[number] >= threshold * around.mean():
            found.append(number)
    return _apart(found, min_length)


def fade_cuts(levels: "Floats", threshold: float, min_length: int, bias: float) -> list[int]:
    """The cuts between a fade to black and the following fade from black.

    Args:
        levels: See `brightness`.
        threshold: Frames below this are black.
        min_length: The minimum number of frames of a scene.
        bias: Where the cut lies: -1 at the beginning of the black frames, 1 at their end, 0 in the middle.
    """
    dark = np.concatenate([[False], levels < threshold, [False]])
    edges = np.flatnonzero(dark[1:] != dark[:-1]).tolist()
    cuts = [
        round(first + (stop - first) * (1 + bias) / 2)
        for first, stop in zip(edges[::2], edges[1::2], strict=True)
        if first > 0 and stop < len(levels)
    ]
    return _apart(cuts, min_length)


def _apart(numbers: list[int], min_length: int) -> list[int]:
    """The numbers at least `min_length` after the previous one; the first frame is 0."""
    kept = [0]
    for number in numbers:
        if number - kept[-1] >= max(min_length, 1):
            kept.append(number)
    return kept[1:]


def _pictures(medium: Media, operator: str) -> Iterator["npt.NDArray[np.uint8]"]:
    size: tuple[int, int] | None = None  # the first frame's size, because the size may change within a video
    with opened(medium, operator) as container:
        # Use one for all frames, because each new one would compute its tables again.
        reformatter = require("av.video.reformatter", extra="video", what=operator).VideoReformatter()
        for frame in container.decode(video=0):
            size = size or _small_size(frame)
            # Takes half the time of bicubic, the default, and is as good for means over all pixels.
            yield reformatter.reformat(frame, *size, format="rgb24", interpolation="AREA").to_ndarray()


def _small_size(frame: Any) -> tuple[int, int]:
    width = min(frame.width, _WIDTH)
    return width, max(1, round(frame.height * width / frame.width))


def _hue_saturation_value(picture: "npt.NDArray[np.uint8]") -> "npt.NDArray[np.float32]":
    """Hue from 0 to 180, saturation and value from 0 to 255, float32 of shape (3, height, width)."""
    # Separate channels, and masks as factors, take a third of the time of `where` on interleaved channels.
    small = np.ascontiguousarray(np.moveaxis(picture, 2, 0))
    largest = np.maximum(np.maximum(small[0], small[1]), small[2])
    is_red = largest == small[0]
    is_green = (largest == small[1]) & ~is_red
    red_first, green_first, blue_first = (mask.astype(np.float32) for mask in (is_red, is_green, ~(is_red | is_green)))
    red, green, blue = small.astype(np.float32)
    spread = (largest - np.minimum(np.minimum(small[0], small[1]), small[2])).astype(np.float32)
    result = np.empty(small.shape, dtype=np.float32)
    hue, saturation, value = result
    value[...] = largest
    hue[...] = (green - blue) * red_first + (blue - red) * green_first + (red - green) * blue_first
    hue /= np.maximum(spread, 1)  # where the divisor is 0, the dividend is 0 too
    hue += 2 * green_first + 4 * blue_first
    hue += _SIXTHS * (hue < 0)
    hue *= _SIXTH_OF_HUE
    np.multiply(spread, 255, out=saturation)
    saturation /= np.maximum(value, 1)
    return result
