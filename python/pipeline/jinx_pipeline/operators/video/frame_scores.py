"""The base class of filters that score videos by their frames, using a model."""

from typing import TYPE_CHECKING, Annotated

from jinx_pipeline.models.pictures import Pictures
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.image.picture_scores import PictureScoreFilter
from jinx_pipeline.operators.multimodal.media_text_scores import REDUCE, Reduce
from jinx_pipeline.operators.video.frame_pictures import frames_of
from jinx_pipeline.operators.video.frames import Sampling

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class FrameScoreFilter(PictureScoreFilter):
    """Keeps samples by a model's score of the frames of each video.

    Attributes:
        frame_sampling_method: `"all_keyframes"`, `"all_frames"`, or `"uniform"`: `frame_num` frames from the first to
            the last at equal distances.
        frame_num: The number of frames for `"uniform"`; a single frame is taken from the middle.
        reduce_mode: The score of a video: the average, the largest or the smallest of its frames.
    """

    frame_sampling_method: Sampling = "all_keyframes"
    frame_num: Annotated[int, Range(1)] = 3
    reduce_mode: Reduce = "avg"

    batch_size = 16
    is_fed_rows = False
    role = "videos"

    @property
    def pictures(self) -> Pictures:
        return frames_of(self.name, self.frame_sampling_method, self.frame_num)

    def reduced(self, scores: "npt.NDArray[np.float32]") -> float:
        if not len(scores):
            raise ValueError("the video has no frame")
        return float(REDUCE[self.reduce_mode](scores.tolist()))
