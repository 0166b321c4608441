"""Filters by the motion in videos, as RAFT sees it: the operator `video_motion_score_raft_filter`."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np

from jinx_pipeline.models.feed import ahead
from jinx_pipeline.models.optical_flow import (
    MULTIPLE,
    SMALLEST_SIDE,
    flow_lengths,
    load_raft,
    refuse_other_weights,
)
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.parameters import ParameterError, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.video_motion_score_filter import VideoMotionScoreFilter
from jinx_pipeline.optional import require

if TYPE_CHECKING:
    from PIL.Image import Image

    from jinx_pipeline.operators.video.video_motion_score_filter import Picture

# The number of frame pairs that the model processes at once.
_PAIRS: Final = 4


@register("video_motion_score_raft_filter", modality="video")
class VideoMotionScoreRaftFilter(VideoMotionScoreFilter):
    """Keeps samples whose videos have a motion score in a range: pixels that the picture moves between two frames.

    The score is that of `video_motion_score_filter` with the optical flow of RAFT, which sees colours. Frames have at
    least 128 pixels on each side; smaller ones are an error of their sample unless `size` scales them.

        create("video_motion_score_raft_filter", model_path="/models/raft", min_score=1.0, size=256)

    The model has the weights of torchvision's `raft_large`, saved by `safetensors.torch.save_file`. Needs torchvision,
    torch, PyAV and OpenCV (the extras `raft`, `video` and `opencv`).

    Attributes:
        model_path: The directory with the weights, or a model of the recipe's `models`.
        min_score: The smallest score.
        max_score: The largest score.
        divisible: The sides are rounded down to multiples of this, a multiple of 8.
    """

    model_path: Annotated[Model, Kinds("transformers")]
    min_score: float = 1.0
    divisible: Annotated[int, Range(1)] = MULTIPLE

    pure = False  # rounding differs between devices

    def check(self) -> None:
        super().check()
        if self.divisible % MULTIPLE:
            raise ParameterError(self.name, "divisible", f"divisible is {self.divisible}, which is no multiple of 8")

    def resolve(self) -> None:
        super().resolve()
        require("torchvision", extra="raft", what=self.name)
        refuse_other_weights(self, "model_path")

    def motions(self, pairs: "Iterator[tuple[Picture, Picture]]", ctx: Context) -> Iterator[float]:
        ctx.begins(0)  # no time limit per row while the model runs
        raft = ctx.model(self.model_path, load_raft)
        coming = ahead(pairs, _PAIRS)
        while part := list(islice(coming, _PAIRS)):
            height, width = part[0][0].shape[:2]
            if min(height, width) < SMALLEST_SIDE:
                raise ValueError(f"the frames have {width} x {height} pixels; RAFT takes {SMALLEST_SIDE}: set size")
            yield from flow_lengths(raft, part)

    def picture_of_frame(self, frame: Any) -> "Picture":
        return frame.to_ndarray(format="rgb24")

    def picture_of_image(self, image: "Image") -> "Picture":
        return np.asarray(image.convert("RGB"))
