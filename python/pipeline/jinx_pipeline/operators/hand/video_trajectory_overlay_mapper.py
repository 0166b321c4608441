"""Draws the way of a hand on frames: the operator `video_trajectory_overlay_mapper`."""

import math
from collections.abc import Mapping, Sequence
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.media_mapper import store_of
from jinx_pipeline.operators.api.metadata import META, metadata_of, with_metadata
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import Range, Share
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.hand.motion import (
    CALIBRATIONS,
    CAMERA_POSES,
    SEGMENTS,
    Motion,
    MotionError,
    cameras_of,
    floats,
    list_at,
)
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media, media_values

if TYPE_CHECKING:
    from PIL.Image import Image

    from jinx_pipeline.operators.hand.motion import Floats

# Places that are nearer to the plane of the camera are behind it, or cannot be shown.
_NEAR: Final = 1e-6
_QUALITY: Final = 95
# Colours as red, green and blue: of the drawn way from its start to its end; of the dot at its start and its outline.
_WAY: Final = ((0, 0, 255), (0, 255, 0), (255, 0, 0))
_NOW, _BORDER = (0, 100, 255), (255, 255, 255)


@register("video_trajectory_overlay_mapper", modality="video")
class VideoTrajectoryOverlayMapper(Mapper):
    """Adds a column with frames of each segment on which the way of the palm from there to its end is drawn.

    The way goes from blue over green to red; a dot shows where the palm is. Segments are those of
    `video_atomic_action_segment_mapper`; they get `sampled_frame_indices`, the numbers of the frames. Places of the
    joint in the world are shown by the camera of the frame (`cam_c2w`) and its intrinsics, a matrix of 3 x 3 for each
    frame, or `hfov`, the horizontal angle in radians. Without joints, the place of the state is shown.

        create("video_trajectory_overlay_mapper", save_dir="/path/of/frames")

    Images are bytes in the samples, or files in `save_dir` or the run's `media_dir`. (Data-Juicer writes files, whose
    names are in the segments.) Needs Pillow (the extra `image`).

    Attributes:
        segment_field: The name in `__dj__meta__` of the segments.
        camera_pose_field: The name in `__dj__meta__` of the cameras.
        moge_field: The name in `__dj__meta__` of the intrinsics.
        frame_field: The column with all frames of each video, as `video_extract_frames_mapper` makes it.
        overlay_field: The column for the images: a list for each segment.
        save_dir: A directory for the images.
        n_sample_frames: The number of frames of a segment at equal distances, from the first to the last.
        palm_joint_index: The number of the joint; 9 is the root of the middle finger, 0 the wrist.
        dot_radius: The radius of the dot, in pixels.
        line_thickness: The width of the way, in pixels.
        trajectory_alpha: How much the drawing covers the frame.
    """

    segment_field: str = SEGMENTS
    camera_pose_field: str = CAMERA_POSES
    moge_field: str = CALIBRATIONS
    frame_field: str = "video_frames"
    overlay_field: str = "overlay_frames"
    save_dir: str | None = None
    n_sample_frames: Annotated[int, Range(1)] = 8
    palm_joint_index: Annotated[int, Range(0)] = 9
    dot_radius: Annotated[int, Range(1)] = 10
    line_thickness: Annotated[int, Range(1)] = 4
    trajectory_alpha: Share = 0.7

    batch_size = 4
    pure = False  # encoders differ between versions

    @property
    def reads(self) -> tuple[str, ...]:
        return (META, self.frame_field)

    @property
    def writes(self) -> tuple[str, ...]:
        return (META, self.overlay_field)

    @property
    def media_dirs(self) -> tuple[str, ...]:
        return (self.save_dir,) if self.save_dir else ()

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        require("PIL.Image", extra="image", what=self.name)
        store, samples = store_of(self.save_dir, ctx, batch.roles), batch.samples()
        images: list[list[list[Any]]] = []
        facts: list[dict[str, Any]] = []
        for sample, videos in zip(samples, ctx.each(batch.column(self.frame_field)), strict=True):
            known, shown, segments = metadata_of(sample), list[list[Any]](), list[dict[str, Any]]()
            for segment in list_at(known, self.segment_field):
                number = int(segment.get("video", 0))
                frames = list(videos[number] or []) if isinstance(videos, list) and number < len(videos) else []
                drawn = self._drawn(segment, number, frames, known, batch)
                shown.append([store.keep_media(_encoded(image), ".jpg") for _, image in drawn])
                segments.append({**segment, "sampled_frame_indices": [frame for frame, _ in drawn]})
            images.append(shown)
            facts.append({self.segment_field: segments} if segments else {})
        return {**with_metadata(samples, facts), self.overlay_field: images}

    def _drawn(
        self, segment: Any, video: int, frames: Sequence[Any], known: Mapping[str, Any], batch: Batch
    ) -> "list[tuple[int, Image]]":
        """The sampled frames of a segment with their drawings."""
        motion = Motion.of(segment, "a segment")
        cameras, calibrations = list_at(known, self.camera_pose_field), list_at(known, self.moge_field)
        matrices = cameras_of(cameras[video] if video < len(cameras) else None, f"video {video}")
        if motion is None or matrices is None or not frames:
            return []
        calibration = calibrations[video] if video < len(calibrations) else {}
        places = self._places(motion)
        rows = np.unique(np.linspace(0, len(places) - 1, min(self.n_sample_frames, len(places))).round().astype(int))
        values = media_values(list(frames), "images")
        drawn: list[tuple[int, Image]] = []
        for row in rows.tolist():
            frame = motion.frames[row]
            if frame >= min(len(values), len(matrices)):
                continue
            image = Media(values[frame], batch.roles).image().convert("RGB")
            lens = _intrinsics(calibration, frame, image.size)
            drawn.append((frame, self._with_way(image, _seen(places[row:], matrices[frame], lens))))
        return drawn

    def _places(self, motion: Motion) -> "Floats":
        joints = motion.joints.get("joints_world")
        if joints is None:
            return motion.states[:, :3]
        if self.palm_joint_index >= joints.shape[1]:
            raise MotionError(f"palm_joint_index is {self.palm_joint_index}, and hands have {joints.shape[1]} joints")
        return joints[:, self.palm_joint_index]

    def _with_way(self, image: "Image", points: "Floats") -> "Image":
        """An image with the way through points; those that are not finite are not shown."""
        draw = require("PIL.ImageDraw", extra="image", what=self.name)
        over = image.copy()
        pen = draw.Draw(over)
        for number, (start, end) in enumerate(pairwise(points)):
            if np.isfinite([start, end]).all():
                colour = _colour(number / max(len(points) - 1, 1))
                pen.line([tuple(start.tolist()), tuple(end.tolist())], fill=colour, width=self.line_thickness)
        if np.isfinite(points[0]).all():
            x, y = points[0].tolist()
            box = (x - self.dot_radius, y - self.dot_radius, x + self.dot_radius, y + self.dot_radius)
            pen.ellipse(box, fill=_NOW, outline=_BORDER)
        return require("PIL.Image", extra="image", what=self.name).blend(image, over, self.trajectory_alpha)


