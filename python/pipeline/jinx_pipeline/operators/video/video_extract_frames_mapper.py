"""Extracts frames of videos as images: the operator `video_extract_frames_mapper`."""

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from io import BytesIO
from typing import Annotated, Any

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.media_mapper import store_of
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.container import facts_of, opened
from jinx_pipeline.operators.video.encode import FrameTimes
from jinx_pipeline.operators.video.frames import Sampling, frames_at, sampled_frames, uniform_times, upright
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media

_EDGE = 1e-6
_DEFAULT_RATE = 25.0


@register("video_extract_frames_mapper", modality="video")
class VideoExtractFramesMapper(Mapper):
    """Adds a column with frames of each video: one list of JPEG images per video.

        create("video_extract_frames_mapper", frame_sampling_method="uniform", frame_num=4)

    Images are bytes in the samples, or files in `frame_dir` or the run's `media_dir`. They are turned as the video is
    shown. (Data-Juicer does not turn them, and drops the last segment of a video if `duration` is given.) Needs PyAV
    and Pillow (the extra `video`).

    Attributes:
        frame_sampling_method: `"all_keyframes"`, `"all_frames"`, or `"uniform"`: `frame_num` frames from the first to
            the last at equal distances.
        frame_num: The number of frames for `"uniform"`; a single frame is taken from the middle.
        duration: Seconds of a segment; frames are taken from each segment on its own, and the first frame if it has no
            key frame. 0: from the whole video.
        frame_dir: A directory for the images.
        frame_field: The column for the images.
        quality: The quality of the JPEG images, from 1 to 100.
    """

    frame_sampling_method: Sampling = "all_keyframes"
    frame_num: Annotated[int, Range(1)] = 3
    duration: Annotated[float, Range(0)] = 0
    frame_dir: str | None = None
    frame_field: str = "video_frames"
    quality: Annotated[int, Range(1, 100)] = 95

    batch_size = 4
    pure = False  # decoders and encoders differ between versions of FFmpeg

    @property
    def writes(self) -> tuple[str, ...]:
        return (self.frame_field,)

    @property
    def media_dirs(self) -> tuple[str, ...]:
        return (self.frame_dir,) if self.frame_dir else ()

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        require("PIL.Image", extra="video", what=self.name)
        store = store_of(self.frame_dir, ctx, batch.roles)
        return {
            self.frame_field: [
                [[store.keep_media(self._encoded(frame), ".jpg") for frame in self._frames(medium)] for medium in media]
                for media in ctx.each(batch.media("videos"))
            ]
        }

    def _encoded(self, frame: Any) -> bytes:
        out = BytesIO()
        upright(frame).save(out, "JPEG", quality=self.quality)
        return out.getvalue()

    def _frames(self, medium: Media) -> Iterator[Any]:
        if not self.duration or self.frame_sampling_method == "all_frames":
            yield from sampled_frames(medium, self.name, self.frame_sampling_method, self.frame_num)
            return
        facts = facts_of(medium, self.name)
        seconds, frame_seconds = facts.seconds, 1 / float(facts.rate or _DEFAULT_RATE)
        starts = [number * self.duration for number in range(max(1, math.ceil(seconds / self.duration - _EDGE)))]
        with opened(medium, self.name) as container:
            if self.frame_sampling_method == "uniform":
                # Up to the last frame that begins within the segment.
                stops = [min(start + self.duration, seconds) - frame_seconds for start in starts]
                ranges = zip(starts, stops, strict=True)
                times = [t for start, stop in ranges for t in uniform_times(start, max(start, stop), self.frame_num)]
                yield from (frame for frame, _ in frames_at(container, times))
            else:
                yield from _key_frames_or_firsts(container, starts)


def _key_frames_or_firsts(container: Any, starts: Sequence[float]) -> Iterator[Any]:
    """The key frames of each segment, and the first frame of a segment without one."""
    stream = container.streams.video[0]
    times, origin = FrameTimes(stream), Fraction(stream.start_time or 0) * stream.time_base
    segment, first = -1, None
    for frame in container.decode(video=0):
        time = float(times.of(frame) - origin)
        number = bisect_right(starts, time + _EDGE) - 1
        if number > segment:
            if first is not None:
                yield first
            segment, first = number, frame
        if frame.key_frame:
            first = None
            yield frame
    if first is not None:
        yield first
