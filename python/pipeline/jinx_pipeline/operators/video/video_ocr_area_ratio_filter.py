"""Filters by the area of text in videos: the operator `video_ocr_area_ratio_filter`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.pictures import Pictures
from jinx_pipeline.models.text_area import TEXT_DETECTOR, text_shares
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.parameters import Range, Share, ShareLimit
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.image.picture_scores import PictureScoreFilter
from jinx_pipeline.operators.video.frame_pictures import frames_of
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_DETECTOR: Final = Model(path="PaddlePaddle/PP-OCRv5_server_det_safetensors")


@register("video_ocr_area_ratio_filter", modality="video")
class VideoOcrAreaRatioFilter(PictureScoreFilter):
    """Keeps samples by the share of their videos' frames that text covers: the mean over frames at equal distances.

        create("video_ocr_area_ratio_filter", model_path="/models/pp-ocr-det", max_area_ratio=0.2)

    Boxes of text that overlap count once. (Data-Juicer takes the detector of EasyOCR, and adds all boxes.) Needs
    transformers, torch, PyAV and OpenCV (the extras `model`, `video` and `opencv`).

    Attributes:
        model_path: The directory of a model that detects text, PP-OCRv5 or PP-OCRv6, its name in the local cache, or in
            the recipe's `models`.
        min_area_ratio: The smallest share.
        max_area_ratio: The largest share.
        frame_sample_num: The number of frames, from the first to the last; a single frame is taken from the middle.
    """

    model_path: Annotated[Model, Kinds("transformers")] = _DETECTOR
    min_area_ratio: Share = 0.0
    max_area_ratio: ShareLimit = 1.0
    frame_sample_num: Annotated[int, Range(1)] = 3

    batch_size = 16
    is_fed_rows = False
    role = "videos"
    stats = {"video_ocr_area_ratio": "list<float64>"}
    bounds = {"video_ocr_area_ratio": ("min_area_ratio", "max_area_ratio")}

    def resolve(self) -> None:
        require("cv2", extra="opencv", what=self.name)
        refuse_other_models(self, model_path=TEXT_DETECTOR)

    @property
    def pictures(self) -> Pictures:
        return frames_of(self.name, "uniform", self.frame_sample_num)

    def scores(self, media: Sequence[Media], pictures: Pictures, ctx: Context) -> "Sequence[npt.NDArray[np.float32]]":
        return text_shares(self.model_path, media, pictures, ctx)

    def reduced(self, scores: "npt.NDArray[np.float32]") -> float:
        if not len(scores):
            raise ValueError("the video has no frame")
        return float(scores.mean())
