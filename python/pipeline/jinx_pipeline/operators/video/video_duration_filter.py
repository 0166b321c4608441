"""Filters by the duration of videos: the operator `video_duration_filter`."""

import sys

from jinx_pipeline.operators.api.media_filter import MediaFilter
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.container import facts_of
from jinx_pipeline.sample.media import Media


@register("video_duration_filter", modality="video")
class VideoDurationFilter(MediaFilter):
    """Keeps samples whose videos have a duration in a range, in seconds; no frame is decoded.

        create("video_duration_filter", min_duration=2, max_duration=60)

    Needs PyAV (the extra `video`).

    Attributes:
        min_duration: The shortest duration.
        max_duration: The longest duration.
        any_or_all: Whether one video of a sample must pass, or each.
    """

    min_duration: float = 0
    max_duration: float = sys.float_info.max

    role = "videos"
    batch_size = 16
    stats = {"video_duration": "list<float64>"}
    bounds = {"video_duration": ("min_duration", "max_duration")}

    def measure_medium(self, medium: Media) -> dict[str, float]:
        return {"video_duration": facts_of(medium, self.name).seconds}