def _intrinsics(calibration: Any, frame: int, size: tuple[int, int]) -> "Floats":
    """The intrinsics of a frame, a matrix of 3 x 3 in pixels."""
    known: Mapping[str, Any] = calibration if isinstance(calibration, Mapping) else {}
    matrices = known.get("intrinsics")
    if isinstance(matrices, list) and frame < len(matrices):
        return floats(matrices[frame], (3, 3), f"intrinsics of frame {frame}")
    angle = known.get("hfov", known.get("fov_x"))
    angle = angle[min(frame, len(angle) - 1)] if isinstance(angle, list) and angle else angle
    if not isinstance(angle, int | float) or not 0 < angle < math.pi:
        raise MotionError("the camera has neither intrinsics nor hfov, its horizontal angle in radians")
    width, height = size
    focal = width / (2 * math.tan(angle / 2))
    return np.array([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1]])


def _seen(places: "Floats", camera: "Floats", lens: "Floats") -> "Floats":
    """Where a camera sees places, in pixels, of shape (n, 2); NaN for those behind it."""
    seen = (places - camera[:3, 3]) @ camera[:3, :3] @ lens.T
    depth = np.where(seen[:, 2:] > _NEAR, seen[:, 2:], np.nan)
    return seen[:, :2] / depth


def _colour(share: float) -> tuple[int, int, int]:
    """The colour of the drawn way at `share`, which is 0 at its start and 1 at its end."""
    places = [number / (len(_WAY) - 1) for number in range(len(_WAY))]
    red, green, blue = (round(float(np.interp(share, places, channel))) for channel in zip(*_WAY, strict=True))
    return red, green, blue


def _encoded(image: "Image") -> bytes:
    out = BytesIO()
    image.save(out, "JPEG", quality=_QUALITY)
    return out.getvalue()
