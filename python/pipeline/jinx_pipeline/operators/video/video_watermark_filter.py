"""Filters videos with watermarks: the operator `video_watermark_filter`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.image.watermark_scores import WatermarkFilter
from jinx_pipeline.operators.video.frame_scores import FrameScoreFilter


@register("video_watermark_filter", modality="video")
class VideoWatermarkFilter(WatermarkFilter, FrameScoreFilter):
    """Keeps samples by the probability that frames of their videos have a watermark, from a classifier.

        create("video_watermark_filter", hf_watermark_model="/models/watermark", prob_threshold=0.5)

    Needs transformers, torch and PyAV (the extras `model` and `video`).
    """

    stats = {"video_watermark_prob": "list<float64>"}
