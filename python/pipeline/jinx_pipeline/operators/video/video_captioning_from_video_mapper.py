"""Captions videos as a whole: the operator `video_captioning_from_video_mapper`."""

from collections.abc import Sequence
from typing import Annotated

from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.video_blip import DEFAULT_VIDEO_BLIP, VIDEO_BLIP, video_captions
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.multimodal.captioner import CandidateSplitter
from jinx_pipeline.operators.video.frame_pictures import frames_of
from jinx_pipeline.operators.video.frames import Sampling
from jinx_pipeline.operators.video.prompts import prompts_of
from jinx_pipeline.sample.media import Media


@register("video_captioning_from_video_mapper", modality="multimodal")
class VideoCaptioningFromVideoMapper(CandidateSplitter):
    """Makes samples whose text has a caption after each video's token, from a model that sees all frames at once.

        create("video_captioning_from_video_mapper", hf_video_blip="/models/video-blip", frame_num=5)

    Candidates come from beam search. (Data-Juicer draws them at random.) Needs transformers, torch and PyAV (the extras
    `model` and `video`).

    Attributes:
        hf_video_blip: The directory of a VideoBLIP or BLIP-2 model with its processor, its name in the local cache, or
            in the recipe's `models`.
        prompt: The beginning of each caption.
        prompt_key: The column with the beginning of the captions of a sample; it replaces `prompt`.
        frame_sampling_method: `"all_keyframes"`, `"all_frames"`, or `"uniform"`: `frame_num` frames from the first to
            the last at equal distances.
        frame_num: The number of frames for `"uniform"`; a single frame is taken from the middle.
        horizontal_flip: Mirror the frames first.
        vertical_flip: Turn the frames upside down first.
        max_new_tokens: The largest number of tokens of a caption.
    """

    hf_video_blip: Annotated[Model, Kinds("transformers")] = DEFAULT_VIDEO_BLIP
    prompt: str | None = None
    prompt_key: str | None = None
    frame_sampling_method: Sampling = "all_keyframes"
    frame_num: Annotated[int, Range(1)] = 3
    horizontal_flip: bool = False
    vertical_flip: bool = False
    max_new_tokens: Annotated[int, Range(1)] = 128

    @property
    def reads(self) -> tuple[str, ...]:
        return (*super().reads, *([self.prompt_key] if self.prompt_key else []))

    def resolve(self) -> None:
        refuse_other_models(self, hf_video_blip=VIDEO_BLIP)

    def candidates(self, batch: Batch, media: Sequence[Sequence[Media]], ctx: Context) -> Sequence[Sequence[str]]:
        flips = {"horizontal_flip": self.horizontal_flip, "vertical_flip": self.vertical_flip}
        return video_captions(
            self.hf_video_blip,
            [medium for of_sample in media for medium in of_sample],
            prompts_of(batch, media, self.prompt_key, self.prompt),
            frames_of(self.name, self.frame_sampling_method, self.frame_num, **flips),
            ctx,
            count=self.caption_num,
            max_new_tokens=self.max_new_tokens,
        )
