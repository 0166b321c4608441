"""Probabilities that an image and a text match, from BLIP."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from jinx_pipeline.models.feed import Results, feed
from jinx_pipeline.models.files import Expected
from jinx_pipeline.models.pictures import Pictures
from jinx_pipeline.models.pretrained import Pretrained, load_pretrained
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MATCHING: Final = Expected("a BLIP model for retrieval", ("BlipForImageTextRetrieval",), ("texts", "images"))
"""Models with a head for image-text matching."""


def load_matching(model: Model, device: str) -> Pretrained:
    """Load a model for `Context.model`."""
    return load_pretrained(model, device, "BlipForImageTextRetrieval", "AutoTokenizer", "AutoImageProcessor")


def matching(
    model: Model, pairs: Sequence[tuple[str, Media]], pictures: Pictures, ctx: Context
) -> "list[npt.NDArray[np.float32]]":
    """For each text and medium, the probabilities that the text matches its pictures, float32 of shape (k,).

    Args:
        model: The model.
        pairs: The texts and media.
        pictures: How to make pictures of a medium.
        ctx: The context of the operator.
    """
    return matching_pictures(model, [(text, medium, pictures) for text, medium in pairs], ctx)


def matching_pictures(
    model: Model, wanted: Sequence[tuple[str, Media, Pictures]], ctx: Context
) -> "list[npt.NDArray[np.float32]]":
    """Like `matching`, for texts and media with different ways of making pictures, such as parts of images.

    Args:
        model: The model.
        wanted: Texts and media, each with the way to make pictures of it.
        ctx: The context of the operator.
    """
    if not wanted:
        return []
    loaded = ctx.model(model, load_matching)
    limit = loaded.network.config.text_config.max_position_embeddings

    def prepare(item: tuple[str, Media, Pictures]) -> list[tuple[list[int], Any]]:
        text, medium, pictures = item
        (tokens,) = loaded.encoded([text], truncation=True, max_length=limit)
        return [(tokens, loaded.pixels(picture)) for picture in pictures.make(medium)]

    def run(batch: list[tuple[list[int], Any]]) -> "Results[np.float32]":
        import torch

        with loaded.inference():
            pixels = loaded.on_device(torch.stack([pixels for _, pixels in batch]))
            scores = loaded.network(pixel_values=pixels, **loaded.padded([ids for ids, _ in batch])).itm_score
            found = scores.float().softmax(dim=-1)[:, 1]
        return lambda: found.cpu().numpy()

    rows: list[Any] = [None] * len(wanted)
    for number, scores in feed(wanted, prepare, run, limits=loaded.picture_limits, threads=ctx.threads or 1):
        rows[number] = scores
    return rows
