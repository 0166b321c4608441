"""Merges what was found in overlapping clips of a video: the operator `video_clip_reassembly_mapper`."""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import META, metadata_of, with_metadata
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import ParameterError, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.hand.clip_offsets import alignments, mean_rotations, offset_of, pictures_of, weights_of
from jinx_pipeline.operators.hand.motion import (
    CALIBRATIONS,
    CAMERA_POSES,
    HAND_ACTIONS,
    HAND_POSES,
    NO_MOTION,
    Motion,
    MotionError,
    cameras_of,
    list_at,
    rotations,
)
from jinx_pipeline.sample.media import Media, media_values

if TYPE_CHECKING:
    from jinx_pipeline.operators.hand.motion import Floats

_FRAME_IDS = "frame_ids"


class _Clips:
    """The clips of a video: their first frames in it, their lengths, and the weights of their frames."""

    def __init__(self, offsets: Sequence[int], lengths: Sequence[int]) -> None:
        self.offsets, self.lengths = list(offsets), list(lengths)
        self.count = max(offset + length for offset, length in zip(offsets, lengths, strict=True))
        self.weights = weights_of(self.offsets, self.lengths)

    def first_of(self, values: Sequence[Sequence[Any]]) -> list[Any]:
        """A value for each frame of the video, from the first clip that has the frame; None without any."""
        found: list[Any] = [None] * self.count
        for offset, part in reversed(list(zip(self.offsets, values, strict=True))):
            found[offset : offset + len(part)] = part
        return found


@register("video_clip_reassembly_mapper", modality="video")
class VideoClipReassemblyMapper(Mapper):
    """Merges the frames, cameras and motion of hands of overlapping clips of a video, as if it had not been cut.

    The frames of each clip tell where it begins: they show the same as some of the clip before. Where clips overlap,
    motions are the mean of both, whose weights change along the overlap; the world of each clip is moved to that of the
    first one, by the cameras of the frames that both have. Of intrinsics and other lists with a value for each frame,
    and of hands in the space of the camera, the first clip counts. A sample with one clip stays as it is.

        samples = [{"video_frames": [[]], "__dj__meta__": {}}]
        create("video_clip_reassembly_mapper")(samples)

    (Data-Juicer compares only frames with equal pixels, and averages angles, not rotations.) Needs SciPy and Pillow
    (the extras `pose` and `image`).

    Attributes:
        hand_action_field: The name in `__dj__meta__` of the motion of the hands.
        camera_pose_field: The name in `__dj__meta__` of the cameras.
        hand_reconstruction_field: The name in `__dj__meta__` of the hands in the space of the camera.
        frame_field: The column with the frames of each clip, as `video_extract_frames_mapper` makes it with
            `all_frames`.
        moge_field: The name in `__dj__meta__` of the intrinsics.
        clip_field: The column with the clips, which become the videos of `video_key`, if both are there.
        video_key: The column with the videos before they were cut.
        split_duration: The seconds of a clip as planned; it counts with the next two where frames tell nothing.
        overlap_duration: The seconds that clips overlap as planned.
        fps: The frames of a second.
    """

    hand_action_field: str = HAND_ACTIONS
    camera_pose_field: str = CAMERA_POSES
    hand_reconstruction_field: str = HAND_POSES
    frame_field: str = "video_frames"
    moge_field: str = CALIBRATIONS
    clip_field: str = "clips"
    video_key: str = "videos"
    split_duration: Annotated[float, Range(1e-3)] | None = None
    overlap_duration: Annotated[float, Range(0)] | None = None
    fps: Annotated[float, Range(1e-3)] | None = None

    batch_size = 4
    pure = False  # rounding differs between versions of SciPy

    def check(self) -> None:
        if self.split_duration is not None and (self.overlap_duration or 0) >= self.split_duration:
            problem = f"overlap_duration is {self.overlap_duration}; it is less than split_duration"
            raise ParameterError(self.name, "overlap_duration", problem)

    def resolve(self) -> None:
        rotations(self.name)

    @property
    def reads(self) -> tuple[str, ...]:
        return (META, self.frame_field)

    @property
    def writes(self) -> tuple[str, ...]:
        return (META, self.frame_field, self.clip_field)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        frames = list(batch.column(self.frame_field))
        samples = batch.samples()
        facts: list[dict[str, Any]] = []
        for number, (sample, clips) in enumerate(zip(samples, ctx.each(frames), strict=True)):
            values = [list(clip or []) for clip in clips] if isinstance(clips, list | tuple) else []
            found = self._clips(values, batch) if len(values) > 1 else None
            facts.append({} if found is None else self._merged(found, metadata_of(sample)))
            if found is not None:
                frames[number] = [found.first_of(values)]
        changed = {**with_metadata(samples, facts), self.frame_field: frames}
        if any(self.clip_field in sample for sample in samples):
            changed[self.clip_field] = [
                sample.get(self.video_key) or sample.get(self.clip_field) if merged else sample.get(self.clip_field)
                for sample, merged in zip(samples, facts, strict=True)
            ]
        return changed

    def _clips(self, values: Sequence[Sequence[Any]], batch: Batch) -> _Clips | None:
        """Where the clips begin; None without frames."""
        pictures = [
            pictures_of([Media(value, batch.roles) for value in media_values(list(clip), "images")]) for clip in values
        ]
        if not any(len(shown) for shown in pictures):
            return None
        step = None
        if self.split_duration is not None and self.fps is not None:
            step = max(round((self.split_duration - (self.overlap_duration or 0)) * self.fps), 1)
        pairs = pairwise(pictures)
        starts = accumulate((offset_of(before, after, step) for before, after in pairs), initial=0)
        return _Clips(list(starts), [len(clip) for clip in values])

    def _merged(self, clips: _Clips, known: Mapping[str, Any]) -> dict[str, Any]:
        """What is merged of the facts about a sample."""
        count = len(clips.lengths)
        hands, cameras, poses, calibrations = (
            self._of_clips(known, name, count)
            for name in (
                self.hand_action_field,
                self.camera_pose_field,
                self.hand_reconstruction_field,
                self.moge_field,
            )
        )
        matrices = [cameras_of(value, f"clip {number}") for number, value in enumerate(cameras)] or [None] * count
        motions = alignments(matrices, clips.offsets)
        merged: dict[str, Any] = {}
        if hands:
            names = sorted({name for value in hands if isinstance(value, Mapping) for name in value})
            merged[self.hand_action_field] = [{name: _hand(name, hands, clips, motions) for name in names}]
        if any(matrix is not None for matrix in matrices):
            first = next(value for value, matrix in zip(cameras, matrices, strict=True) if matrix is not None)
            merged[self.camera_pose_field] = [{**first, "cam_c2w": _cameras(matrices, clips, motions).tolist()}]
        if poses:
            merged[self.hand_reconstruction_field] = [_poses(poses, clips)]
        if calibrations:
            merged[self.moge_field] = [_per_frame(calibrations, clips)]
        return merged

    def _of_clips(self, known: Mapping[str, Any], name: str, count: int) -> list[Any]:
        """The values of the clips under a name; empty if there are none."""
        values = list_at(known, name)
        if values and len(values) != count:
            raise MotionError(f"{name} has {len(values)} clips, and {self.frame_field} {count}")
        return values


