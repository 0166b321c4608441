"""Filters by the width and height of videos: the operator `video_resolution_filter`."""

import sys

from jinx_pipeline.operators.api.media_filter import MediaFilter
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.container import facts_of
from jinx_pipeline.sample.media import Media


@register("video_resolution_filter", modality="video")
class VideoResolutionFilter(MediaFilter):
    """Keeps samples whose videos have a width and height, in pixels, in a range; no frame is decoded.

    A video of a phone that was held upright counts as it is shown: higher than wide. (Data-Juicer takes the size before
    the rotation.)

        create("video_resolution_filter", min_width=640, min_height=480)

    Needs PyAV (the extra `video`).

    Attributes:
        min_width: The smallest width.
        max_width: The largest width.
        min_height: The smallest height.
        max_height: The largest height.
        any_or_all: Whether one video of a sample must pass, or each.
    """

    min_width: int = 1
    max_width: int = sys.maxsize
    min_height: int = 1
    max_height: int = sys.maxsize

    role = "videos"
    batch_size = 16
    stats = {"video_width": "list<int64>", "video_height": "list<int64>"}
    bounds = {"video_width": ("min_width", "max_width"), "video_height": ("min_height", "max_height")}

    def measure_medium(self, medium: Media) -> dict[str, float]:
        width, height = facts_of(medium, self.name).shown_size
        return {"video_width": width, "video_height": height}
