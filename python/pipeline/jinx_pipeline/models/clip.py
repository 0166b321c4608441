"""Embeddings of images, frames and texts from CLIP models that several operators share."""

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jinx_pipeline.models.feed import Results, feed_texts
from jinx_pipeline.models.files import Expected
from jinx_pipeline.models.pictures import Pictures, rows_of_pictures
from jinx_pipeline.models.pretrained import Pretrained, load_pretrained
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

_CLASSES: Final = ("CLIPModel", "SiglipModel", "Siglip2Model")
CLIP: Final = Expected("a CLIP model", _CLASSES, ("texts", "images"))
"""Models that embed images and texts in one space, with what prepares both."""
CLIP_OF_TEXTS: Final = Expected("a CLIP model", _CLASSES, ("texts",))
"""Such a model for texts alone."""
CLIP_OF_IMAGES: Final = Expected("a CLIP model", _CLASSES, ("images",))
"""Such a model for images alone."""
DEFAULT_CLIP: Final = Model(path="openai/clip-vit-base-patch32")
"""The model of Data-Juicer's operators."""


def load_clip(model: Model, device: str) -> Pretrained:
    """A CLIP model with the processors that its directory has, for `Context.model`."""
    processors = {"AutoTokenizer": CLIP_OF_TEXTS, "AutoImageProcessor": CLIP_OF_IMAGES}
    there = [name for name, expected in processors.items() if expected.problem(model) is None]
    return load_pretrained(model, device, "AutoModel", *there)


_TEXTS: Final = "texts"
# The maximum number of texts whose vectors are kept: enough for several batches, in about 10 MB.
_KEPT_TEXTS: Final = 4096


class Clip:
    """A CLIP model that embeds media and texts; all vectors have length 1.

    Args:
        model: The model.
        ctx: The context of the operator.
    """

    def __init__(self, model: Model, ctx: Context) -> None:
        self._loaded = ctx.model(model, load_clip)
        self._threads = ctx.threads

    def pictures(self, media: Sequence[Media], pictures: Pictures) -> "list[Vectors]":
        """The vectors of the pictures of media, float32 of shape (k, d) for each medium."""
        network = self._loaded.network

        def run(pixels: Any) -> "Results[Vectors]":
            return _unit(network.get_image_features(pixel_values=pixels))

        return rows_of_pictures(self._loaded, media, pictures, run, what="embedding", threads=self._threads)

    def texts(self, texts: Sequence[str]) -> "Vectors":
        """The vectors of texts, float32 of shape (n, d). Long texts are cut to what the model takes.

        The last ones are kept: other operators with the same model do not compute them again.
        """
        if not texts:
            return np.empty((0, 0), np.float32)
        kept: dict[str, Any] = self._loaded.kept.setdefault(_TEXTS, {})
        found: dict[str, Any] = {text: kept.get(text) for text in texts}
        new = [text for text, vector in found.items() if vector is None]
        found |= zip(new, self._new_texts(new), strict=True)
        last = kept | found
        self._loaded.kept[_TEXTS] = dict(islice(last.items(), max(len(last) - _KEPT_TEXTS, 0), None))
        return np.stack([found[text] for text in texts])

    def _new_texts(self, texts: Sequence[str]) -> list[Any]:
        loaded = self._loaded
        # SigLIP was trained on texts padded to one length, and has no mask.
        padding = "max_length" if loaded.network.config.model_type.startswith("siglip") else False

        def tokenize(part: Sequence[str]) -> list[list[int]]:
            return loaded.encoded(part, truncation=True, padding=padding)

        def run(batch: list[list[int]]) -> "Results[Vectors]":
            inputs = loaded.padded(batch)
            if padding:
                del inputs["attention_mask"]
            with loaded.inference():
                return _unit(loaded.network.get_text_features(**inputs))

        vectors: list[Any] = [None] * len(texts)
        for number, vector in feed_texts(texts, tokenize, run, limits=loaded.text_limits, size=len):
            vectors[number] = vector
        return vectors

    def texts_once(self, texts: Sequence[str]) -> "Vectors":
        """The vectors of texts that all batches need, such as tags; computed once per process."""
        kept, key = self._loaded.kept, ("texts", tuple(texts))
        if key not in kept:
            kept[key] = self.texts(texts)
        return kept[key]


def _unit(features: Any) -> "Results[Vectors]":
    """The features, scaled to length 1; computed when they are read."""
    vectors = getattr(features, "pooler_output", features).float()
    vectors = vectors / vectors.norm(dim=-1, keepdim=True)
    return lambda: vectors.cpu().numpy()
