"""Scales videos into a range of aspect ratios: the operator `video_resize_aspect_ratio_mapper`."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from jinx_pipeline.operators.api.media_mapper import MadeMedium, MediaMapper
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.aspect_ratios import check_ratios, ratio_of
from jinx_pipeline.operators.video.container import facts_of
from jinx_pipeline.operators.video.scale import scaled
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np


@register("video_resize_aspect_ratio_mapper", modality="video")
class VideoResizeAspectRatioMapper(MediaMapper):
    """Stretches videos whose ratio of width to height, as shown, is outside a range, to the nearer limit.

        create("video_resize_aspect_ratio_mapper", min_ratio="4:3", max_ratio="16:9", strategy="decrease")

    Frames are encoded again (H.264, CRF 18) and audio is copied; other videos stay untouched. Videos are bytes in the
    samples, or files in `save_dir` or the run's `media_dir`. Sides are even numbers. Needs PyAV (the extra `video`).

    Attributes:
        min_ratio: The smallest ratio, as `"9/21"`, `"9:21"` or a number.
        max_ratio: The largest ratio, in the same form.
        strategy: `"increase"` makes the shorter side longer, `"decrease"` the longer side shorter.
        save_dir: A directory for the stretched videos.
    """

    min_ratio: str | float = "9/21"
    max_ratio: str | float = "21/9"
    strategy: Literal["increase", "decrease"] = "increase"

    def check(self) -> None:
        check_ratios(self.name, self.min_ratio, self.max_ratio)

    def edit(self, medium: Media, sample: Mapping[str, Any], rng: "np.random.Generator") -> MadeMedium | None:
        width, height = facts_of(medium, self.name).shown_size
        low = ratio_of(self.name, "min_ratio", self.min_ratio)
        high = ratio_of(self.name, "max_ratio", self.max_ratio)
        if low * height <= width <= high * height:
            return None
        is_wide = width > high * height
        size = _stretched(
            width, height, high if is_wide else low, is_wide=is_wide, is_longer=self.strategy == "increase"
        )
        return scaled(medium, self.name, *size)


def _stretched(width: int, height: int, ratio: "Fraction", *, is_wide: bool, is_longer: bool) -> tuple[int, int]:
    """The size with a ratio at the limit of the range, in even numbers, rounded into the range."""
    changes_width = is_wide != is_longer
    side = height * ratio if changes_width else width / ratio
    even = 2 * math.ceil(side / 2) if is_longer else max(2, 2 * math.floor(side / 2))
    return (even, height) if changes_width else (width, even)
