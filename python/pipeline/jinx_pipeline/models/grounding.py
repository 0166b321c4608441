"""Phrases in pictures, from models that detect what a text describes, such as OWL-ViT and OWLv2."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

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

GROUNDING: Final = Expected(
    "a model that finds phrases in images",
    ("OwlViTForObjectDetection", "Owlv2ForObjectDetection"),
    ("texts", "images"),
)
"""OWL-ViT and OWLv2."""


class Phrases(NamedTuple):
    """Phrases to look for in the pictures of a medium.

    Attributes:
        medium: The medium.
        phrases: The phrases, at least one.
    """

    medium: Media
    phrases: tuple[str, ...]


class Located(NamedTuple):
    """Something in a picture that matches a phrase.

    Attributes:
        number: The number of the phrase.
        score: Its probability.
        box: Left, top, right and bottom in pixels.
        share: The share of the picture that the box covers.
    """

    number: int
    score: float
    box: tuple[float, float, float, float]
    share: float


class _Input(NamedTuple):
    pixels: Any
    height: int
    width: int
    tokens: "npt.NDArray[np.int64]"


def load_grounding(model: Model, device: str) -> Pretrained:
    """Load a model for `Context.model`."""
    return load_pretrained(model, device, "AutoModelForZeroShotObjectDetection", "AutoTokenizer", "AutoImageProcessor")


def located(
    model: Model, wanted: Sequence[Phrases], pictures: Pictures, ctx: Context, *, min_score: float
) -> list[list[list[Located]]]:
    """What matches the phrases in each picture of each medium, most probable first.

    Args:
        model: The model.
        wanted: The media with the phrases to look for.
        pictures: How to make their pictures.
        ctx: The context of the operator.
        min_score: The smallest probability.
    """
    if not wanted:
        return []
    loaded = ctx.model(model, load_grounding)
    # All texts are padded to the length used in training; a shorter mask would change the results.
    length = min(getattr(loaded.network.config.text_config, "max_position_embeddings", 16), loaded.longest_text)

    def prepare(item: Phrases) -> list[_Input]:
        options = {"padding": "max_length", "truncation": True, "max_length": length, "return_tensors": "np"}
        tokens = loaded.encoded(item.phrases, **options)
        made = pictures.make(item.medium)
        return [_Input(loaded.pixels(picture), picture.height, picture.width, tokens) for picture in made]

    def run(batch: list[_Input]) -> Results[list[Located]]:
        found: list[list[Located]] = []
        with loaded.inference():
            for _, equal in groupby(batch, key=lambda picture: (picture.pixels.shape, len(picture.tokens))):
                found += _found_in(loaded, list(equal), min_score)
        return lambda: found

    rows: list[Any] = [None] * len(wanted)
    limits, threads = loaded.picture_limits, ctx.threads or 1
    size = lambda picture: picture.pixels.shape[-2] * picture.pixels.shape[-1]  # noqa: E731 - too short for a function
    for number, found in feed(wanted, prepare, run, limits=limits, size=size, threads=threads):
        rows[number] = found
    return rows


def _found_in(loaded: Pretrained, inputs: Sequence[_Input], min_score: float) -> list[list[Located]]:
    """The objects that match the phrases in pictures of one shape, each with the same number of phrases."""
    import numpy as np
    import torch

    ids = torch.from_numpy(np.concatenate([picture.tokens for picture in inputs]))
    output = loaded.network(
        input_ids=loaded.on_device(ids),
        attention_mask=loaded.on_device((ids != (loaded.tokenizer.pad_token_id or 0)).long()),
        pixel_values=loaded.on_device(torch.stack([picture.pixels for picture in inputs])),
    )
    sizes = [(picture.height, picture.width) for picture in inputs]
    boxes = loaded.image_processor.post_process_object_detection(output, threshold=min_score, target_sizes=sizes)
    return [_sorted(raw, height * width) for raw, (height, width) in zip(boxes, sizes, strict=True)]


def _sorted(found: Any, area: int) -> list[Located]:
    values = zip(found["labels"].tolist(), found["scores"].tolist(), found["boxes"].tolist(), strict=True)
    located = [
        Located(number, score, tuple(box), (box[2] - box[0]) * (box[3] - box[1]) / area)
        for number, score, box in values
    ]
    return sorted(located, key=lambda hit: -hit.score)
