"""Smooths the motion of hands: the operator `video_hand_motion_smooth_mapper`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np

from jinx_pipeline.operators.api.metadata import MetadataMapper, metadata_of
from jinx_pipeline.operators.api.parameters import ParameterError, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.hand.motion import HAND_ACTIONS, Motion, list_at, rotations
from jinx_pipeline.optional import require

if TYPE_CHECKING:
    from jinx_pipeline.operators.hand.motion import Floats

# If values are normally distributed, the standard deviation is this many times the median of absolute deviations.
_DEVIATIONS: Final = 1.4826
_LEAST_FRAMES: Final = 4


@register("video_hand_motion_smooth_mapper", modality="video")
class VideoHandMotionSmoothMapper(MetadataMapper):
    """Smooths the motion of hands in `__dj__meta__`, and computes the actions again.

    A frame that the hand could only reach faster than the median speed plus `outlier_velocity_threshold` deviations is
    an outlier: its place is interpolated between the frames around it. Then places, joints and rotations (as
    quaternions) are smoothed by a Savitzky-Golay filter. No frame is removed.

        samples = [{"__dj__meta__": {"hand_action_tags": []}}]
        create("video_hand_motion_smooth_mapper", savgol_window=7)(samples)

    (Of a frame that jumps away, Data-Juicer replaces also the next one, which is back in its place.) Needs SciPy (the
    extra `pose`).

    Attributes:
        hand_action_field: The name in `__dj__meta__`, as `video_hand_action_compute_mapper` fills it.
        savgol_window: The frames of the filter, an odd number.
        savgol_polyorder: The degree of its polynomials.
        outlier_velocity_threshold: How many deviations a speed may be above the median.
        min_frames_for_smoothing: A motion with fewer frames stays as it is.
        smooth_joints: Whether the joints in the space of the world are smoothed, too.
    """

    hand_action_field: str = HAND_ACTIONS
    savgol_window: Annotated[int, Range(3)] = 11
    savgol_polyorder: Annotated[int, Range(1)] = 3
    outlier_velocity_threshold: Annotated[float, Range(0)] = 5.0
    min_frames_for_smoothing: Annotated[int, Range(2)] = 5
    smooth_joints: bool = True

    pure = False  # rounding differs between versions of SciPy

    def check(self) -> None:
        if self.savgol_window % 2 == 0:
            raise ParameterError(self.name, "savgol_window", f"savgol_window is {self.savgol_window}; it is odd")
        if self.savgol_polyorder >= self.savgol_window:
            problem = f"savgol_polyorder is {self.savgol_polyorder}; it is less than savgol_window"
            raise ParameterError(self.name, "savgol_polyorder", problem)

    def resolve(self) -> None:
        rotations(self.name)

    def facts(self, sample: Mapping[str, Any]) -> Mapping[str, Any]:
        known = metadata_of(sample)
        if self.hand_action_field not in known:
            return {}
        videos = list_at(known, self.hand_action_field)
        return {self.hand_action_field: [self._video(number, video) for number, video in enumerate(videos)]}

    def _video(self, number: int, video: Any) -> Any:
        if not isinstance(video, Mapping):
            return video
        smoothed: dict[str, Any] = {}
        for hand, value in video.items():
            motion = Motion.of(value, f"video {number}, {hand} hand")
            if motion is None or len(motion.states) < self.min_frames_for_smoothing:
                smoothed[hand] = value
            else:
                smoothed[hand] = self._smoothed(motion).to_data(str(hand))
        return smoothed

    def _smoothed(self, motion: Motion) -> Motion:
        states = motion.states.copy()
        states[:, :3] = self._filtered(without_outliers(states[:, :3], motion.frames, self.outlier_velocity_threshold))
        states[:, 3:6] = self._turned(states[:, 3:6])
        joints = dict(motion.joints)
        if self.smooth_joints and "joints_world" in joints:
            joints["joints_world"] = self._filtered(joints["joints_world"])
        return Motion(states, motion.frames, joints)

    def _filtered(self, values: "Floats") -> "Floats":
        """Values smoothed along the frames; too few stay as they are."""
        window = min(self.savgol_window, len(values) - 1 + len(values) % 2)
        if window <= self.savgol_polyorder + 1:
            return values
        signal = require("scipy.signal", extra="pose", what=self.name)
        return signal.savgol_filter(values, window, self.savgol_polyorder, axis=0)

    def _turned(self, angles: "Floats") -> "Floats":
        """Smoothed angles, by quaternions, of which each is on the side of the one before."""
        quaternions = rotations().from_euler("xyz", angles).as_quat()
        signs = np.sign(np.einsum("ij,ij->i", quaternions[1:], quaternions[:-1]))
        quaternions[1:] *= np.cumprod(np.where(signs == 0, 1.0, signs))[:, None]
        return rotations().from_quat(self._filtered(quaternions)).as_euler("xyz")


def without_outliers(places: "Floats", frames: list[int], threshold: float) -> "Floats":
    """Places of which those that jump away are interpolated.

    Args:
        places: Float64 of shape (t, 3).
        frames: The numbers of the frames.
        threshold: How many deviations a speed may be above the median.
    """
    count = len(places)
    if count < _LEAST_FRAMES:
        return places
    times = np.asarray(frames, np.float64)
    speeds = np.linalg.norm(np.diff(places, axis=0), axis=1) / np.diff(times)
    middle = float(np.median(speeds))
    deviation = float(np.median(np.abs(speeds - middle))) * _DEVIATIONS
    if deviation == 0:
        return places
    limit = middle + threshold * deviation
    good = [int(np.argmax(speeds <= limit))]  # the first frame from which the hand goes on at a usual speed
    for number in range(good[0] + 1, count):
        distance = float(np.linalg.norm(places[number] - places[good[-1]]))
        if distance <= limit * (times[number] - times[good[-1]]):
            good.append(number)
    return np.stack([np.interp(times, times[good], places[good, axis]) for axis in range(places.shape[1])], axis=1)
