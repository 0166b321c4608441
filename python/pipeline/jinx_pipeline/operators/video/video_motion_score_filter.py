"""Filters by the motion in videos: the operator `video_motion_score_filter`."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Stats
from jinx_pipeline.operators.api.media_filter import ListFilter
from jinx_pipeline.operators.api.parameters import ParameterError, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.container import facts_of, opened
from jinx_pipeline.operators.video.frames import frames_at
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media, media_values

if TYPE_CHECKING:
    import numpy.typing as npt
    from PIL.Image import Image

    Picture = npt.NDArray[np.uint8]

_DEFAULT_RATE = 25.0
# Farneback's parameters: pyramid scale, levels, window size, iterations, neighbourhood size, its sigma, and flags.
_FARNEBACK = (0.5, 3, 15, 3, 5, 1.2, 0)


@register("video_motion_score_filter", modality="video")
class VideoMotionScoreFilter(ListFilter):
    """Keeps samples whose videos have a motion score within a range: how many pixels the picture moves between frames.

    The score is the mean length of the optical flow (Farneback's method) over all pixels and all pairs of neighbouring
    frames, `sampling_fps` of which are taken from a second; -1 for a video of one frame. Key frames are sought, and
    frames that no other frame needs are not decoded. (Data-Juicer also compares the first frame with the second.)

        create("video_motion_score_filter", min_score=0.5, size=224)

    Needs PyAV (the extra `video`) and OpenCV (the extra `opencv`).

    Attributes:
        min_score: The smallest score.
        max_score: The largest score.
        frame_field: A column with the frames of each video as images, as `video_extract_frames_mapper` makes it, to use
            instead of the videos.
        sampling_fps: The number of frames of a second that are compared; not more than the video has.
        original_fps: The frame rate of the frames in `frame_field`; None: all frames are compared.
        size: The frames are scaled to this size first: that of the shorter side, or height and width. None: no scaling.
        max_size: The longer side after scaling is at most this.
        divisible: The sides are rounded down to multiples of this.
        relative: Whether the score is a share of the diagonal of the frame.
        any_or_all: Whether one video of a sample must pass, or each.
    """

    min_score: float = 0.25
    max_score: float = sys.float_info.max
    frame_field: str | None = None
    sampling_fps: Annotated[float, Range(1e-3)] = 2
    original_fps: Annotated[float, Range(1e-3)] | None = None
    size: Annotated[int, Range(1)] | list[Annotated[int, Range(1)]] | None = None
    max_size: Annotated[int, Range(1)] | None = None
    divisible: Annotated[int, Range(1)] = 1
    relative: bool = False

    batch_size = 4
    stats = {"video_motion_score": "list<float64>"}
    bounds = {"video_motion_score": ("min_score", "max_score")}

    def check(self) -> None:
        if isinstance(self.size, list) and len(self.size) not in {1, 2}:
            problem = f"size is {self.size}; give the shorter side, or height and width"
            raise ParameterError(self.name, "size", problem)

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.frame_field or "videos",)

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        if self.frame_field is None:
            rows = ctx.each(batch.media("videos"))
            return {"video_motion_score": [[self._video_score(medium, ctx) for medium in media] for media in rows]}
        columns = ctx.each(batch.column(self.frame_field))
        return {
            "video_motion_score": [
                [self._score(self._pictures_of(frames, batch), ctx) for frames in videos or []] for videos in columns
            ]
        }

    def _video_score(self, medium: Media, ctx: Context) -> float:
        facts = facts_of(medium, self.name)
        rate = float(facts.rate or _DEFAULT_RATE)
        step = max(round(rate / min(self.sampling_fps, rate)), 1)
        count = round(facts.seconds * rate)
        step = max(min(step, count - 1), 1)  # so that at least two frames are read
        # Half a frame earlier, so that rounding does not skip a frame.
        times = [max(0.0, (number - 0.5) / rate) for number in range(0, max(count, 1), step)]
        with opened(medium, self.name) as container:
            pictures = (self.picture_of_frame(frame) for frame, _ in frames_at(container, times))
            return self._score(pictures, ctx)

    def picture_of_frame(self, frame: Any) -> "Picture":
        """The part of a PyAV frame that is compared, uint8 of shape (height, width) or (height, width, channels)."""
        cv2 = require("cv2", extra="opencv", what=self.name)
        return cv2.cvtColor(frame.to_ndarray(format="bgr24"), cv2.COLOR_BGR2GRAY)

    def picture_of_image(self, image: "Image") -> "Picture":
        """The part of an image that is compared."""
        return np.asarray(image.convert("L"))

    def motions(self, pairs: "Iterator[tuple[Picture, Picture]]", ctx: Context) -> Iterator[float]:
        """The mean length of the optical flow between each two pictures, in pixels."""
        del ctx
        cv2 = require("cv2", extra="opencv", what=self.name)
        for before, after in pairs:
            flow = cv2.calcOpticalFlowFarneback(before, after, None, *_FARNEBACK)
            yield float(np.mean(cv2.magnitude(flow[..., 0], flow[..., 1])))

    def _pictures_of(self, frames: Sequence[Any], batch: Batch) -> "Iterator[Picture]":
        step = 1 if self.original_fps is None else max(round(self.original_fps / self.sampling_fps), 1)
        for value in media_values(list(frames), "images")[::step]:
            yield self.picture_of_image(Media(value, batch.roles).image())

    def _score(self, pictures: "Iterable[Picture]", ctx: Context) -> float:
        shape: list[tuple[int, int]] = []
        scores = list(self.motions(self._pairs(pictures, shape), ctx))
        if not scores:
            return -1.0
        return float(np.mean(scores)) / (float(np.hypot(*shape[0])) if self.relative else 1.0)

    def _pairs(
        self, pictures: "Iterable[Picture]", shape: list[tuple[int, int]]
    ) -> "Iterator[tuple[Picture, Picture]]":
        """Each pair of adjacent pictures, in one size, which is stored in `shape`."""
        cv2 = require("cv2", extra="opencv", what=self.name)
        cv2.setNumThreads(1)
        before: Picture | None = None
        for picture in pictures:
            if not shape:  # the size of frames may change within a video
                shape.append(scaled_size(picture.shape, self.size, self.max_size, self.divisible))
            height, width = shape[0]
            scaled = picture
            if picture.shape[:2] != (height, width):
                scaled = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)
            if before is not None:
                yield before, scaled
            before = scaled


def scaled_size(
    shape: tuple[int, ...], size: int | list[int] | None, max_size: int | None, divisible: int
) -> tuple[int, int]:
    """The height and width of scaled frames; see the attributes of `VideoMotionScoreFilter`."""
    height, width = shape[:2]
    short, long = sorted((height, width))
    target = [size] if isinstance(size, int) else size
    if target and len(target) == 1:
        short, long = target[0], int(target[0] * long / short)
    elif target:
        short, long = min(target), max(target)
    if max_size is not None and long > max_size:
        short, long = int(short * max_size / long), max_size
    sides = (short, long) if width >= height else (long, short)
    return max(1, sides[0] // divisible * divisible), max(1, sides[1] // divisible * divisible)
