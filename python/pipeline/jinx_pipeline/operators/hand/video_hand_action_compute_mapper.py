"""Computes states and actions of hands: the operator `video_hand_action_compute_mapper`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jinx_pipeline.operators.api.metadata import MetadataMapper, metadata_of
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.hand.motion import (
    CAMERA_POSES,
    HAND_ACTIONS,
    HAND_POSES,
    NO_MOTION,
    Hand,
    Motion,
    MotionError,
    cameras_of,
    floats,
    hands_of,
    list_at,
    rotations,
)

if TYPE_CHECKING:
    from jinx_pipeline.operators.hand.motion import Floats

# Mean angles of the joints of the fingers, in radians, of an open hand and of a fist.
_OPEN, _CLOSED = 0.15, 0.6
_FINGER_JOINTS: Final = 15
_VECTOR, _MATRIX = 3, 9
_LEAST_FRAMES: Final = 2


@register("video_hand_action_compute_mapper", modality="video")
class VideoHandActionComputeMapper(MetadataMapper):
    """Adds the motion of hands in the space of the world to `__dj__meta__`, from hands and cameras that are there.

    For each video and hand there are `states` (x, y, z, roll, pitch, yaw, 0, and a gripper from -1, a fist, to 1, an
    open hand), `actions` (the changes to the next frame, and its gripper), `valid_frame_ids`, and the joints in the
    space of the world and of the camera. A hand in fewer than two frames has none. Poses of hands are as HaWoR's:
    `frame_ids`, `transl`, `global_orient`, `hand_pose` and perhaps `joints_cam` of `left` and `right`, where rotations
    are matrices or vectors; cameras have `cam_c2w`, matrices of 4 x 4 for each frame. `external_operator_mapper` runs
    the code that finds them.

        samples = [{"__dj__meta__": {}}]
        create("video_hand_action_compute_mapper")(samples)  # [{"__dj__meta__": {"hand_action_tags": []}}]

    (Data-Juicer also takes names of files with the matrices.) Needs SciPy (the extra `pose`).

    Attributes:
        hand_reconstruction_field: The name in `__dj__meta__` of the hands, a dict for each video.
        camera_pose_field: The name in `__dj__meta__` of the cameras, a dict for each video.
        tag_field_name: The name in `__dj__meta__` for the result.
        hand_type: `"right"`, `"left"` or `"both"`.
    """

    hand_reconstruction_field: str = HAND_POSES
    camera_pose_field: str = CAMERA_POSES
    tag_field_name: str = HAND_ACTIONS
    hand_type: Hand = "both"

    pure = False  # rounding differs between versions of SciPy

    def check(self) -> None:
        if self.tag_field_name in {self.hand_reconstruction_field, self.camera_pose_field}:
            raise ParameterError(self.name, "tag_field_name", "tag_field_name is the name of what the operator reads")

    def resolve(self) -> None:
        rotations(self.name)

    def facts(self, sample: Mapping[str, Any]) -> Mapping[str, Any]:
        known = metadata_of(sample)
        hands, cameras = list_at(known, self.hand_reconstruction_field), list_at(known, self.camera_pose_field)
        if len(hands) != len(cameras):
            raise MotionError(
                f"{self.hand_reconstruction_field} has {len(hands)} videos, and {self.camera_pose_field} {len(cameras)}"
            )
        return {
            self.tag_field_name: [
                self._video(number, found, camera)
                for number, (found, camera) in enumerate(zip(hands, cameras, strict=True))
            ]
        }

    def _video(self, number: int, found: Any, camera: Any) -> dict[str, Any]:
        where = f"video {number}"
        matrices = cameras_of(camera, where)
        motions: dict[str, Any] = {}
        for hand in hands_of(self.hand_type):
            pose = found.get(hand) if isinstance(found, Mapping) else None
            motion = NO_MOTION
            if matrices is not None and isinstance(pose, Mapping) and pose.get("frame_ids"):
                motion = _motion(pose, matrices, f"{where}, {hand} hand")  # pyright: ignore[reportUnknownArgumentType]
            motions[hand] = motion.to_data(hand)
        return motions


def _motion(pose: Mapping[str, Any], cameras: "Floats", where: str) -> Motion:
    """The motion of a hand in the world, of the frames that have a camera."""
    frames = [int(number) for number in pose["frame_ids"]]
    count = len(frames)
    if any(number < 0 for number in frames):
        raise MotionError(f"{where}: frame_ids are not numbers of frames")
    order = [at for at in np.argsort(frames, kind="stable").tolist() if frames[at] < len(cameras)]
    if len(order) < _LEAST_FRAMES:
        return NO_MOTION
    numbers = [frames[at] for at in order]
    turns, origins = cameras[numbers, :3, :3], cameras[numbers, :3, 3]
    places = floats(pose.get("transl"), (count, 3), f"{where}: transl")[order]
    turned = _matrices(pose.get("global_orient"), count, 1, f"{where}: global_orient")[order, 0]
    states = np.zeros((len(order), 8))
    states[:, :3] = np.einsum("nij,nj->ni", turns, places) + origins
    states[:, 3:6] = rotations().from_matrix(turns @ turned).as_euler("xyz")
    states[:, 7] = _grippers(pose.get("hand_pose"), count, where)[order]
    joints: dict[str, Floats] = {}
    if pose.get("joints_cam") is not None:
        seen = floats(pose["joints_cam"], (count, None, 3), f"{where}: joints_cam")[order]
        joints = {"joints_world": np.einsum("nij,nkj->nki", turns, seen) + origins[:, None], "joints_cam": seen}
    return Motion(states, numbers, joints)


def _matrices(value: Any, count: int, joints: int, where: str) -> "Floats":
    """Rotations as matrices of shape (count, joints, 3, 3), from matrices or vectors."""
    try:
        array = np.asarray(value, np.float64).reshape(count, joints, -1)
    except (TypeError, ValueError):
        raise MotionError(f"{where} has not {joints} rotations in each of {count} frames") from None
    if array.shape[-1] not in {_VECTOR, _MATRIX} or not np.isfinite(array).all():
        raise MotionError(f"{where} are not rotations: matrices of 3 x 3, or vectors of 3")
    if array.shape[-1] == _MATRIX:
        return array.reshape(count, joints, 3, 3)
    return rotations().from_rotvec(array.reshape(-1, 3)).as_matrix().reshape(count, joints, 3, 3)


def _grippers(value: Any, count: int, where: str) -> "Floats":
    """How open a hand is in each frame, from -1 to 1, by the mean angle of its fingers; 1 if that is not known."""
    if value is None or not len(value):
        return np.ones(count)
    turned = _matrices(value, count, _FINGER_JOINTS, f"{where}: hand_pose")
    angles = np.arccos(np.clip((np.trace(turned, axis1=-2, axis2=-1) - 1) / 2, -1, 1)).mean(axis=1)
    return np.interp(angles, (_OPEN, _CLOSED), (1.0, -1.0))
