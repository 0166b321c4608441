"""Cuts the motion of hands into actions: the operator `video_atomic_action_segment_mapper`."""

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np

from jinx_pipeline.operators.api.metadata import MetadataMapper, metadata_of
from jinx_pipeline.operators.api.parameters import ParameterError, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.hand.motion import HAND_ACTIONS, SEGMENTS, Hand, Motion, hands_of, list_at, rotations
from jinx_pipeline.optional import require

if TYPE_CHECKING:
    from jinx_pipeline.operators.hand.motion import Floats

_POLYNOMIAL: Final = 2
_LEAST_SMOOTHED: Final = 5
# Speeds that differ by less than this share of the largest are the same.
_SAME_SPEED: Final = 1e-6
# A cut is slower than this share of the fastest frame nearby: a steady motion has none.
_SLOW: Final = 0.9


@register("video_atomic_action_segment_mapper", modality="video")
class VideoAtomicActionSegmentMapper(MetadataMapper):
    """Adds a list of segments to `__dj__meta__`, into which the motion of each hand is cut where it is slowest.

    A frame is a cut if no frame nearby is slower, and one is a tenth faster. A segment has `hand_type`, `video`,
    `segment_id`, `start_frame`, `end_frame` (the last one), and `states`, `actions`, `valid_frame_ids` and joints of
    its frames; segments are sorted by their start.

        samples = [{"__dj__meta__": {"hand_action_tags": []}}]
        create("video_atomic_action_segment_mapper")(samples)

    (Data-Juicer cuts a long segment once, ours until none is too long.) Needs SciPy (the extra `pose`).

    Attributes:
        hand_action_field: The name in `__dj__meta__`, as `video_hand_action_compute_mapper` fills it.
        segment_field: The name in `__dj__meta__` for the segments.
        speed_smooth_window: The frames over which the speed is smoothed, an odd number.
        min_window: A cut is the slowest of so many frames before and after it.
        min_segment_frames: A shorter segment is joined to its neighbour.
        max_segment_frames: A longer segment is cut where it is slowest.
        hand_type: `"right"`, `"left"` or `"both"`.
    """

    hand_action_field: str = HAND_ACTIONS
    segment_field: str = SEGMENTS
    speed_smooth_window: Annotated[int, Range(1)] = 5
    min_window: Annotated[int, Range(1)] = 15
    min_segment_frames: Annotated[int, Range(2)] = 8
    max_segment_frames: Annotated[int, Range(4)] = 300
    hand_type: Hand = "both"

    pure = False  # rounding differs between versions of SciPy

    def check(self) -> None:
        if self.speed_smooth_window % 2 == 0:
            problem = f"speed_smooth_window is {self.speed_smooth_window}; it is odd"
            raise ParameterError(self.name, "speed_smooth_window", problem)
        if self.max_segment_frames < 2 * self.min_segment_frames:
            problem = f"max_segment_frames is {self.max_segment_frames}; it is at least twice min_segment_frames"
            raise ParameterError(self.name, "max_segment_frames", problem)

    def resolve(self) -> None:
        rotations(self.name)

    def facts(self, sample: Mapping[str, Any]) -> Mapping[str, Any]:
        found: list[dict[str, Any]] = []
        for number, video in enumerate(list_at(metadata_of(sample), self.hand_action_field)):
            for hand in hands_of(self.hand_type):
                value = video.get(hand) if isinstance(video, Mapping) else None
                motion = Motion.of(value, f"video {number}, {hand} hand")
                if motion is not None:
                    found += self._segments(motion, hand, number)
        found.sort(key=lambda segment: (segment["video"], segment["start_frame"], segment["hand_type"]))
        return {self.segment_field: found}

    def _segments(self, motion: Motion, hand: str, video: int) -> list[dict[str, Any]]:
        count = len(motion.states)
        if count < self.min_segment_frames:
            return []
        bounds = [0, *self._cuts(self._speeds(motion)), count]
        segments: list[dict[str, Any]] = []
        for number, (start, end) in enumerate(pairwise(bounds)):
            names = {"hand_type": hand, "video": video, "segment_id": number}
            frames = {"start_frame": motion.frames[start], "end_frame": motion.frames[end - 1]}
            segments.append({**names, **frames, **motion.part(slice(start, end)).fields()})
        return segments

    def _speeds(self, motion: Motion) -> "Floats":
        """The smoothed speed in each frame, of the first that to the second."""
        distances = np.linalg.norm(np.diff(motion.states[:, :3], axis=0), axis=1)
        speeds = distances / np.diff(motion.frames)
        speeds = np.append(speeds[:1], speeds)
        window = min(self.speed_smooth_window, len(speeds) - 1 + len(speeds) % 2)
        if len(speeds) < _LEAST_SMOOTHED or window <= _POLYNOMIAL:
            return speeds
        signal = require("scipy.signal", extra="pose", what=self.name)
        return np.maximum(signal.savgol_filter(speeds, window, _POLYNOMIAL), 0.0)

    def _cuts(self, speeds: "Floats") -> list[int]:
        """The first frames of segments but the first one."""
        ndimage = require("scipy.ndimage", extra="pose", what=self.name)
        around, small = 2 * self.min_window + 1, _SAME_SPEED * float(speeds.max(initial=0.0))
        slowest, fastest = (
            extreme(speeds, around, mode="nearest") for extreme in (ndimage.minimum_filter1d, ndimage.maximum_filter1d)
        )
        is_slow = (speeds <= slowest + small) & (speeds < _SLOW * fastest)
        # A hand that rests is cut once in the middle, or where a long rest begins and ends.
        runs = np.flatnonzero(np.diff(np.concatenate([[False], is_slow, [False]]).astype(np.int8))).reshape(-1, 2)
        cuts = [0]
        for number in ((runs[:, 0] + runs[:, 1]) // 2).tolist():
            if number - cuts[-1] >= self.min_segment_frames and len(speeds) - number >= self.min_segment_frames:
                cuts.append(number)
        bounds = [*cuts, len(speeds)]
        pieces = pairwise(bounds)
        return sorted({*cuts[1:], *(cut for start, end in pieces for cut in self._more_cuts(speeds, start, end))})

    def _more_cuts(self, speeds: "Floats", start: int, end: int) -> list[int]:
        """Cuts of a segment that is too long."""
        if end - start <= self.max_segment_frames:
            return []
        first, last = start + self.min_segment_frames, end - self.min_segment_frames
        cut = first + int(np.argmin(speeds[first : last + 1]))
        return [*self._more_cuts(speeds, start, cut), cut, *self._more_cuts(speeds, cut, end)]
