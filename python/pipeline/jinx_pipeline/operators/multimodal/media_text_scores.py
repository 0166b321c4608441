"""The base classes of filters that score how a text fits its images or videos."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias

from jinx_pipeline.models.clip import CLIP, DEFAULT_CLIP, Clip
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.pictures import Pictures, images_of
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Stats
from jinx_pipeline.operators.api.media_filter import ListFilter
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.text.padded import PaddedTexts
from jinx_pipeline.sample.media import Media
from jinx_pipeline.sample.roles import Role
from jinx_pipeline.sample.tokens import chunks, without_tokens

Reduce: TypeAlias = Literal["avg", "max", "min"]
REDUCE: Mapping[Reduce, Any] = {"avg": lambda scores: sum(scores) / len(scores), "max": max, "min": min}
"""How several scores become one."""


class Pair(NamedTuple):
    """A text with the media to which it refers."""

    text: str
    media: Sequence[Media]


class MediaTextFilter(PaddedTexts, ListFilter):
    """Keeps samples by a score of each chunk of the text with the media whose tokens it contains.

    A text without tokens is compared with all media. A chunk with several pictures has the average, the largest or the
    smallest of their scores.

    Attributes:
        horizontal_flip: Mirror the pictures first.
        vertical_flip: Turn the pictures upside down first.
        reduce_mode: The score of a chunk with several pictures: the average, the largest or the smallest.
        any_or_all: Whether one chunk must pass, or each.
    """

    horizontal_flip: bool = False
    vertical_flip: bool = False
    reduce_mode: Reduce = "avg"

    batch_size = 128
    is_fed_rows = True
    pure = False  # rounding differs between devices
    role: ClassVar[Role] = "images"

    @abstractmethod
    def scores(self, pairs: Sequence[Pair], ctx: Context) -> Sequence[Sequence[float]]:
        """The scores of each pair, one for each picture of its media."""

    @property
    def reads(self) -> tuple[str, ...]:
        return ("text", self.role)

    @property
    def pictures(self) -> Pictures:
        """How to make pictures of a medium."""
        return images_of(horizontal_flip=self.horizontal_flip, vertical_flip=self.vertical_flip)

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        ctx.begins(0)  # no time limit per row while the model runs
        pairs, owners = self._pairs(batch)
        found: list[list[float]] = [[] for _ in range(len(batch))]
        for owner, scores in zip(owners, self.scores(pairs, ctx), strict=True):
            if len(scores):
                found[owner].append(float(REDUCE[self.reduce_mode](scores)))
        (name,) = self.stats
        return {name: found}

    def _pairs(self, batch: Batch) -> tuple[list[Pair], list[int]]:
        """The chunks with their media, and the row of each."""
        roles = batch.roles
        pairs: list[Pair] = []
        owners: list[int] = []
        for row, (text, media) in enumerate(zip(batch.text.to_pylist(), batch.media(self.role), strict=True)):
            found = [(chunk, numbers) for chunk, numbers in chunks(text, self.role, roles) if len(numbers)]
            if not found and text.strip() and len(media):
                found = [(text, range(len(media)))]
            for chunk, numbers in found:
                if numbers.stop > len(media):
                    raise ValueError(f"the text stands for {numbers.stop} {self.role}; the sample has {len(media)}")
                pairs.append(Pair(without_tokens(chunk, roles), [media[number] for number in numbers]))
                owners.append(row)
        return pairs, owners


class ClipTextFilter(MediaTextFilter):
    """Keeps samples by the cosine of CLIP embeddings of a text and its media.

    Attributes:
        hf_clip: The directory of a CLIP or SigLIP model with its processor, its name in the local cache, or in the
            recipe's `models`.
        min_score: The smallest similarity.
        max_score: The largest similarity.
    """

    hf_clip: Annotated[Model, Kinds("transformers")] = DEFAULT_CLIP
    min_score: Annotated[float, Range(-1, 1)] = 0.1
    max_score: Annotated[float, Range(-1, 1, or_no_limit=True)] = 1.0

    def resolve(self) -> None:
        refuse_other_models(self, hf_clip=CLIP)

    def scores(self, pairs: Sequence[Pair], ctx: Context) -> Sequence[Sequence[float]]:
        clip = Clip(self.hf_clip, ctx)
        vectors = iter(clip.pictures([medium for pair in pairs for medium in pair.media], self.pictures))
        texts = clip.texts([pair.text for pair in pairs])
        return [
            [float(vector @ text) for _ in pair.media for vector in next(vectors)]
            for pair, text in zip(pairs, texts, strict=True)
        ]
