"""Splits videos into scenes: the operator `video_split_by_scene_mapper`."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.clip_splitter import ClipSplitter
from jinx_pipeline.operators.video.clips import Span, timeline_of
from jinx_pipeline.operators.video.scenes import (
    Detector,
    adaptive_cuts,
    brightness,
    changes,
    content_cuts,
    fade_cuts,
)
from jinx_pipeline.sample.media import Media

_EDGE = 1e-6


@register("video_split_by_scene_mapper", modality="video")
class VideoSplitBySceneMapper(ClipSplitter):
    """Cuts videos where scenes change and makes a sample from each scene.

    The detectors are those of PySceneDetect: `ContentDetector` compares hue, saturation and value of each frame with
    the one before, on a scale of 255; `AdaptiveDetector` compares this change with that of the frames around, so that
    fast motion is no cut; `ThresholdDetector` finds fades to and from black. A video without a cut is one clip.
    (Data-Juicer makes one sample with all scenes.)

        create("video_split_by_scene_mapper", threshold=30.0, min_scene_len=10)

    Clips are bytes in the samples, or files in `save_dir` or the run's `media_dir`. Needs PyAV (the extra `video`).

    Attributes:
        detector: `"ContentDetector"`, `"AdaptiveDetector"` or `"ThresholdDetector"`.
        threshold: For `ContentDetector` the least change of a cut; for `AdaptiveDetector` the least ratio to the
            changes around, for which 3 is usual; for `ThresholdDetector` the brightness below which frames are black,
            for which 12 is usual.
        min_scene_len: The minimum number of frames of a scene; a cut that comes earlier is ignored.
        luma_only: Whether hue and saturation are ignored.
        window_width: For `AdaptiveDetector`: the number of frames on each side that are averaged.
        min_content_val: For `AdaptiveDetector`: the least change of a cut.
        fade_bias: For `ThresholdDetector`: where the cut lies in the black frames, from -1 (first) to 1 (last).
        min_seconds: Scenes that are shorter make no sample.
        max_seconds: A scene that is longer is divided into clips of equal length; None: scenes stay whole.
    """

    detector: Detector = "ContentDetector"
    threshold: Annotated[float, Range(0)] = 27.0
    min_scene_len: Annotated[int, Range(0)] = 15
    luma_only: bool = False
    window_width: Annotated[int, Range(1)] = 2
    min_content_val: Annotated[float, Range(0)] = 15.0
    fade_bias: Annotated[float, Range(-1, 1)] = 0.0
    min_seconds: Annotated[float, Range(0)] = 0.0
    max_seconds: Annotated[float, Range(0.1)] | None = None

    version = 2

    def spans_of(self, medium: Media) -> Sequence[Span]:
        timeline = timeline_of(medium, self.name)
        starts = timeline.times[[number for number in self._cuts(medium) if number < len(timeline)]].tolist()
        scenes = [Span(start, stop) for start, stop in pairwise([0.0, *starts, timeline.end])]
        long_enough = [scene for scene in scenes if scene.stop - scene.start >= self.min_seconds]
        return [clip for scene in long_enough for clip in self._divided(scene)]

    def _divided(self, scene: Span) -> list[Span]:
        """A scene in parts of equal length that are not too long."""
        seconds = scene.stop - scene.start
        count = 1 if self.max_seconds is None else max(math.ceil(seconds / self.max_seconds - _EDGE), 1)
        edges = [scene.start + seconds * number / count for number in range(count)]
        return [Span(start, stop) for start, stop in pairwise([*edges, scene.stop])]

    def _cuts(self, medium: Media) -> list[int]:
        threshold, length = self.threshold, self.min_scene_len
        if self.detector == "ThresholdDetector":
            return fade_cuts(brightness(medium, self.name), threshold, length, self.fade_bias)
        scores = changes(medium, self.name, luma_only=self.luma_only)
        if self.detector == "AdaptiveDetector":
            return adaptive_cuts(scores, threshold, length, self.window_width, self.min_content_val)
        return content_cuts(scores, threshold, length)
