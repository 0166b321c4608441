"""Finds the emotion of speech in videos: the operator `video_audio_speech_emotion_mapper`."""

from typing import Annotated

from jinx_pipeline.models.audio_classifier import AUDIO_CLASSIFIER
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.sound_class import SoundClassMapper


@register("video_audio_speech_emotion_mapper", modality="video")
class VideoAudioSpeechEmotionMapper(SoundClassMapper):
    """Adds to `__dj__meta__` the most likely emotion of the speech of each video; `EMPTY` for one without.

    Of samples with tags of `video_tagging_from_audio_mapper`, only videos with the tag `Speech` are classified.

        create("video_audio_speech_emotion_mapper", model_dir_emo="/models/emotion")

    Data-Juicer's operator takes SenseVoice, which transformers does not load. Needs transformers, torch and PyAV (the
    extras `model`, `audio` and `video`).

    Attributes:
        model_dir_emo: The directory of a model that classifies audio, such as Wav2Vec2 with a head for emotions, its
            name in the local cache, or in the recipe's `models`.
        speech_Emo: The name of the emotions in `__dj__meta__`.
    """

    model_dir_emo: Annotated[Model, Kinds("transformers")]
    speech_Emo: str = "speech_emotion"  # noqa: N815 - Data-Juicer's name

    only_speech = True

    @property
    def classifier(self) -> Model:
        return self.model_dir_emo

    @property
    def field_name(self) -> str:
        return self.speech_Emo

    def resolve(self) -> None:
        refuse_other_models(self, model_dir_emo=AUDIO_CLASSIFIER)
