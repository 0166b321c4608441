"""Estimates the depth of videos: the operator `video_depth_estimation_mapper`."""

from collections.abc import Iterator, Mapping
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Annotated, Any, Final

import numpy as np

from jinx_pipeline.models.depth import DEPTH_ESTIMATOR, depths, is_metric, load_depth_estimator
from jinx_pipeline.models.feed import ahead
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context, KeptMedium
from jinx_pipeline.operators.api.media_mapper import store_of
from jinx_pipeline.operators.api.metadata import with_metadata
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.container import facts_of
from jinx_pipeline.operators.video.frame_arrays import write_frame_arrays
from jinx_pipeline.operators.video.frame_pictures import frames_of
from jinx_pipeline.operators.video.frames import Sampling
from jinx_pipeline.operators.video.video_metadata import VideoMetadataMapper
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy.typing as npt
    from PIL.Image import Image

    Depth = npt.NDArray[np.float32]

# The number of frames whose depth is in memory at once.
_FRAMES: Final = 32
# The focal length in pixels that the point clouds of Depth Anything assume.
_FOCAL: Final = 470.4


@register("video_depth_estimation_mapper", modality="video")
class VideoDepthEstimationMapper(VideoMetadataMapper):
    """Adds to `__dj__meta__` the depth of the frames of each video: lists `depth_data` and `fps` in `video_depth_tags`.

    `depth_data` has a file for each video that `numpy.load` reads: the array `00000` is the depth of the first frame,
    float16 of shape (height, width). The files are bytes in the samples, or in `save_dir` or the run's `media_dir`.
    `fps` is the rate of these frames. (Data-Juicer puts the numbers of the first video into the sample.)

        create("video_depth_estimation_mapper", video_depth_model_path="/models/depth-anything", save_dir="depth")

    Each frame is estimated alone. Needs transformers, torch and PyAV (the extras `model` and `video`).

    Attributes:
        video_depth_model_path: The directory of a model that estimates depth, such as Depth Anything, with its
            processor, its name in the local cache, or in the recipe's `models`.
        point_cloud_dir_for_metric: A directory for a point cloud (PLY) of each frame, if the model gives metres. Then
            `point_clouds` has their paths.
        max_res: The longest side of a frame in pixels; larger frames are made smaller.
        frame_sampling_method: `"all_keyframes"`, `"all_frames"`, or `"uniform"`: `frame_num` frames from the first to
            the last at equal distances.
        frame_num: The number of frames for `"uniform"`; a single frame is taken from the middle.
        save_dir: A directory for the files.
    """

    video_depth_model_path: Annotated[Model, Kinds("transformers")] = Model(
        path="depth-anything/Depth-Anything-V2-Small-hf"
    )
    point_cloud_dir_for_metric: str | None = None
    max_res: Annotated[int, Range(16)] = 1280
    frame_sampling_method: Sampling = "all_frames"
    frame_num: Annotated[int, Range(1)] = 3
    save_dir: str | None = None

    batch_size = 4

    @property
    def media_dirs(self) -> tuple[str, ...]:
        return tuple(path for path in (self.save_dir, self.point_cloud_dir_for_metric) if path)

    def resolve(self) -> None:
        refuse_other_models(self, video_depth_model_path=DEPTH_ESTIMATOR)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        ctx.begins(0)  # no time limit per row while the model runs
        facts = [self._tags([*media], batch, ctx) for media in batch.media("videos")]
        return with_metadata(batch.samples(), [{"video_depth_tags": tags} for tags in facts])

    def _tags(self, media: list[Media], batch: Batch, ctx: Context) -> Mapping[str, Any]:
        store = store_of(self.save_dir, ctx, batch.roles)
        files: list[KeptMedium] = []
        rates: list[float] = []
        clouds: list[list[KeptMedium]] = []
        for medium in media:
            of_medium: list[KeptMedium] = []
            with TemporaryFile() as file:
                count = self._write(medium, file, of_medium, batch, ctx)
                file.seek(0)
                files.append(store.keep_media(file, ".npz"))
            rates.append(self._rate(medium, count))
            clouds.append(of_medium)
        tags: dict[str, Any] = {"depth_data": files, "fps": rates}
        return {**tags, "point_clouds": clouds} if self.point_cloud_dir_for_metric else tags

    def _write(self, medium: Media, file: IO[bytes], clouds: list[KeptMedium], batch: Batch, ctx: Context) -> int:
        """Write the depth of each frame to a file, optionally with its point cloud; returns the number of frames."""
        loaded = ctx.model(self.video_depth_model_path, load_depth_estimator)
        has_clouds = bool(self.point_cloud_dir_for_metric) and is_metric(loaded)
        store = store_of(self.point_cloud_dir_for_metric, ctx, batch.roles)
        made = frames_of(self.name, self.frame_sampling_method, self.frame_num).make(medium)
        pictures = ahead((_within(picture, self.max_res) for picture in made), _FRAMES)

        def arrays() -> "Iterator[npt.NDArray[np.float16]]":
            while frames := list(islice(pictures, _FRAMES)):
                for picture, depth in zip(frames, depths(loaded, frames, ctx.threads), strict=True):
                    yield depth.astype(np.float16)
                    if has_clouds:
                        clouds.append(store.keep_media(point_cloud(picture, depth), ".ply"))

        return write_frame_arrays(file, arrays())

    def _rate(self, medium: Media, count: int) -> float:
        """The number of frames per second for which depth is estimated."""
        facts = facts_of(medium, self.name)
        if self.frame_sampling_method == "all_frames" and facts.rate:
            return float(facts.rate)
        return count / facts.seconds if facts.seconds else 0.0


def _within(picture: "Image", side: int) -> "Image":
    """A picture, scaled so that its longest side has at most this many pixels."""
    scale = side / max(picture.size)
    return picture if scale >= 1 else picture.resize([max(round(length * scale), 1) for length in picture.size])


def point_cloud(picture: "Image", depth: "Depth") -> bytes:
    """The pixels of a picture in space, as a binary PLY file.

    Args:
        picture: The picture.
        depth: The distance of each pixel in metres, of shape (height, width).
    """
    height, width = depth.shape
    rows, columns = np.mgrid[:height, :width].astype(np.float32)
    points = np.empty(height * width, [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("colour", "u1", 3)])
    points["x"] = ((columns - width / 2) / _FOCAL * depth).ravel()
    points["y"] = ((rows - height / 2) / _FOCAL * depth).ravel()
    points["z"] = depth.ravel()
    points["colour"] = np.asarray(picture.convert("RGB")).reshape(-1, 3)
    return "".join(_ply_head(len(points))).encode() + points.tobytes()


def _ply_head(count: int) -> Iterator[str]:
    yield f"ply\nformat binary_little_endian 1.0\nelement vertex {count}\n"
    yield from (f"property float {name}\n" for name in "xyz")
    yield from (f"property uchar {name}\n" for name in ("red", "green", "blue"))
    yield "end_header\n"
