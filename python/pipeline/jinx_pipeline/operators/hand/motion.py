"""The motion of a hand: states and actions for each frame, and places of its joints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from jinx_pipeline.optional import require

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

Hand = Literal["right", "left", "both"]
HAND_ACTIONS: Final = "hand_action_tags"
"""The name in `__dj__meta__` of the motion of the hands: a dict for each video, with a motion for each hand."""
CAMERA_POSES: Final = "video_camera_pose_tags"
"""The name in `__dj__meta__` of the cameras: a dict for each video, with `cam_c2w`."""
HAND_POSES: Final = "hand_reconstruction_hawor_tags"
"""The name in `__dj__meta__` of the hands in the space of the camera: a dict for each video, with each hand."""
CALIBRATIONS: Final = "camera_calibration_moge_tags"
"""The name in `__dj__meta__` of the intrinsics of the cameras: a dict for each video."""
SEGMENTS: Final = "atomic_action_segments"
"""The name in `__dj__meta__` of the list of segments."""

STATE: Final = 8
"""The numbers of a state: x, y, z, roll, pitch, yaw, 0, and the gripper from -1 (closed) to 1 (open)."""
ACTION: Final = 7
"""The numbers of an action: the changes of place and rotation to the next frame, and its gripper."""
_JOINTS: Final = ("joints_world", "joints_cam")
_MATRIX: Final = (4, 4)


class MotionError(ValueError):
    """Raised when stored motions of hands or cameras are not what they should be."""


@dataclass(frozen=True)
class Motion:
    """The motion of a hand.

    Attributes:
        states: Float64 of shape (t, 8); see `STATE`.
        frames: The numbers of the t frames, ascending.
        joints: Places of joints, float64 of shape (t, j, 3), by `joints_world` and `joints_cam`; those that are known.
    """

    states: "Floats"
    frames: list[int]
    joints: "Mapping[str, Floats]"

    @classmethod
    def of(cls, value: Any, where: str) -> "Motion | None":
        """The motion from `__dj__meta__`; None if there is none.

        Raises:
            MotionError: Something has another shape.
        """
        if not isinstance(value, Mapping) or not _is_filled(value.get("states")):
            return None
        states = floats(value["states"], (None, STATE), f"{where}: states")
        frames = value.get("valid_frame_ids")
        numbers = list(range(len(states))) if frames is None else [int(number) for number in frames]
        if len(numbers) != len(states) or any(after <= before for before, after in pairwise(numbers)):
            raise MotionError(f"{where}: valid_frame_ids are not {len(states)} ascending numbers")
        joints = {
            name: floats(value[name], (len(states), None, 3), f"{where}: {name}")
            for name in _JOINTS
            if _is_filled(value.get(name))
        }
        return cls(states, numbers, joints)

    def part(self, rows: slice) -> "Motion":
        """Some frames of it."""
        joints = {name: places[rows] for name, places in self.joints.items()}
        return Motion(self.states[rows], self.frames[rows], joints)

    def to_data(self, hand: str) -> dict[str, Any]:
        """What `of` reads, with the actions."""
        return {"hand_type": hand, **self.fields()}

    def fields(self) -> dict[str, Any]:
        """Its lists, for samples."""
        return {
            "states": self.states.tolist(),
            "actions": actions_of(self.states).tolist(),
            "valid_frame_ids": self.frames,
            **{name: self.joints[name].tolist() if name in self.joints else [] for name in _JOINTS},
        }

    def with_states(self, states: "Floats") -> "Motion":
        """The motion with other states of the same frames."""
        return replace(self, states=states)


NO_MOTION: Final = Motion(np.empty((0, STATE)), [], {})
"""Of a hand that is in no frame."""


def _is_filled(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and len(value) > 0  # pyright: ignore[reportUnknownArgumentType]


def floats(value: Any, shape: tuple[int | None, ...], where: str) -> "Floats":
    """Numbers of samples as an array.

    Args:
        value: The numbers.
        shape: The lengths that it must have; None for any.
        where: What it is, for messages.

    Raises:
        MotionError: They have another shape, or are not finite numbers.
    """
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise MotionError(f"{where} are not lists of numbers of equal length") from None
    if array.ndim != len(shape) or any(want not in {None, got} for want, got in zip(shape, array.shape, strict=True)):
        wanted = ", ".join("n" if want is None else str(want) for want in shape)
        raise MotionError(f"{where} have the shape {array.shape}, not ({wanted})")
    if not np.isfinite(array).all():
        raise MotionError(f"{where} have values that are not finite")
    return array


def cameras_of(value: Any, where: str) -> "Floats | None":
    """The matrices from camera to world in `__dj__meta__`, float64 of shape (n, 4, 4); None if there are none."""
    if not isinstance(value, Mapping) or not _is_filled(value.get("cam_c2w")):
        return None
    return floats(value["cam_c2w"], (None, *_MATRIX), f"{where}: cam_c2w")


def rotations(operator: str = "An operator on hands") -> Any:
    """SciPy's class of rotations."""
    return require("scipy.spatial.transform", extra="pose", what=operator).Rotation


def actions_of(states: "Floats") -> "Floats":
    """The actions between states, float64 of shape (t, 7); the last one changes nothing.

    Args:
        states: Float64 of shape (t, 8).
    """
    actions = np.zeros((len(states), ACTION))
    if not len(states):
        return actions
    actions[:, 6] = np.append(states[1:, 7], states[-1, 7])
    if len(states) > 1:
        turns = rotations().from_euler("xyz", states[:, 3:6])
        actions[:-1, :3] = np.diff(states[:, :3], axis=0)
        actions[:-1, 3:6] = (turns[1:] * turns[:-1].inv()).as_euler("xyz")
    return actions


def hands_of(hand: Hand) -> tuple[str, ...]:
    """The names of the hands that a parameter means."""
    return ("right", "left") if hand == "both" else (hand,)


def list_at(facts: Mapping[str, Any], name: str) -> list[Any]:
    """A list in `__dj__meta__`; empty if there is none."""
    value = facts.get(name)
    return list(value) if isinstance(value, list | tuple) else []  # pyright: ignore[reportUnknownArgumentType]
