"""Splits videos into clips at key frames: the operator `video_split_by_key_frame_mapper`."""

from collections.abc import Sequence
from itertools import pairwise

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.clip_splitter import ClipSplitter
from jinx_pipeline.operators.video.clips import Span, timeline_of
from jinx_pipeline.sample.media import Media


@register("video_split_by_key_frame_mapper", modality="video")
class VideoSplitByKeyFrameMapper(ClipSplitter):
    """Cuts videos at their key frames and makes a sample from each clip; packets are copied, no frame is decoded.

    A key frame counts if no earlier frame is needed for the frames that are shown after it. (Data-Juicer encodes the
    clips again, repeats the frame at each cut, and makes one sample with all clips.)

        create("video_split_by_key_frame_mapper", keep_original_sample=False)

    Clips are bytes in the samples, or files in `save_dir` or the run's `media_dir`. Needs PyAV (the extra `video`).

    Attributes:
        keep_original_sample: Whether the sample with the whole videos stays too, before its clips.
    """

    keep_original_sample: bool = True

    @property
    def keeps_original(self) -> bool:
        return self.keep_original_sample

    def spans_of(self, medium: Media) -> Sequence[Span]:
        timeline = timeline_of(medium, self.name)
        starts = [0.0, *(seconds for seconds in timeline.times[timeline.keys].tolist() if seconds > 0)]
        return [Span(start, stop) for start, stop in pairwise([*starts, timeline.end + 1])]
