"""Filters by the aspect ratio of videos: the operator `video_aspect_ratio_filter`."""

from jinx_pipeline.operators.api.media_filter import MediaFilter
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.aspect_ratios import check_ratios, ratio_of
from jinx_pipeline.operators.video.container import facts_of
from jinx_pipeline.sample.media import Media


@register("video_aspect_ratio_filter", modality="video")
class VideoAspectRatioFilter(MediaFilter):
    """Keeps samples whose videos have a ratio of width to height in a range; no frame is decoded.

    The ratio is that of the video as it is shown: after its rotation, with the shape of its pixels. (Data-Juicer takes
    the ratio of the stored pixels.)

        create("video_aspect_ratio_filter", min_ratio="4:3", max_ratio="16:9")

    Needs PyAV (the extra `video`).

    Attributes:
        min_ratio: The smallest ratio, as `"9/21"`, `"9:21"` or a number.
        max_ratio: The largest ratio, in the same form.
        any_or_all: Whether one video of a sample must pass, or each.
    """

    min_ratio: str | float = "9/21"
    max_ratio: str | float = "21/9"

    role = "videos"
    batch_size = 16
    stats = {"video_aspect_ratios": "list<float64>"}
    thresholds = ("any_or_all", "min_ratio", "max_ratio")

    def check(self) -> None:
        check_ratios(self.name, self.min_ratio, self.max_ratio)

    def bound(self, name: str) -> tuple[float, float]:
        low = ratio_of(self.name, "min_ratio", self.min_ratio)
        return float(low), float(ratio_of(self.name, "max_ratio", self.max_ratio))

    def measure_medium(self, medium: Media) -> dict[str, float]:
        return {"video_aspect_ratios": facts_of(medium, self.name).shown_ratio}
