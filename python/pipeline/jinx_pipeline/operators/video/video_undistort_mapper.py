"""Removes the distortion of a camera's lens from videos: the operator `video_undistort_mapper`."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from jinx_pipeline.operators.api.batch import REMOVED, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.media_mapper import MadeMedium, store_of
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.container import facts_of
from jinx_pipeline.operators.video.encode import transcoded
from jinx_pipeline.operators.video.planes import black_of, with_planes
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Map = tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]

_META = "__dj__meta__"


@register("video_undistort_mapper", modality="video")
class VideoUndistortMapper(Mapper):
    """Adds videos without lens distortion, using the camera calibration in each sample (Mei's model).

        create("video_undistort_mapper", crf=18)

    The calibration is a list in `__dj__meta__`, with a dict for each video: `intrinsics` (3 x 3, or one for each frame,
    of which the median counts), `xi`, and optionally `dist_coeffs` (k1, k2, p1, p2), `rectify_R` and `new_intrinsics`
    (3 x 3). Frames are encoded again (H.264) and audio is copied. Videos are bytes in the samples, or files in
    `output_video_dir` or the run's `media_dir`. Needs PyAV (the extra `video`) and OpenCV (the extra `opencv`).

    Attributes:
        output_video_dir: A directory for the videos.
        undistorted_video_field: The column for the videos.
        camera_calibration_field: The key of the calibration in `__dj__meta__`.
        crf: The constant rate factor of x264: 0 is lossless, 51 the worst.
    """

    output_video_dir: str | None = None
    undistorted_video_field: str = "undistorted_video"
    camera_calibration_field: str = "camera_calibration"
    crf: Annotated[int, Range(0, 51)] = 22

    batch_size = 4
    pure = False  # encoders differ between versions of FFmpeg

    @property
    def reads(self) -> tuple[str, ...]:
        return ("videos", _META)

    @property
    def writes(self) -> tuple[str, ...]:
        return (self.undistorted_video_field,)

    @property
    def media_dirs(self) -> tuple[str, ...]:
        return (self.output_video_dir,) if self.output_video_dir else ()

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        store = store_of(self.output_video_dir, ctx, batch.roles)
        column: list[Any] = []
        for media, meta in zip(ctx.each(batch.media("videos")), batch.column(_META), strict=True):
            calibrations = meta.get(self.camera_calibration_field) if isinstance(meta, Mapping) else None
            if len(media) and len(calibrations or ()) != len(media):
                raise ValueError(
                    f"{_META}.{self.camera_calibration_field} has {len(calibrations or ())} calibrations for "
                    f"{len(media)} videos"
                )
            videos: list[Any] = []
            for medium, calibration in zip(media, calibrations or (), strict=True):
                made = self._undistorted(medium, calibration)
                videos.append(made and store.keep_media(made.data, made.suffix))
            column.append(videos if len(media) else REMOVED)
        return {self.undistorted_video_field: column}

    def _undistorted(self, medium: Media, calibration: Mapping[str, Any]) -> MadeMedium | None:
        cv2 = require("cv2", extra="opencv", what=self.name)
        cv2.setNumThreads(1)
        facts = facts_of(medium, self.name)
        x, y = undistortion_map(calibration, facts.width, facts.height)

        def edit(frame: Any) -> Iterator[Any]:
            if frame is None:
                return
            editable, planes = with_planes(frame)
            for number, plane in enumerate(planes):
                places = [
                    np.ascontiguousarray(axis[:: plane.down, :: plane.across] / factor, dtype=np.float32)
                    for axis, factor in ((x, plane.across), (y, plane.down))
                ]
                plane.pixels[:] = cv2.remap(
                    np.ascontiguousarray(plane.pixels),
                    *places,
                    interpolation=cv2.INTER_CUBIC,
                    borderMode=cv2.BORDER_CONSTANT,
                    borderValue=black_of(frame, number),
                )
            yield editable

        return transcoded(medium, self.name, edit, crf=self.crf)


def undistortion_map(calibration: Mapping[str, Any], width: int, height: int) -> "Map":
    """For each pixel of the result, the position in the source, as two arrays of shape (height, width).

    The ray of a pixel is projected onto a unit sphere, seen from a point `xi` above its centre, bent by the lens and
    projected onto the sensor (C. Mei and P. Rives, Single View Point Omnidirectional Camera Calibration, 2007).

    Raises:
        ValueError: The calibration lacks the intrinsics or xi, or has them in another shape.
    """
    for name in ("intrinsics", "xi"):
        if calibration.get(name) is None:
            raise ValueError(f"the calibration of the camera has no {name}")
    camera = _matrix(calibration["intrinsics"])
    target = camera if calibration.get("new_intrinsics") is None else _matrix(calibration["new_intrinsics"])
    turn = np.eye(3) if calibration.get("rectify_R") is None else _matrix(calibration["rectify_R"])
    xi = float(np.median(np.asarray(calibration["xi"], dtype=np.float64)))
    bend = np.zeros(4) if calibration.get("dist_coeffs") is None else calibration["dist_coeffs"]
    k1, k2, p1, p2 = np.asarray(bend, dtype=np.float64).reshape(-1)[:4]
    columns, rows = np.meshgrid(np.arange(width, dtype=np.float64), np.arange(height, dtype=np.float64))
    rays = np.linalg.inv(target @ turn) @ np.stack([columns, rows, np.ones_like(rows)]).reshape(3, -1)
    rays /= np.linalg.norm(rays, axis=0)
    x, y = rays[0] / (rays[2] + xi), rays[1] / (rays[2] + xi)
    square = x * x + y * y
    radial = 1 + k1 * square + k2 * square * square
    bent_x = x * radial + 2 * p1 * x * y + p2 * (square + 2 * x * x)
    bent_y = y * radial + p1 * (square + 2 * y * y) + 2 * p2 * x * y
    places_x = camera[0, 0] * bent_x + camera[0, 1] * bent_y + camera[0, 2]
    places_y = camera[1, 1] * bent_y + camera[1, 2]
    return places_x.reshape(height, width).astype(np.float32), places_y.reshape(height, width).astype(np.float32)


def _matrix(values: Any) -> "Floats":
    """A 3 x 3 matrix; for several matrices, the median of each number."""
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.shape[-2:] != (3, 3):
        raise ValueError(f"the calibration of the camera has a matrix of shape {matrix.shape}; it is 3 x 3")
    return np.median(matrix.reshape(-1, 3, 3), axis=0)
