"""Where overlapping clips of a video begin, by what their frames show."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from jinx_pipeline.operators.hand.motion import rotations
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy.typing as npt

    from jinx_pipeline.operators.hand.motion import Floats

    Pictures = npt.NDArray[np.float32]

_SIDE: Final = 16
# Pictures of the same frame differ by less than this (from 0 to 255), however they were encoded.
_SAME: Final = 4.0
# A frame that differs by less than this from the next one does not show its place in the video.
_STILL: Final = 0.5
_MATRIX: Final = 4


def pictures_of(frames: Sequence[Media]) -> "Pictures":
    """Frames as small grey pictures, float32 of shape (n, 16, 16)."""
    small = [np.asarray(frame.image().convert("L").resize((_SIDE, _SIDE)), np.float32) for frame in frames]
    return np.stack(small) if small else np.empty((0, _SIDE, _SIDE), np.float32)


def offset_of(before: "Pictures", clip: "Pictures", step: int | None) -> int:
    """The number of the frame of a clip at which the next one begins; its length if they have none in common.

    Args:
        before: The pictures of a clip.
        clip: Those of the next one.
        step: The frames from its beginning to that of the next one as planned; None if that is not known. It counts if
            pictures do not tell, because nothing moves or no frame is the same.
    """
    count = len(before)
    planned = count if step is None else min(step, count)
    if not count or not len(clip):
        return planned
    differences = {
        start: float(np.abs(before[start : start + len(clip)] - clip[: count - start]).mean()) for start in range(count)
    }
    least = min(differences.values())
    if least > _SAME:
        return planned
    alike = [start for start, difference in differences.items() if difference <= least + _STILL]
    return min(alike, key=lambda start: (abs(start - planned), start)) if len(alike) > 1 else alike[0]


def weights_of(offsets: Sequence[int], lengths: Sequence[int]) -> "list[Floats]":
    """The weights of the frames of each clip, which fall towards its ends where other clips overlap it."""
    weights: list[Floats] = []
    for number, (offset, length) in enumerate(zip(offsets, lengths, strict=True)):
        places = np.arange(length, dtype=np.float64)
        weight = np.ones(length)
        if number:
            overlap = offsets[number - 1] + lengths[number - 1] - offset
            weight = np.minimum(weight, (places + 1) / (max(overlap, 0) + 1))
        if number + 1 < len(offsets):
            overlap = offset + length - offsets[number + 1]
            weight = np.minimum(weight, (length - places) / (max(overlap, 0) + 1))
        weights.append(weight)
    return weights


def alignments(cameras: "Sequence[Floats | None]", offsets: Sequence[int]) -> "list[Floats]":
    """For each clip the motion, a matrix of 4 x 4, that takes its world to that of the first clip.

    It is the mean over the frames that the clip shares with the one before; without these, its world stays.

    Args:
        cameras: The matrices of the cameras of each clip, float64 of shape (n, 4, 4); None if they are not known.
        offsets: The first frame of each clip in the whole video.
    """
    found = [np.eye(_MATRIX)]
    for number in range(1, len(cameras)):
        before, after = cameras[number - 1], cameras[number]
        shift = offsets[number] - offsets[number - 1]
        shared = 0 if before is None or after is None else min(len(before) - shift, len(after))
        motion = np.eye(_MATRIX)
        if before is not None and after is not None and shared > 0:
            motions = before[shift : shift + shared] @ np.linalg.inv(after[:shared])
            motion[:3, :3] = rotations().from_matrix(motions[:, :3, :3]).mean().as_matrix()
            motion[:3, 3] = motions[:, :3, 3].mean(axis=0)
        found.append(found[-1] @ motion)
    return found


def mean_rotations(matrices: "Floats", frames: Sequence[int], weights: "Floats", count: int) -> "Floats":
    """The weighted mean of the rotations of each frame, float64 of shape (count, 3, 3); the unit matrix without any.

    Args:
        matrices: Float64 of shape (n, 3, 3).
        frames: The frame of each.
        weights: The weight of each.
        count: The number of frames.
    """
    quaternions = rotations().from_matrix(matrices).as_quat()
    sums = np.zeros((count, 4))
    for number, quaternion, weight in zip(frames, quaternions, weights, strict=True):
        sums[number] += quaternion * (weight if quaternion @ sums[number] >= 0 else -weight)
    sums[~sums.any(axis=1)] = (0.0, 0.0, 0.0, 1.0)
    return rotations().from_quat(sums).as_matrix()
