"""Captions videos with a vision language model: the operator `video_captioning_from_vlm_mapper`."""

from collections.abc import Sequence
from typing import Annotated

from jinx_pipeline.models.chat_captioning import VISION_CHAT, Prompted, seen_captions
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.parameters import NotEmpty, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.multimodal.captioner import CandidateSplitter
from jinx_pipeline.operators.video.frame_pictures import frames_of
from jinx_pipeline.operators.video.frames import Sampling
from jinx_pipeline.operators.video.prompts import prompts_of
from jinx_pipeline.sample.media import Media


@register("video_captioning_from_vlm_mapper", modality="multimodal")
class VideoCaptioningFromVlmMapper(CandidateSplitter):
    """Makes samples whose text has a caption after each video's token, from a vision language model.

    The model sees sampled frames as images. A model behind a URL is asked by `mllm_mapper`.

        create("video_captioning_from_vlm_mapper", hf_model="/models/qwen-vl", frame_num=8)

    Candidates come from beam search. (Data-Juicer draws them at random.) Needs transformers, torch and PyAV (the extras
    `model` and `video`).

    Attributes:
        hf_model: The directory of a language model with vision, such as Qwen-VL or LLaVA, with its processor, its name
            in the local cache, or in the recipe's `models`.
        prompt: The request.
        prompt_key: The column with the request for a sample; it replaces `prompt`.
        system_prompt: A message of the system before it.
        frame_sampling_method: `"all_keyframes"`, `"all_frames"`, or `"uniform"`: `frame_num` frames from the first to
            the last at equal distances.
        frame_num: The number of frames for `"uniform"`; a single frame is taken from the middle.
        max_new_tokens: The largest number of tokens of a caption.
    """

    hf_model: Annotated[Model, Kinds("transformers")] = Model(path="Qwen/Qwen3-VL-8B-Instruct")
    prompt: Annotated[str, NotEmpty()] = "These are frames of a video, in their order. Describe the video in one text."
    prompt_key: str | None = None
    system_prompt: str | None = None
    frame_sampling_method: Sampling = "uniform"
    frame_num: Annotated[int, Range(1)] = 8
    max_new_tokens: Annotated[int, Range(1)] = 256

    @property
    def reads(self) -> tuple[str, ...]:
        return (*super().reads, *([self.prompt_key] if self.prompt_key else []))

    def resolve(self) -> None:
        refuse_other_models(self, hf_model=VISION_CHAT)

    def candidates(self, batch: Batch, media: Sequence[Sequence[Media]], ctx: Context) -> Sequence[Sequence[str]]:
        all_media = [medium for of_sample in media for medium in of_sample]
        prompts = prompts_of(batch, media, self.prompt_key, self.prompt)
        return seen_captions(
            self.hf_model,
            [Prompted(medium, prompt or self.prompt) for medium, prompt in zip(all_media, prompts, strict=True)],
            frames_of(self.name, self.frame_sampling_method, self.frame_num),
            ctx,
            system=self.system_prompt,
            count=self.caption_num,
            max_new_tokens=self.max_new_tokens,
        )
