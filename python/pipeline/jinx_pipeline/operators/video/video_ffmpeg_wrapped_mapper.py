"""Applies an FFmpeg filter to videos: the operator `video_ffmpeg_wrapped_mapper`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jinx_pipeline.operators.api.filter_graph import FilterGraph, check_filter
from jinx_pipeline.operators.api.media_mapper import MadeMedium, MediaMapper
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.container import facts_of
from jinx_pipeline.operators.video.encode import transcoded
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy as np

# Filters that turn frames counterclockwise by a video's rotation, as FFmpeg's program does before any other filter.
_TURNS: dict[int, tuple[tuple[str, dict[str, str]], ...]] = {
    90: (("transpose", {"dir": "cclock"}),),
    180: (("hflip", {}), ("vflip", {})),
    270: (("transpose", {"dir": "clock"}),),
}


@register("video_ffmpeg_wrapped_mapper", modality="video")
class VideoFFmpegWrappedMapper(MediaMapper):
    """Applies one FFmpeg video filter to each video; without a filter, videos stay unchanged.

        create("video_ffmpeg_wrapped_mapper", filter_name="scale", filter_kwargs={"width": 128, "height": 96})

    The filter runs inside of this process; no program is started. Frames are encoded again (H.264, CRF 18) and audio is
    copied. Rotated videos are turned first, as FFmpeg's program does. Videos are bytes in the samples, or files in
    `save_dir` or the run's `media_dir`. Needs PyAV (the extra `video`).

    Attributes:
        filter_name: The name of the filter.
        filter_kwargs: Its options.
        save_dir: A directory for the filtered videos.
    """

    filter_name: str | None = None
    filter_kwargs: dict[str, Any] | None = None

    trust = "runs filters of FFmpeg, some of which open files"

    def resolve(self) -> None:
        check_filter(self.name, self.filter_name)

    def edit(self, medium: Media, sample: Mapping[str, Any], rng: "np.random.Generator") -> MadeMedium | None:
        if self.filter_name is None:
            return None
        turns = _TURNS.get(facts_of(medium, self.name).rotation, ())
        graph = FilterGraph([*turns, (self.filter_name, self.filter_kwargs or {})])
        return transcoded(medium, self.name, graph.filtered, rotation=0)
