"""Filters by CLIP similarity: the operator `image_text_similarity_filter`."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import AnyOrAll, Filter, Stats
from jinx_pipeline.operators.api.media_filter import any_or_all_of
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.optional import require
from jinx_pipeline.sample.tokens import chunks, without_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

_REDUCE: dict[str, Any] = {"avg": lambda scores: sum(scores) / len(scores), "max": max, "min": min}


@register("image_text_similarity_filter", modality="multimodal")
class ImageTextSimilarityFilter(Filter):
    """Keeps samples whose images and text are similar for a CLIP model: the cosine of their embeddings lies in a range.

    Each chunk of the text is compared with the images of its tokens; a text without tokens is compared with all images.
    The statistic has a value for each chunk with images.

        create("image_text_similarity_filter", hf_clip="/models/clip", min_score=0.2)

    Needs transformers, torch and Pillow (the extra `model`).

    Attributes:
        hf_clip: The directory of a CLIP model with its processor, as transformers saves them; a name is looked up in
            the local cache of models.
        min_score: The smallest similarity.
        max_score: The largest similarity.
        horizontal_flip: Mirror the images first.
        vertical_flip: Turn the images upside down first.
        reduce_mode: The similarity of a chunk with several images: the average, the largest or the smallest.
        any_or_all: Whether one chunk must pass, or each.
    """

    hf_clip: Annotated[Model, Kinds("transformers")] = Model(path="openai/clip-vit-base-patch32")
    min_score: Annotated[float, Range(-1, 1)] = 0.1
    max_score: Annotated[float, Range(-1, 1, or_no_limit=True)] = 1.0
    horizontal_flip: bool = False
    vertical_flip: bool = False
    reduce_mode: Literal["avg", "max", "min"] = "avg"
    any_or_all: AnyOrAll = "any"

    batch_size = 16
    pure = False  # rounding differs between devices
    stats = {"image_text_similarity": "list<float64>"}
    bounds = {"image_text_similarity": ("min_score", "max_score")}

    @property
    def reads(self) -> tuple[str, ...]:
        return ("text", "images")

    @property
    def depends_on_batch(self) -> bool:
        return True  # texts are padded to the longest of the batch, which changes the rounding of sums

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        roles = batch.roles
        texts: list[str] = []
        groups: list[list[Any]] = []
        owners: list[int] = []
        for row, (text, media) in enumerate(zip(batch.text.to_pylist(), batch.media("images"), strict=True)):
            text_chunks = [(chunk, numbers) for chunk, numbers in chunks(text, "images", roles) if len(numbers)]
            if not text_chunks and text.strip() and len(media):
                text_chunks = [(text, range(len(media)))]
            for chunk, numbers in text_chunks:
                if numbers.stop > len(media):
                    raise ValueError(f"the text stands for {numbers.stop} images; the sample has {len(media)}")
                texts.append(without_tokens(chunk, roles))
                groups.append([self._flipped(media[number].image()) for number in numbers])
                owners.append(row)
        scores: list[list[float]] = [[] for _ in range(len(batch))]
        for owner, score in zip(owners, self._scores(texts, groups, ctx), strict=True):
            scores[owner].append(score)
        return {"image_text_similarity": scores}

    def keep(self, stats: "Mapping[str, pa.Array]") -> "npt.NDArray[np.bool_]":
        return any_or_all_of(stats, {name: self.bound(name) for name in self.bounds}, self.any_or_all)

    def _flipped(self, image: Any) -> Any:
        from PIL.Image import Transpose

        image = image.convert("RGB")
        if self.horizontal_flip:
            image = image.transpose(Transpose.FLIP_LEFT_RIGHT)
        return image.transpose(Transpose.FLIP_TOP_BOTTOM) if self.vertical_flip else image

    def _scores(self, texts: list[str], groups: list[list[Any]], ctx: Context) -> list[float]:
        """The similarity of each text to its images."""
        if not texts:
            return []
        torch = require("torch", extra="model", what=self.name)
        model, processor = ctx.model(self.hf_clip.path, load_clip)
        images = [image for group in groups for image in group]
        inputs = processor(text=texts, images=images, return_tensors="pt", padding=True, truncation=True).to(ctx.device)
        with torch.no_grad():
            output = model(**inputs)
        # The model normalizes both embeddings.
        cosines = (output.text_embeds @ output.image_embeds.T).float().cpu().tolist()
        scores: list[float] = []
        start = 0
        for row, group in zip(cosines, groups, strict=True):
            scores.append(_REDUCE[self.reduce_mode](row[start : start + len(group)]))
            start += len(group)
        return scores


def load_clip(path: str, device: str) -> tuple[Any, Any]:
    """A CLIP model and its processor, only from files on this machine."""
    transformers = require("transformers", extra="model", what="A CLIP model")
    model = transformers.CLIPModel.from_pretrained(path, local_files_only=True).to(device).eval()
    return model, transformers.CLIPProcessor.from_pretrained(path, local_files_only=True)
