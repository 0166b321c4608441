"""Filters videos by their aesthetics: the operator `video_aesthetics_filter`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.image.aesthetics_scores import AestheticsFilter
from jinx_pipeline.operators.video.frame_scores import FrameScoreFilter
from jinx_pipeline.operators.video.frames import Sampling


@register("video_aesthetics_filter", modality="video")
class VideoAestheticsFilter(AestheticsFilter, FrameScoreFilter):
    """Keeps samples by the aesthetics score of their videos' frames, from 0 to 1, which a LAION predictor gives.

        create("video_aesthetics_filter", hf_scorer_model="/models/aesthetics", min_score=0.6)

    Needs transformers, torch and PyAV (the extras `model` and `video`).
    """

    min_score: float = 0.4
    frame_sampling_method: Sampling = "uniform"

    stats = {"video_frames_aesthetics_score": "list<float64>"}
    bounds = {"video_frames_aesthetics_score": ("min_score", "max_score")}
