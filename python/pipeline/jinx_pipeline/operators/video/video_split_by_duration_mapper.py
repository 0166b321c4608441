"""Splits videos into clips of a fixed duration: the operator `video_split_by_duration_mapper`."""

from collections.abc import Sequence
from typing import Annotated

from jinx_pipeline.operators.api.parameters import ParameterError, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.clip_splitter import ClipSplitter
from jinx_pipeline.operators.video.clips import Span, spans, timeline_of
from jinx_pipeline.sample.media import Media


@register("video_split_by_duration_mapper", modality="video")
class VideoSplitByDurationMapper(ClipSplitter):
    """Cuts videos into clips of a fixed duration and makes a sample from each clip.

    Each frame is in one clip, or in several if clips overlap: a clip has the frames from its start up to but not
    including the start of the next. The sample of a clip is a copy of its parent with the clip as its only video; of
    the video tokens in its text, only the token of this video stays. (Data-Juicer repeats the frame at each cut, and
    makes one sample with all clips.)

        create("video_split_by_duration_mapper", split_duration=5, keep_original_sample=False)

    Clips are bytes in the samples, or files in `save_dir` or the run's `media_dir`. Needs PyAV (the extra `video`).

    Attributes:
        split_duration: Seconds of a clip.
        overlap_duration: Seconds that a clip shares with the next.
        min_last_split_duration: A last clip that is shorter, in seconds, is left out.
        keep_original_sample: Whether the sample with the whole videos stays too, before its clips.
    """

    split_duration: Annotated[float, Range(0)] = 10
    overlap_duration: Annotated[float, Range(0)] = 0
    min_last_split_duration: Annotated[float, Range(0)] = 0
    keep_original_sample: bool = True

    version = 3

    def check(self) -> None:
        if self.split_duration <= 0:
            problem = f"split_duration is {self.split_duration}; a clip is longer than 0 seconds"
            raise ParameterError(self.name, "split_duration", problem)
        if not 0 <= self.overlap_duration < self.split_duration:
            problem = f"overlap_duration is {self.overlap_duration}; it is less than split_duration"
            raise ParameterError(self.name, "overlap_duration", problem)

    @property
    def keeps_original(self) -> bool:
        return self.keep_original_sample

    def spans_of(self, medium: Media) -> Sequence[Span]:
        end = timeline_of(medium, self.name).end
        return spans(end, self.split_duration, self.overlap_duration, self.min_last_split_duration)
