"""Scales videos into a range of widths and heights: the operator `video_resize_resolution_mapper`."""

import math
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from jinx_pipeline.operators.api.media_mapper import MadeMedium, MediaMapper
from jinx_pipeline.operators.api.parameters import ParameterError, Range, check_bounds
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.container import facts_of
from jinx_pipeline.operators.video.scale import scaled
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy as np


@register("video_resize_resolution_mapper", modality="video")
class VideoResizeResolutionMapper(MediaMapper):
    """Scales videos whose width or height in pixels, as shown, is outside a range; others stay unchanged.

        create("video_resize_resolution_mapper", max_width=640, max_height=360, force_original_aspect_ratio="decrease")

    Frames are encoded again (H.264, CRF 18) and audio is copied. Videos are bytes in the samples, or files in
    `save_dir` or the run's `media_dir`. Needs PyAV (the extra `video`).

    Attributes:
        min_width: The smallest width.
        max_width: The largest width.
        min_height: The smallest height.
        max_height: The largest height.
        force_original_aspect_ratio: `"disable"`: each side is brought into its range, the ratio if both allow it;
            `"decrease"` or `"increase"`: one side is then made smaller or larger, so that the ratio stays.
        force_divisible_by: Both sides are multiples of this even number; of 2 for `"disable"`.
        save_dir: A directory for the scaled videos.
    """

    min_width: Annotated[int, Range(1, or_no_limit=True)] = 1
    max_width: Annotated[int, Range(1, or_no_limit=True)] = sys.maxsize
    min_height: Annotated[int, Range(1, or_no_limit=True)] = 1
    max_height: Annotated[int, Range(1, or_no_limit=True)] = sys.maxsize
    force_original_aspect_ratio: Literal["disable", "decrease", "increase"] = "disable"
    force_divisible_by: Annotated[int, Range(1)] = 2

    def check(self) -> None:
        check_bounds(self, "min_width", "max_width")
        check_bounds(self, "min_height", "max_height")
        if self.force_original_aspect_ratio != "disable" and self.force_divisible_by % 2:
            problem = f"force_divisible_by is {self.force_divisible_by}; it is an even number"
            raise ParameterError(self.name, "force_divisible_by", problem)

    def edit(self, medium: Media, sample: Mapping[str, Any], rng: "np.random.Generator") -> MadeMedium | None:
        width, height = facts_of(medium, self.name).shown_size
        is_inside = self.min_width <= width <= self.max_width and self.min_height <= height <= self.max_height
        return None if is_inside else scaled(medium, self.name, *self._size(width, height))

    def _size(self, width: float, height: float) -> tuple[int, int]:
        ratio = width / height
        if not self.min_width <= width <= self.max_width:
            width = min(max(width, self.min_width), self.max_width)
            height = width / ratio
        if not self.min_height <= height <= self.max_height:
            height = min(max(height, self.min_height), self.max_height)
            width = height * ratio
        unit = 2 if self.force_original_aspect_ratio == "disable" else self.force_divisible_by
        width = _fitted(width, self.min_width, self.max_width, unit)
        height = _fitted(height, self.min_height, self.max_height, unit)
        is_narrower = width / height < ratio
        if self.force_original_aspect_ratio != "disable":
            if is_narrower == (self.force_original_aspect_ratio == "increase"):
                width = height * ratio
            else:
                height = width / ratio
        return max(unit, round(width / unit) * unit), max(unit, round(height / unit) * unit)


def _fitted(side: float, low: int, high: int, unit: int) -> int:
    """The side rounded to a multiple of `unit` within a range, if there is such a multiple."""
    side = math.ceil(int(max(side, low)) / unit) * unit
    return max(unit, int(min(side, high)) // unit * unit)
