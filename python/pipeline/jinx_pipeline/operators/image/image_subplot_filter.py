"""Removes images of several plots: the operator `image_subplot_filter`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np
import pyarrow as pa

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Stats
from jinx_pipeline.operators.api.media_filter import MediaFilter
from jinx_pipeline.operators.api.parameters import Range, Share
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.image.brightness import deep_brightness, on_white
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy.typing as npt

    Lines = npt.NDArray[np.float64]

_CONFIDENCE: Final = "image_subplot_confidence"
_HORIZONTAL: Final = "horizontal_peak_count"
_VERTICAL: Final = "vertical_peak_count"
_RIGHT_ANGLE: Final = 90.0


@register("image_subplot_filter", modality="image")
class ImageSubplotFilter(MediaFilter):
    """Drops samples with images of several plots, recognized by straight horizontal and vertical lines.

    Edges (Canny) give line segments (probabilistic Hough transform). The confidence, from 0 to 1, weighs how many
    horizontal and vertical lines there are (0.2 each), how even their distances are (0.15 each), how many crossings
    they would have for the area (0.2), and how equal their lengths are (0.05 each). It is 0 without
    lines of both directions. An image has several plots if its confidence and both numbers of lines are large enough.

        create("image_subplot_filter", min_confidence=0.6)

    Needs OpenCV (the extra `opencv`).

    Attributes:
        min_horizontal_lines: The minimum number of horizontal lines of an image with several plots.
        min_vertical_lines: The minimum number of vertical lines.
        min_confidence: The smallest confidence.
        any_or_all: `"any"` drops a sample if one of its images has several plots, `"all"` if each has.
        canny_threshold1: The lower threshold of edges.
        canny_threshold2: The upper threshold of edges.
        hough_threshold: The minimum number of edge points of a line.
        min_line_length: The shortest line, in pixels.
        max_line_gap: The largest gap in a line, in pixels.
        angle_tolerance: The largest angle between a line and the horizontal or vertical, in degrees.
    """

    min_horizontal_lines: Annotated[int, Range(1)] = 3
    min_vertical_lines: Annotated[int, Range(1)] = 3
    min_confidence: Share = 0.5
    canny_threshold1: Annotated[int, Range(0)] = 70
    canny_threshold2: Annotated[int, Range(0)] = 190
    hough_threshold: Annotated[int, Range(1)] = 110
    min_line_length: Annotated[int, Range(1)] = 110
    max_line_gap: Annotated[int, Range(0)] = 18
    angle_tolerance: Annotated[float, Range(0, 45)] = 4.0

    batch_size = 16
    pure = False  # results differ between versions of OpenCV
    stats = {
        _CONFIDENCE: "list<float64>",
        _HORIZONTAL: "list<int64>",
        _VERTICAL: "list<int64>",
        "subplot_detected": "bool",
    }

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        measured = [[self.measure_medium(image) for image in images] for images in ctx.each(batch.media(self.role))]
        lists = {
            name: [[values[name] for values in images] for images in measured]
            for name in (_CONFIDENCE, _HORIZONTAL, _VERTICAL)
        }
        detected = [max(values, default=0.0) >= self.min_confidence for values in lists[_CONFIDENCE]]
        return {**lists, "subplot_detected": detected}

    def keep(self, stats: Mapping[str, pa.Array]) -> "npt.NDArray[np.bool_]":
        limits = (self.min_confidence, self.min_horizontal_lines, self.min_vertical_lines)
        columns: list[list[Any]] = [stats[name].to_pylist() for name in (_CONFIDENCE, _HORIZONTAL, _VERTICAL)]
        has_several = [
            [
                all(value >= limit for value, limit in zip(values, limits, strict=True))
                for values in zip(*row, strict=True)
            ]
            for row in zip(*columns, strict=True)
        ]
        decide = any if self.any_or_all == "any" else all
        return np.array([not flags or not decide(flags) for flags in has_several], dtype=np.bool_)

    def measure_medium(self, medium: Media) -> dict[str, float]:
        cv2 = require("cv2", extra="opencv", what=self.name)
        cv2.setNumThreads(1)
        grey = cv2.GaussianBlur(_grey(cv2, medium.image()), (5, 5), 0)
        edges = cv2.Canny(grey, self.canny_threshold1, self.canny_threshold2)
        found = cv2.HoughLinesP(
            edges,
            1,
            np.pi / 180,
            self.hough_threshold,
            minLineLength=self.min_line_length,
            maxLineGap=self.max_line_gap,
        )
        lines = np.zeros((0, 4)) if found is None else found.reshape(-1, 4).astype(np.float64)
        angles = np.degrees(np.arctan2(np.abs(lines[:, 3] - lines[:, 1]), np.abs(lines[:, 2] - lines[:, 0])))
        horizontal = lines[angles <= self.angle_tolerance]
        vertical = lines[_RIGHT_ANGLE - angles <= self.angle_tolerance]
        height, width = grey.shape
        return {
            _CONFIDENCE: self._confidence(horizontal, vertical, width, height),
            _HORIZONTAL: len(horizontal),
            _VERTICAL: len(vertical),
        }

    def _confidence(self, horizontal: "Lines", vertical: "Lines", width: int, height: int) -> float:
        if not len(horizontal) or not len(vertical):
            return 0.0
        counts = (len(horizontal) / self.min_horizontal_lines, len(vertical) / self.min_vertical_lines)
        is_grid = len(horizontal) > 1 and len(vertical) > 1
        crossings = len(horizontal) * len(vertical) / (width * height) * 1000 if is_grid else 0.0
        # A horizontal line is placed by its y-coordinates, and its x-coordinates give its length; a vertical line is
        # the reverse.
        places = (horizontal[:, 1::2].mean(axis=1), vertical[:, ::2].mean(axis=1))
        lengths = (np.abs(horizontal[:, 2] - horizontal[:, 0]), np.abs(vertical[:, 3] - vertical[:, 1]))
        parts = [
            *(0.2 * min(count, 1.0) for count in counts),
            0.15 * _evenness(np.diff(np.sort(places[0])), 0.05 * height),
            0.15 * _evenness(np.diff(np.sort(places[1])), 0.05 * width),
            0.2 * min(crossings, 1.0),
            0.05 * (_evenness(lengths[0], 0.3 * width) if len(lengths[0]) > 1 else 0.0),
            0.05 * (_evenness(lengths[1], 0.3 * height) if len(lengths[1]) > 1 else 0.0),
        ]
        return float(min(sum(parts), 1.0))


def _evenness(values: Any, least_mean: float) -> float:
    """1 minus the coefficient of variation; half of that if the mean is small, and 0 if there are no numbers."""
    if not len(values) or not np.mean(values):
        return 0.0
    evenness = max(0.0, 1 - float(np.std(values) / np.mean(values)))
    return evenness / 2 if np.mean(values) < least_mean else evenness


def _grey(cv2: Any, image: Any) -> Any:
    """The brightness, 8 bits; transparent parts are white."""
    image = on_white(image)
    deep = deep_brightness(image)
    return cv2.cvtColor(np.asarray(image.convert("RGB")), cv2.COLOR_RGB2GRAY) if deep is None else deep
