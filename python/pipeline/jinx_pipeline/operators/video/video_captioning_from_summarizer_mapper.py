"""Captions videos by a summary of captions and tags: the operator `video_captioning_from_summarizer_mapper`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any, Final

from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.summarizer import SUMMARIZER, summaries
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.parameters import ParameterError, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.image.picture_tags import PictureTagMapper
from jinx_pipeline.operators.multimodal.captioner import CaptionSplitter
from jinx_pipeline.operators.video.sound_class import SoundClassMapper
from jinx_pipeline.operators.video.video_captioning_from_audio_mapper import VideoCaptioningFromAudioMapper
from jinx_pipeline.operators.video.video_captioning_from_frames_mapper import VideoCaptioningFromFramesMapper
from jinx_pipeline.operators.video.video_captioning_from_video_mapper import VideoCaptioningFromVideoMapper
from jinx_pipeline.operators.video.video_tagging_from_audio_mapper import VideoTaggingFromAudioMapper
from jinx_pipeline.operators.video.video_tagging_from_frames_mapper import VideoTaggingFromFramesMapper
from jinx_pipeline.sample.media import Media

# For each source of captions: the parameter that switches it on, the one with its arguments, and its operator.
_SOURCES: Final[tuple[tuple[str, str, type[Operator]], ...]] = (
    ("consider_video_caption_from_video", "vid_cap_from_vid_args", VideoCaptioningFromVideoMapper),
    ("consider_video_caption_from_audio", "vid_cap_from_aud_args", VideoCaptioningFromAudioMapper),
    ("consider_video_caption_from_frames", "vid_cap_from_frm_args", VideoCaptioningFromFramesMapper),
    ("consider_video_tags_from_audio", "vid_tag_from_aud_args", VideoTaggingFromAudioMapper),
    ("consider_video_tags_from_frames", "vid_tag_from_frm_args", VideoTaggingFromFramesMapper),
)


@register("video_captioning_from_summarizer_mapper", modality="multimodal")
class VideoCaptioningFromSummarizerMapper(CaptionSplitter):
    """Makes samples whose text has a caption after each video's token: a summary of captions and tags.

    Other operators make the captions and tags; a sequence-to-sequence model summarises them.

        create("video_captioning_from_summarizer_mapper", hf_summarizer="/models/t5",
               vid_tag_from_frm_args={"hf_clip": "/models/clip", "tags": ["cat", "dog"]},
               consider_video_caption_from_video=False, consider_video_caption_from_audio=False)

    Needs transformers, torch and PyAV (the extras `model`, `audio` and `video`).

    Attributes:
        hf_summarizer: The directory of a sequence-to-sequence model with its tokenizer, such as T5, its name in the
            local cache, or in the recipe's `models`.
        consider_video_caption_from_video: Take a caption of `video_captioning_from_video_mapper`.
        consider_video_caption_from_audio: Take a caption of `video_captioning_from_audio_mapper`.
        consider_video_caption_from_frames: Take a caption of `video_captioning_from_frames_mapper`.
        consider_video_tags_from_audio: Take the tag of `video_tagging_from_audio_mapper`.
        consider_video_tags_from_frames: Take tags of `video_tagging_from_frames_mapper`, whose `tags` are necessary.
        vid_cap_from_vid_args: The parameters of `video_captioning_from_video_mapper`; models by their paths.
        vid_cap_from_aud_args: Those of `video_captioning_from_audio_mapper`.
        vid_cap_from_frm_args: Those of `video_captioning_from_frames_mapper`.
        vid_tag_from_aud_args: Those of `video_tagging_from_audio_mapper`.
        vid_tag_from_frm_args: Those of `video_tagging_from_frames_mapper`.
        keep_tag_num: The largest number of tags of a video that are taken.
        max_new_tokens: The largest number of tokens of a summary.
    """

    hf_summarizer: Annotated[Model, Kinds("transformers")] = Model(path="flax-community/t5-base-cnn-dm")
    consider_video_caption_from_video: bool = True
    consider_video_caption_from_audio: bool = True
    consider_video_caption_from_frames: bool = True
    consider_video_tags_from_audio: bool = True
    consider_video_tags_from_frames: bool = True
    vid_cap_from_vid_args: dict[str, Any] = field(default_factory=dict[str, Any])
    vid_cap_from_aud_args: dict[str, Any] = field(default_factory=dict[str, Any])
    vid_cap_from_frm_args: dict[str, Any] = field(default_factory=dict[str, Any])
    vid_tag_from_aud_args: dict[str, Any] = field(default_factory=dict[str, Any])
    vid_tag_from_frm_args: dict[str, Any] = field(default_factory=dict[str, Any])
    keep_tag_num: Annotated[int, Range(1)] = 5
    max_new_tokens: Annotated[int, Range(1)] = 128

    def check(self) -> None:
        super().check()
        if not self._sources():
            flags = ", ".join(flag for flag, _, _ in _SOURCES)
            raise ParameterError(self.name, "keep_tag_num", f"there is nothing to summarise: set one of {flags}")

    def resolve(self) -> None:
        refuse_other_models(self, hf_summarizer=SUMMARIZER)
        for parameter, source in self._sources().items():
            try:
                source.resolve()
            except ParameterError as error:
                raise ParameterError(self.name, parameter, f"{parameter}: {error}") from None

    @property
    def models(self) -> dict[str, Model]:
        own = super().models
        for parameter, source in self._sources().items():
            own |= {f"{parameter}.{name}": model for name, model in source.models.items()}
        return own

    def candidates(self, batch: Batch, media: Sequence[Sequence[Media]], ctx: Context) -> Sequence[Sequence[str]]:
        all_media = [medium for of_sample in media for medium in of_sample]
        words: list[list[str]] = [[] for _ in all_media]
        for source in self._sources().values():
            for of_medium, found in zip(words, self._found(source, batch, media, ctx), strict=True):
                of_medium.extend(found)
        texts = [". ".join(of_medium) for of_medium in words if of_medium]
        made = iter(summaries(self.hf_summarizer, texts, ctx, max_new_tokens=self.max_new_tokens))
        return [[next(made)] if of_medium else [] for of_medium in words]

    def _found(
        self, source: Operator, batch: Batch, media: Sequence[Sequence[Media]], ctx: Context
    ) -> Iterator[list[str]]:
        """The captions or tags from one operator, for each medium."""
        all_media = [medium for of_sample in media for medium in of_sample]
        if isinstance(source, CaptionSplitter):
            for candidates in source.candidates(batch, media, ctx):
                yield [caption for caption in candidates[:1] if caption]
        elif isinstance(source, SoundClassMapper):
            for tag in source.found(all_media, ctx):
                yield [] if tag is None else [str(tag)]
        elif isinstance(source, PictureTagMapper):
            for tags in source.found(all_media, ctx):
                yield [", ".join(tags[: self.keep_tag_num])] if tags else []

    def _sources(self) -> Mapping[str, Operator]:
        """The operators that make captions and tags, by the parameter that contains their parameters."""
        sources: dict[str, Operator] = {}
        for flag, parameter, kind in _SOURCES:
            if getattr(self, flag):
                try:
                    sources[parameter] = kind(**getattr(self, parameter))
                except ParameterError as error:
                    raise ParameterError(self.name, parameter, f"{parameter}: {error}") from None
        return sources
