"""Describes the emotion of faces in videos: the operator `video_captioning_face_attribute_emotion_mapper`."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from jinx_pipeline.operators.api.parameters import NotEmpty
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.track_captions import TrackCaptions
from jinx_pipeline.operators.video.tracks import Corners, Track


@register("video_captioning_face_attribute_emotion_mapper", modality="video")
class VideoCaptioningFaceAttributeEmotionMapper(TrackCaptions):
    """Adds to `__dj__meta__` what a language model with vision says of the emotion of the face of each track.

        create("video_captioning_face_attribute_emotion_mapper", video_describe_model_path="/models/qwen-vl")

    (Data-Juicer takes VideoLLaMA3, whose code it runs.) Needs transformers, torch and PyAV (the extras `model` and
    `video`).

    Attributes:
        face_query: The question.
        tag_field_name: The name in `__dj__meta__` of the answers, a list of texts for each video.
    """

    face_query: Annotated[str, NotEmpty()] = (
        "Which emotions does this face show, and how do they change? Two sentences."
    )
    tag_field_name: str = "video_facetrack_attribute_emotion"

    @property
    def questions(self) -> Mapping[str, str]:
        return {self.tag_field_name: self.face_query}

    def boxes(self, track: Track) -> Sequence[Corners]:
        return track.faces