def _hand(name: str, hands: Sequence[Any], clips: _Clips, motions: "Sequence[Floats]") -> dict[str, Any]:
    """The merged motion of a hand."""
    found: list[tuple[int, Motion]] = []
    for number, value in enumerate(hands):
        hand = value.get(name) if isinstance(value, Mapping) else None
        motion = Motion.of(hand, f"clip {number}, {name} hand")
        if motion is not None:
            if motion.frames[0] < 0 or motion.frames[-1] >= clips.lengths[number]:
                raise MotionError(f"clip {number}, {name} hand: valid_frame_ids are beyond its frames")
            found.append((number, motion))
    if not found:
        return NO_MOTION.to_data(name)
    frames = np.concatenate([np.asarray(motion.frames) + clips.offsets[number] for number, motion in found])
    weights = np.concatenate([clips.weights[number][motion.frames] for number, motion in found])
    states = np.concatenate([_moved_states(motion.states, motions[number]) for number, motion in found])
    kept, places = np.unique(frames, return_inverse=True)
    merged = _means(states, places, weights, len(kept))
    turned = mean_rotations(
        rotations().from_euler("xyz", states[:, 3:6]).as_matrix(), places.tolist(), weights, len(kept)
    )
    merged[:, 3:6] = rotations().from_matrix(turned).as_euler("xyz")
    joints: dict[str, Floats] = {}
    for kind in ("joints_world", "joints_cam"):
        if all(kind in motion.joints for _, motion in found):
            parts = [
                _moved(motion.joints[kind], motions[number]) if kind == "joints_world" else motion.joints[kind]
                for number, motion in found
            ]
            if len({part.shape[1] for part in parts}) == 1:
                joints[kind] = _means(np.concatenate(parts), places, weights, len(kept))
    return Motion(merged, kept.tolist(), joints).to_data(name)


