"""Splits videos into clips: the operator `video_split_by_duration_mapper`."""

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from jinx_pipeline.operators.api.batch import REMOVED, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Splitter
from jinx_pipeline.operators.api.parameters import ParameterError, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.clips import cut, spans
from jinx_pipeline.operators.video.container import duration_of, opened
from jinx_pipeline.sample.paths import Steps, find, replaced
from jinx_pipeline.sample.tokens import only_medium

if TYPE_CHECKING:
    import numpy.typing as npt


@register("video_split_by_duration_mapper", modality="video")
class VideoSplitByDurationMapper(Splitter):
    """Cuts videos into clips of a fixed duration and makes a sample from each clip.

    Each frame is in one clip, or in several if clips overlap: a clip has the frames from its start up to but not
    including the start of the next. The sample of a clip is a copy of its parent with the clip as its only video; of
    the video tokens in its text, only the token of this video stays.

        create("video_split_by_duration_mapper", split_duration=5, keep_original_sample=False)

    Frames are encoded again (H.264, or MPEG-4 if FFmpeg has no H.264 encoder), and audio is copied. Needs PyAV (the
    extra `video`). Clips are bytes in the samples, or files in the run's `media_dir`.

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

    batch_size = 4
    pure = False  # encoders differ between versions of FFmpeg

    def check(self) -> None:
        if self.split_duration <= 0:
            problem = f"split_duration is {self.split_duration}; a clip is longer than 0 seconds"
            raise ParameterError(self.name, "split_duration", problem)
        if not 0 <= self.overlap_duration < self.split_duration:
            problem = f"overlap_duration is {self.overlap_duration}; it is less than split_duration"
            raise ParameterError(self.name, "overlap_duration", problem)

    @property
    def reads(self) -> tuple[str, ...]:
        return ("videos", "text")

    @property
    def writes(self) -> tuple[str, ...]:
        return ("videos", "text")

    def split(self, batch: Batch, ctx: Context) -> "tuple[npt.NDArray[np.int64], dict[str, Any]]":
        roles = batch.roles
        steps = roles.steps("videos")[1:]
        if None in steps:
            raise ValueError(f"{self.name}: videos are in a column or dotted path, not at {roles.videos!r}")
        video_column, text_column = roles.column("videos"), roles.column("text")
        samples = batch.samples()
        has_text = text_column in batch.column_names and text_column != video_column
        parents: list[int] = []
        columns: dict[str, list[Any]] = {video_column: []} | ({text_column: []} if has_text else {})

        def add(parent: int, videos: Any, text: Any) -> None:
            parents.append(parent)
            columns[video_column].append(videos)
            if has_text:
                columns[text_column].append(text)

        for row, media in enumerate(ctx.each(batch.media("videos"))):
            sample = samples[row]
            text = sample.get(text_column, REMOVED) if has_text else None
            if self.keep_original_sample:
                add(row, sample.get(video_column, REMOVED), text)
            for number, medium in enumerate(media):
                clip_text = only_medium(text, "videos", number, roles) if isinstance(text, str) else text
                for clip_number, clip in enumerate(self._clips(medium)):
                    stored_clip = ctx.keep_media(f"{batch.ids[row]}-{number}-{clip_number}.mp4", clip)
                    add(row, _with_medium(sample[video_column], steps, stored_clip), clip_text)
        return np.array(parents, dtype=np.int64), columns

    def _clips(self, medium: Any) -> list[bytes]:
        with opened(medium, self.name) as container:
            duration = duration_of(container)
        clip_spans = spans(duration, self.split_duration, self.overlap_duration, self.min_last_split_duration)
        with opened(medium, self.name) as container:
            return cut(container, clip_spans)


def _with_medium(value: Any, steps: Steps, medium: Any) -> Any:
    """A copy of a column with a single medium, in a list if the media were in a list."""
    was_list = any(isinstance(media, list | tuple) for media in find(value, steps))
    return replaced(value, steps, iter([[medium] if was_list else medium]))
