"""Filters videos by the tags of their frames: the operator `video_tagging_from_frames_filter`."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any, Literal

from jinx_pipeline.models.clip import CLIP, DEFAULT_CLIP, Clip
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.tagging import tag_vectors, tags_of
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Stats
from jinx_pipeline.operators.api.media_filter import ListFilter
from jinx_pipeline.operators.api.metadata import META, metadata_of
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.parameters import ParameterError, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.frame_pictures import frames_of
from jinx_pipeline.operators.video.frames import Sampling
from jinx_pipeline.sample.media import Media


@register("video_tagging_from_frames_filter", modality="video")
class VideoTaggingFromFramesFilter(ListFilter):
    """Keeps samples whose videos have certain tags, from `video_tagging_from_frames_mapper` or from CLIP.

    Samples with tags in `__dj__meta__` are filtered by them. In the videos of others, a CLIP model looks for `tags`.
    The statistic is 1 for a video with any or all of the tags, and otherwise 0.

        create("video_tagging_from_frames_filter", hf_clip="/models/clip", tags=["cat", "dog"], contain="any")

    Needs transformers, torch and PyAV (the extras `model` and `video`).

    Attributes:
        tags: The tags; upper and lower case are equal.
        contain: Whether a video must have any or all of them.
        hf_clip: The directory of a CLIP or SigLIP model with its processor, its name in the local cache, or in the
            recipe's `models`.
        prompt: The text for a tag, with `{}` in its place.
        min_score: The smallest cosine of the embeddings of a frame and the text.
        frame_sampling_method: `"all_keyframes"`, `"all_frames"`, or `"uniform"`: `frame_num` frames from the first to
            the last at equal distances.
        frame_num: The number of frames for `"uniform"`; a single frame is taken from the middle.
        tag_field_name: The name of the tags in `__dj__meta__`.
        any_or_all: Whether at least one video of a sample must have the tags, or each.
    """

    tags: list[str] = field(default_factory=lambda: ["people"])
    contain: Literal["any", "all"] = "any"
    hf_clip: Annotated[Model, Kinds("transformers")] = DEFAULT_CLIP
    prompt: str = "a photo of {}"
    min_score: Annotated[float, Range(-1, 1)] = 0.2
    frame_sampling_method: Sampling = "all_keyframes"
    frame_num: Annotated[int, Range(1)] = 3
    tag_field_name: str = "video_frame_tags"

    batch_size = 16
    pure = False  # rounding differs between devices
    stats = {"video_has_tags": "list<int64>"}
    thresholds = ("any_or_all",)

    @property
    def reads(self) -> tuple[str, ...]:
        return ("videos", META)

    def check(self) -> None:
        if self.prompt.count("{}") != 1 or self.prompt.count("{") != 1:
            raise ParameterError(self.name, "prompt", "prompt has {} once, in the place of the tag")

    def resolve(self) -> None:
        refuse_other_models(self, hf_clip=CLIP)

    def bound(self, name: str) -> tuple[float, float]:
        return (1, 1)

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        ctx.begins(0)  # no time limit per row while the model runs
        samples, rows = batch.samples(), [list(media) for media in batch.media("videos")]
        known = [self._known(sample, len(media)) for sample, media in zip(samples, rows, strict=True)]
        unknown = [media for tags, media in zip(known, rows, strict=True) if tags is None]
        found = iter(self._found([medium for media in unknown for medium in media], ctx))
        return {
            "video_has_tags": [
                [self._fits(tags) for tags in (_next(found, len(media)) if given is None else given)]
                for given, media in zip(known, rows, strict=True)
            ]
        }

    def _known(self, sample: Mapping[str, Any], count: int) -> list[Sequence[str]] | None:
        """The tags that are already known for each video of a sample; None if there are none."""
        tags = metadata_of(sample).get(self.tag_field_name)
        if tags is None:
            return None
        if len(tags) != count:
            raise ValueError(f"the sample has {count} videos, and {self.tag_field_name} of {len(tags)}")
        return list(tags)

    def _found(self, media: Sequence[Media], ctx: Context) -> list[list[str]]:
        """The tags that CLIP finds in each video."""
        if not media or not self.tags:
            return [[] for _ in media]
        clip = Clip(self.hf_clip, ctx)
        vectors = tag_vectors(clip, self.tags, self.prompt)
        frames = clip.pictures(media, frames_of(self.name, self.frame_sampling_method, self.frame_num))
        count = len(self.tags)
        return [tags_of(pictures, vectors, self.tags, min_score=self.min_score, max_tags=count) for pictures in frames]

    def _fits(self, tags: Sequence[str]) -> int:
        wanted, has = {tag.casefold() for tag in self.tags}, {tag.casefold() for tag in tags}
        return int(bool(wanted & has) if self.contain == "any" else wanted <= has)


def _next(found: Any, count: int) -> list[list[str]]:
    return [next(found) for _ in range(count)]