def _means(values: "Floats", places: Any, weights: "Floats", count: int) -> "Floats":
    """The weighted means of the values of each place."""
    sums, total = np.zeros((count, *values.shape[1:])), np.zeros(count)
    shape = (-1, *[1] * (values.ndim - 1))
    np.add.at(sums, places, values * weights.reshape(shape))
    np.add.at(total, places, weights)
    return sums / total.reshape(shape)


def _moved(places: "Floats", motion: "Floats") -> "Floats":
    return places @ motion[:3, :3].T + motion[:3, 3]


def _moved_states(states: "Floats", motion: "Floats") -> "Floats":
    moved = states.copy()
    moved[:, :3] = _moved(states[:, :3], motion)
    turns = motion[:3, :3] @ rotations().from_euler("xyz", states[:, 3:6]).as_matrix()
    moved[:, 3:6] = rotations().from_matrix(turns).as_euler("xyz")
    return moved


def _cameras(cameras: "Sequence[Floats | None]", clips: _Clips, motions: "Sequence[Floats]") -> "Floats":
    """The merged matrices of the cameras; the unit matrix for frames without any."""
    found = [(number, camera[: clips.lengths[number]]) for number, camera in enumerate(cameras) if camera is not None]
    frames = np.concatenate([np.arange(len(camera)) + clips.offsets[number] for number, camera in found])
    weights = np.concatenate([clips.weights[number][: len(camera)] for number, camera in found])
    moved = np.concatenate([motions[number] @ camera for number, camera in found])
    merged = np.tile(np.eye(4), (clips.count, 1, 1))
    merged[:, :3, :3] = mean_rotations(moved[:, :3, :3], frames.tolist(), weights, clips.count)
    kept, places = np.unique(frames, return_inverse=True)
    merged[kept, :3, 3] = _means(moved[:, :3, 3], places, weights, len(kept))
    return merged


def _poses(values: Sequence[Any], clips: _Clips) -> dict[str, Any]:
    """Hands in the space of the camera, whose frames are those of the video; of each frame the first clip counts."""
    merged: dict[str, Any] = {}
    for number, value in enumerate(values):
        for name, pose in value.items() if isinstance(value, Mapping) else ():
            if not isinstance(pose, Mapping) or _FRAME_IDS not in pose:
                merged.setdefault(name, pose)
                continue
            hand = merged.setdefault(
                name, {key: [] if isinstance(entry, list) else entry for key, entry in pose.items()}
            )
            ids = [int(frame) + clips.offsets[number] for frame in pose[_FRAME_IDS]]
            seen = set(hand[_FRAME_IDS])
            new = [at for at, frame in enumerate(ids) if frame not in seen]
            for key, entry in {**pose, _FRAME_IDS: ids}.items():
                if isinstance(entry, list) and isinstance(hand.get(key), list) and len(entry) == len(ids):
                    hand[key] += [entry[at] for at in new]
    return {name: _in_order(pose) for name, pose in merged.items()}


def _in_order(pose: Any) -> Any:
    """A pose whose lists are sorted by frames; other values stay."""
    if not isinstance(pose, Mapping) or _FRAME_IDS not in pose:
        return pose
    order = sorted(range(len(pose[_FRAME_IDS])), key=pose[_FRAME_IDS].__getitem__)
    return {
        name: [value[at] for at in order] if isinstance(value, list) and len(value) == len(order) else value
        for name, value in pose.items()
    }


def _per_frame(values: Sequence[Any], clips: _Clips) -> dict[str, Any]:
    """Lists with a value for each frame, merged; other values are those of the first clip that has them."""
    merged: dict[str, Any] = {}
    parts = [value if isinstance(value, Mapping) else {} for value in values]
    for name in sorted({name for part in parts for name in part}):
        of_clips = [part.get(name) for part in parts]
        lengths = [len(of_clip) if isinstance(of_clip, list) else -1 for of_clip in of_clips]
        if lengths == clips.lengths:
            merged[name] = clips.first_of([of_clip for of_clip in of_clips if isinstance(of_clip, list)])
        else:
            merged[name] = next(of_clip for of_clip in of_clips if of_clip is not None)
    return merged
