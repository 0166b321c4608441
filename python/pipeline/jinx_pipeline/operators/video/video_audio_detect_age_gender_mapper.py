"""Estimates the age and gender of voices in videos: the operator `video_audio_detect_age_gender_mapper`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from jinx_pipeline.models.age_gender import AGE_AND_GENDER, DEFAULT_AGE_AND_GENDER, voices
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.sound_facts import SoundFactsMapper
from jinx_pipeline.sample.media import Media


@register("video_audio_detect_age_gender_mapper", modality="video")
class VideoAudioDetectAgeGenderMapper(SoundFactsMapper):
    """Adds to `__dj__meta__` a dict about the voice in each video: the lists `Age`, `female`, `male` and `child`.

    `Age` has whole years, the others probabilities; all are empty for a video without sound. Of samples with tags of
    `video_tagging_from_audio_mapper`, only videos with the tag `Speech` are looked at.

        create("video_audio_detect_age_gender_mapper", hf_audio_mapper="/models/age-gender")

    Needs transformers, torch and PyAV (the extras `model`, `audio` and `video`).

    Attributes:
        hf_audio_mapper: The directory of a Wav2Vec2 model with the heads `age` and `gender`, as audEERING publishes it,
            its name in the local cache, or in the recipe's `models`.
        tag_field_name: The name of the list in `__dj__meta__`.
    """

    hf_audio_mapper: Annotated[Model, Kinds("transformers")] = DEFAULT_AGE_AND_GENDER
    tag_field_name: str = "audio_speech_attribute"

    only_speech = True

    @property
    def field_name(self) -> str:
        return self.tag_field_name

    @property
    def nothing(self) -> Mapping[str, Any]:
        return {"Age": [], "female": [], "male": [], "child": []}

    def resolve(self) -> None:
        refuse_other_models(self, hf_audio_mapper=AGE_AND_GENDER)

    def found(self, media: Sequence[Media], ctx: Context) -> Sequence[Any]:
        return [
            None
            if voice is None
            else {"Age": [int(voice.age)], "female": [voice.female], "male": [voice.male], "child": [voice.child]}
            for voice in voices(self.hf_audio_mapper, media, self.sound, ctx)
        ]
