"""Tags videos by their sound: the operator `video_tagging_from_audio_mapper`."""

from typing import Annotated

from jinx_pipeline.models.audio_classifier import AUDIO_CLASSIFIER
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.sound_class import SoundClassMapper


@register("video_tagging_from_audio_mapper", modality="video")
class VideoTaggingFromAudioMapper(SoundClassMapper):
    """Adds to `__dj__meta__` the most likely audio event of each video; `EMPTY` for one without sound.

        create("video_tagging_from_audio_mapper", hf_ast="/models/ast")

    Needs transformers, torch and PyAV (the extras `model`, `audio` and `video`).

    Attributes:
        hf_ast: The directory of a model that classifies audio, such as an Audio Spectrogram Transformer (AST), its name
            in the local cache, or in the recipe's `models`.
        tag_field_name: The name of the tags in `__dj__meta__`.
    """

    hf_ast: Annotated[Model, Kinds("transformers")] = Model(path="MIT/ast-finetuned-audioset-10-10-0.4593")
    tag_field_name: str = "video_audio_tags"

    @property
    def classifier(self) -> Model:
        return self.hf_ast

    @property
    def field_name(self) -> str:
        return self.tag_field_name

    def resolve(self) -> None:
        refuse_other_models(self, hf_ast=AUDIO_CLASSIFIER)
