"""Captions videos by their sound: the operator `video_captioning_from_audio_mapper`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from jinx_pipeline.models.chat_captioning import AUDIO_CHAT, Prompted, heard_captions
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.parameters import NotEmpty, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.multimodal.captioner import CaptionSplitter
from jinx_pipeline.operators.video.sound_facts import sound_of
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@register("video_captioning_from_audio_mapper", modality="multimodal")
class VideoCaptioningFromAudioMapper(CaptionSplitter):
    """Makes samples whose text has a caption of its sound after each video's token.

    A video without sound keeps its token alone. (Data-Juicer removes the video.) Nothing is made of a sample
    without any sound.

        create("video_captioning_from_audio_mapper", hf_model="/models/qwen2-audio", keep_original_sample=False)

    Needs transformers, torch and PyAV (the extras `model`, `audio` and `video`).

    Attributes:
        hf_model: The directory of a language model with hearing, such as Qwen2-Audio, with its processor, its name in
            the local cache, or in the recipe's `models`.
        prompt: The request.
        max_new_tokens: The largest number of tokens of a caption.
    """

    hf_model: Annotated[Model, Kinds("transformers")] = Model(path="Qwen/Qwen2-Audio-7B-Instruct")
    prompt: Annotated[str, NotEmpty()] = "Describe what is to be heard in one sentence."
    max_new_tokens: Annotated[int, Range(1)] = 128

    def resolve(self) -> None:
        refuse_other_models(self, hf_model=AUDIO_CHAT)

    def candidates(self, batch: Batch, media: Sequence[Sequence[Media]], ctx: Context) -> Sequence[Sequence[str]]:
        items = [Prompted(medium, self.prompt) for of_sample in media for medium in of_sample]
        return heard_captions(self.hf_model, items, self._sound, ctx, max_new_tokens=self.max_new_tokens)

    def _sound(self, medium: Media, rate: int) -> "npt.NDArray[np.float32] | None":
        return sound_of(medium, self.name, rate)
