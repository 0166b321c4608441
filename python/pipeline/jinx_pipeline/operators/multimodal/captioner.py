"""The base classes of mappers that caption images, videos or sounds with a model."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np

from jinx_pipeline import kernels
from jinx_pipeline.models.captioning import CAPTIONER, captions
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.pictures import Pictures
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.operator_kinds import Splitter
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.sample.media import Media
from jinx_pipeline.sample.roles import Role, Roles
from jinx_pipeline.sample.tokens import MEDIA, chunks, without_tokens

if TYPE_CHECKING:
    import numpy.typing as npt


class CaptionSplitter(Splitter):
    """Makes samples whose text has a generated caption after the token of each medium.

    A text without tokens is about all media. Other words of the text are left out. A medium for which the model finds
    no words keeps its token alone; nothing is made of a sample without any caption.

    Attributes:
        keep_original_sample: Whether the original sample stays too, before those made from it.
    """

    keep_original_sample: bool = True

    batch_size = 8
    pure = False  # rounding differs between devices
    role: ClassVar[Role] = "videos"

    @abstractmethod
    def candidates(self, batch: Batch, media: Sequence[Sequence[Media]], ctx: Context) -> Sequence[Sequence[str]]:
        """The candidate captions of each medium, most likely first.

        Args:
            batch: The samples.
            media: The media of each sample.
            ctx: The context.
        """

    @property
    def captions_kept(self) -> int:
        """The number of candidates kept for each medium; a sample is made of each."""
        return 1

    @property
    def reads(self) -> tuple[str, ...]:
        return ("text", self.role)

    @property
    def writes(self) -> tuple[str, ...]:
        return ("text",)

    def split(self, batch: Batch, ctx: Context) -> "tuple[npt.NDArray[np.int64], Mapping[str, Any]]":
        ctx.begins(0)  # no time limit per row while the model runs
        samples = [list(media) for media in batch.media(self.role)]
        found = iter(self.candidates(batch, samples, ctx))
        originals = batch.text.to_pylist()
        parents: list[int] = []
        texts: list[str] = []
        for row, media in enumerate(samples):
            of_media = [next(found) for _ in media]
            made = [originals[row]] if self.keep_original_sample else []
            made += self._texts(originals[row], of_media, batch.roles, ctx.rng(batch.ids[row], self.name))
            parents += [row] * len(made)
            texts += made
        rows = np.array(parents, dtype=np.int64)
        return rows, batch.take(rows).with_texts_as(texts)

    def _texts(
        self, text: str, candidates: Sequence[Sequence[str]], roles: Roles, rng: "np.random.Generator"
    ) -> list[str]:
        """The texts of the new samples."""
        if not any(candidates):
            return []
        parts = [(chunk, numbers) for chunk, numbers in chunks(text, self.role, roles) if len(numbers)]
        if not parts:
            parts = [(roles.token(self.role) * len(candidates), range(len(candidates)))]
        if parts[-1][1].stop > len(candidates):
            raise ValueError(f"the text stands for {parts[-1][1].stop} {self.role}; the sample has {len(candidates)}")
        chosen = [
            [self.chosen(candidates[number], chunk, roles, rng) for number in numbers] for chunk, numbers in parts
        ]
        return [
            " ".join(
                _captioned(chunk, [kept[at] if kept else "" for kept in of_chunk], self.role, roles)
                for (chunk, _), of_chunk in zip(parts, chosen, strict=True)
            )
            for at in range(self.captions_kept)
        ]

    def chosen(self, candidates: Sequence[str], chunk: str, roles: Roles, rng: "np.random.Generator") -> Sequence[str]:
        """The candidates kept for a medium.

        Args:
            candidates: The candidates.
            chunk: The chunk of the text that has the token of the medium.
            roles: The columns and tokens.
            rng: Random numbers for this sample.
        """
        del chunk, roles, rng
        return candidates


class CandidateSplitter(CaptionSplitter):
    """Makes captions by choosing from several candidates.

    Attributes:
        caption_num: The number of candidates for each medium.
        keep_candidate_mode: `random_any`: one of them, chosen by the seed; `similar_one_simhash`: that which is most
            similar to the original text; `all`: a sample for each.
    """

    caption_num: Annotated[int, Range(1, 100)] = 1
    keep_candidate_mode: Literal["random_any", "similar_one_simhash", "all"] = "random_any"

    @property
    def captions_kept(self) -> int:
        return self.caption_num if self.keep_candidate_mode == "all" else 1

    def chosen(self, candidates: Sequence[str], chunk: str, roles: Roles, rng: "np.random.Generator") -> Sequence[str]:
        if self.keep_candidate_mode == "all" or len(candidates) <= 1:
            return candidates
        if self.keep_candidate_mode == "random_any":
            return [candidates[int(rng.integers(len(candidates)))]]
        original, *others = kernels.simhash([without_tokens(chunk, roles), *candidates], window=2).tolist()
        distances = [(original ^ other).bit_count() for other in others]
        return [candidates[distances.index(min(distances))]]


class Captioner(CandidateSplitter):
    """Captions pictures with a model.

    Candidates come from beam search, so that the same model gives the same captions. (Data-Juicer draws them at
    random.)

    Attributes:
        hf_img2seq: The directory of a BLIP, BLIP-2, GIT or vision encoder-decoder model with its processor, its name in
            the local cache, or in the recipe's `models`.
        prompt: The beginning of each caption.
        max_new_tokens: The largest number of tokens of a caption.
    """

    hf_img2seq: Annotated[Model, Kinds("transformers")] = Model(path="Salesforce/blip2-opt-2.7b")
    prompt: str | None = None
    max_new_tokens: Annotated[int, Range(1)] = 128

    batch_size = 32
    role = "images"

    @property
    @abstractmethod
    def pictures(self) -> Pictures:
        """How to make pictures of a medium."""

    def resolve(self) -> None:
        refuse_other_models(self, hf_img2seq=CAPTIONER)

    def candidates(self, batch: Batch, media: Sequence[Sequence[Media]], ctx: Context) -> Sequence[Sequence[str]]:
        found = captions(
            self.hf_img2seq,
            [medium for of_sample in media for medium in of_sample],
            self.pictures,
            ctx,
            count=self.caption_num,
            prompt=self.prompt,
            max_new_tokens=self.max_new_tokens,
        )
        # The captions of a video's frames are joined into one text.
        return [[". ".join(texts) for texts in zip(*of_medium, strict=True)] for of_medium in found]


def _captioned(chunk: str, kept: Sequence[str], role: Role, roles: Roles) -> str:
    """The tokens of a chunk in order, with a caption after each token of a role, and then the end of the chunk."""
    tokens = {roles.token(name): name for name in MEDIA}
    places = sorted((at, token) for token in tokens for at in _places(chunk, token))
    remaining = iter(kept)
    words = [f"{token} {next(remaining)}".strip() if tokens[token] == role else token for _, token in places]
    return " ".join([*words, roles.chunk_end])


def _places(text: str, token: str) -> list[int]:
    places: list[int] = []
    at = text.find(token)
    while at >= 0:
        places.append(at)
        at = text.find(token, at + len(token))
    return places
