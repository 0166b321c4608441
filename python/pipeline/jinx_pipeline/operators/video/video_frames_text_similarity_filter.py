"""Filters by the similarity of a text and frames: the operator `video_frames_text_similarity_filter`."""

from typing import Annotated

from jinx_pipeline.models.pictures import Pictures
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.multimodal.media_text_scores import ClipTextFilter
from jinx_pipeline.operators.video.frame_pictures import frames_of
from jinx_pipeline.operators.video.frames import Sampling


@register("video_frames_text_similarity_filter", modality="multimodal")
class VideoFramesTextSimilarityFilter(ClipTextFilter):
    """Keeps samples whose videos and text are similar, by the cosine of CLIP embeddings of text and frames.

    Each chunk of the text is compared with the frames of the videos of its tokens; a text without tokens is compared
    with all videos. The statistic has a value for each chunk with videos.

        create("video_frames_text_similarity_filter", hf_clip="/models/clip", frame_sampling_method="uniform")

    Needs transformers, torch and PyAV (the extras `model` and `video`).

    Attributes:
        frame_sampling_method: `"all_keyframes"`, `"all_frames"`, or `"uniform"`: `frame_num` frames from the first to
            the last at equal distances.
        frame_num: The number of frames for `"uniform"`; a single frame is taken from the middle.
    """

    frame_sampling_method: Sampling = "all_keyframes"
    frame_num: Annotated[int, Range(1)] = 3

    batch_size = 16
    is_fed_rows = False
    role = "videos"
    stats = {"video_frames_text_similarity": "list<float64>"}
    bounds = {"video_frames_text_similarity": ("min_score", "max_score")}

    @property
    def pictures(self) -> Pictures:
        return frames_of(
            self.name,
            self.frame_sampling_method,
            self.frame_num,
            horizontal_flip=self.horizontal_flip,
            vertical_flip=self.vertical_flip,
        )
