"""Tags videos by their frames: the operator `video_tagging_from_frames_mapper`."""

from typing import Annotated

from jinx_pipeline.models.pictures import Pictures
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.image.picture_tags import PictureTagMapper
from jinx_pipeline.operators.video.frame_pictures import frames_of
from jinx_pipeline.operators.video.frames import Sampling


@register("video_tagging_from_frames_mapper", modality="video")
class VideoTaggingFromFramesMapper(PictureTagMapper):
    """Adds to `__dj__meta__` a list of tags for each video: those that a CLIP model finds in a frame, best first.

        create("video_tagging_from_frames_mapper", hf_clip="/models/clip", tags=["cat", "dog", "person"])

    Data-Juicer's operator has a list and a model of its own (RAM). Needs transformers, torch and PyAV (the extras
    `model` and `video`).

    Attributes:
        frame_sampling_method: `"all_keyframes"`, `"all_frames"`, or `"uniform"`: `frame_num` frames from the first to
            the last at equal distances.
        frame_num: The number of frames for `"uniform"`; a single frame is taken from the middle.
        tag_field_name: The name of the tags in `__dj__meta__`.
    """

    frame_sampling_method: Sampling = "all_keyframes"
    frame_num: Annotated[int, Range(1)] = 3
    tag_field_name: str = "video_frame_tags"

    batch_size = 16
    is_fed_rows = False
    role = "videos"

    @property
    def field_name(self) -> str:
        return self.tag_field_name

    @property
    def pictures(self) -> Pictures:
        return frames_of(self.name, self.frame_sampling_method, self.frame_num)
