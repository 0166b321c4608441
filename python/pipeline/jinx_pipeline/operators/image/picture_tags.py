"""The base class of mappers that tag images or videos with a CLIP model."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from jinx_pipeline.models.clip import CLIP, DEFAULT_CLIP, Clip
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.pictures import Pictures, images_of
from jinx_pipeline.models.tagging import tag_vectors, tags_of
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import META, with_metadata
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import ParameterError, Range, Words
from jinx_pipeline.sample.media import Media
from jinx_pipeline.sample.roles import Role


class PictureTagMapper(Mapper):
    """Adds to `__dj__meta__` a list of tags for each medium: those of `tags` that a CLIP model finds, best first.

    Attributes:
        tags: The tags to look for.
        hf_clip: The directory of a CLIP or SigLIP model with its processor, its name in the local cache, or in the
            recipe's `models`.
        prompt: The text for a tag, with `{}` in its place.
        min_score: The smallest cosine of the embeddings of a picture and the text.
        max_tags: The largest number of tags of a medium.
    """

    tags: Words
    hf_clip: Annotated[Model, Kinds("transformers")] = DEFAULT_CLIP
    prompt: str = "a photo of {}"
    min_score: Annotated[float, Range(-1, 1)] = 0.2
    max_tags: Annotated[int, Range(1)] = 10

    batch_size = 128
    is_fed_rows = True
    pure = False  # rounding differs between devices
    role: ClassVar[Role] = "images"

    @property
    def field_name(self) -> str:
        """The key of the tags in `__dj__meta__`."""
        return ""

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.role, META)

    @property
    def writes(self) -> tuple[str, ...]:
        return (META,)

    @property
    def pictures(self) -> Pictures:
        """How to make pictures of a medium."""
        return images_of()

    def check(self) -> None:
        if self.prompt.count("{}") != 1 or self.prompt.count("{") != 1:
            raise ParameterError(self.name, "prompt", "prompt has {} once, in the place of the tag")

    def resolve(self) -> None:
        refuse_other_models(self, hf_clip=CLIP)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        ctx.begins(0)  # no time limit per row while the model runs
        samples = [list(media) for media in batch.media(self.role)]
        found = iter(self.found([medium for media in samples for medium in media], ctx))
        tags = [[next(found) for _ in media] for media in samples]
        return with_metadata(batch.samples(), [{self.field_name: of_sample} for of_sample in tags])

    def found(self, media: Sequence[Media], ctx: Context) -> list[list[str]]:
        """The tags of each medium, best first."""
        clip = Clip(self.hf_clip, ctx)
        pictures = clip.pictures(media, self.pictures)
        vectors = tag_vectors(clip, self.tags, self.prompt)
        return [
            tags_of(picture, vectors, self.tags, min_score=self.min_score, max_tags=self.max_tags)
            for picture in pictures
        ]
