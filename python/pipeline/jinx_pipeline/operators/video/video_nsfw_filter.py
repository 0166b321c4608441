"""Filters videos that are not safe for work: the operator `video_nsfw_filter`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.image.nsfw_scores import NsfwFilter
from jinx_pipeline.operators.video.frame_scores import FrameScoreFilter


@register("video_nsfw_filter", modality="video")
class VideoNsfwFilter(NsfwFilter, FrameScoreFilter):
    """Keeps samples by the probability that their videos' frames are not safe for work, from a classifier.

        create("video_nsfw_filter", hf_nsfw_model="/models/nsfw", max_score=0.3)

    Needs transformers, torch and PyAV (the extras `model` and `video`).
    """

    stats = {"video_nsfw_score": "list<float64>"}
    bounds = {"video_nsfw_score": ("min_score", "max_score")}
