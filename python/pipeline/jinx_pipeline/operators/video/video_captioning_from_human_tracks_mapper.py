"""Describes the people in videos: the operator `video_captioning_from_human_tracks_mapper`."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from jinx_pipeline.operators.api.parameters import NotEmpty
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.track_captions import TrackCaptions
from jinx_pipeline.operators.video.tracks import Corners, Track


@register("video_captioning_from_human_tracks_mapper", modality="video")
class VideoCaptioningFromHumanTracksMapper(TrackCaptions):
    """Adds to `__dj__meta__` what a language model with vision says of the person of each track.

    It sees the person, or the face where the person was not found, and is asked two questions: how the person looks,
    and whether it is a child.

        create("video_captioning_from_human_tracks_mapper", video_describe_model_path="/models/qwen-vl")

    (Data-Juicer takes VideoLLaMA3, whose code it runs.) Needs transformers, torch and PyAV (the extras `model` and
    `video`).

    Attributes:
        human_track_query: The first question.
        child_query: The second question.
        tag_field_name_track_video_caption: The name in `__dj__meta__` of the answers to the first question, a list of
            texts for each video.
        tag_field_name_video_track_is_child: The same of the second.
    """

    human_track_query: Annotated[str, NotEmpty()] = "Describe how this person looks, in at most 80 words."
    child_query: Annotated[str, NotEmpty()] = "Is this person a young child? Answer with one word: yes or no."
    tag_field_name_track_video_caption: str = "track_video_caption"
    tag_field_name_video_track_is_child: str = "video_track_is_child"

    @property
    def questions(self) -> Mapping[str, str]:
        return {
            self.tag_field_name_track_video_caption: self.human_track_query,
            self.tag_field_name_video_track_is_child: self.child_query,
        }

    def boxes(self, track: Track) -> Sequence[Corners]:
        bodies = track.bodies or [None] * len(track.faces)
        return [body or face for body, face in zip(bodies, track.faces, strict=True)]
