"""Transcribes the speech of videos: the operator `video_audio_ASR_mapper`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.speech import SPEECH_RECOGNIZER, transcripts
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.sound_facts import SoundFactsMapper
from jinx_pipeline.sample.media import Media


@register("video_audio_ASR_mapper", modality="video")
class VideoAudioASRMapper(SoundFactsMapper):
    """Adds to `__dj__meta__` a dict for each video with its transcript, `asr`, and its language code, `language`.

    Both are empty for a video without sound. Of samples with tags of `video_tagging_from_audio_mapper`, only videos
    with the tag `Speech` are transcribed. Long sounds are transcribed in windows that are cut at quiet places.

        create("video_audio_ASR_mapper", model_dir_ASR="/models/whisper")

    Data-Juicer's operator takes SenseVoice, which transformers does not load. Needs transformers, torch and PyAV (the
    extras `model`, `audio` and `video`).

    Attributes:
        model_dir_ASR: The directory of a model that transcribes speech, such as Whisper or Wav2Vec2 with a CTC head,
            its name in the local cache, or in the recipe's `models`. Only models of many languages such as Whisper tell
            the language.
        speech_ASR: The name of the list in `__dj__meta__`.
        max_new_tokens: The largest number of tokens for a window of 30 seconds.
    """

    model_dir_ASR: Annotated[Model, Kinds("transformers")]  # noqa: N815 - Data-Juicer's name
    speech_ASR: str = "speech_ASR"  # noqa: N815 - Data-Juicer's name
    max_new_tokens: Annotated[int, Range(1)] = 440

    only_speech = True

    @property
    def field_name(self) -> str:
        return self.speech_ASR

    @property
    def nothing(self) -> Mapping[str, Any]:
        return {"language": "", "asr": ""}

    def resolve(self) -> None:
        refuse_other_models(self, model_dir_ASR=SPEECH_RECOGNIZER)

    def found(self, media: Sequence[Media], ctx: Context) -> Sequence[Any]:
        said = transcripts(self.model_dir_ASR, media, self.sound, ctx, max_new_tokens=self.max_new_tokens)
        return [
            None if transcript is None else {"language": transcript.language, "asr": transcript.text}
            for transcript in said
        ]
