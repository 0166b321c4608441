"""Objects in pictures, from detection models."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from jinx_pipeline.models.feed import Results, feed
from jinx_pipeline.models.files import Expected
from jinx_pipeline.models.pictures import Pictures
from jinx_pipeline.models.pretrained import Pretrained, load_pretrained
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.sample.media import Media

DETECTOR: Final = Expected("a model that detects objects", ("ForObjectDetection",), ("images",))
"""Models such as YOLOS, DETR and RT-DETR."""


class Detected(NamedTuple):
    """An object in a picture.

    Attributes:
        label: Its class.
        number: The number of the class.
        score: Its probability.
        box: Left, top, right and bottom in pixels.
    """

    label: str
    number: int
    score: float
    box: tuple[float, float, float, float]


class _Input(NamedTuple):
    pixels: Any
    height: int
    width: int


def load_detector(model: Model, device: str) -> Pretrained:
    """A detector, for `Context.model`."""
    return load_pretrained(model, device, "AutoModelForObjectDetection", "AutoImageProcessor")


def objects_in(
    model: Model, media: Sequence[Media], pictures: Pictures, ctx: Context, *, min_score: float, max_overlap: float
) -> list[list[list[Detected]]]:
    """The objects in each picture of each medium, most probable first.

    Args:
        model: The model.
        media: The media.
        pictures: How to make their pictures.
        ctx: The context of the operator.
        min_score: The smallest probability of an object.
        max_overlap: Of objects of one class whose intersection is a larger share of their union, only the most probable
            one is kept.
    """
    if not media:
        return []
    loaded = ctx.model(model, load_detector)
    names = loaded.network.config.id2label

    def prepare(medium: Media) -> list[_Input]:
        made = pictures.make(medium)
        return [_Input(loaded.pixels(picture), picture.height, picture.width) for picture in made]

    def run(batch: list[_Input]) -> Results[list[Detected]]:
        import torch

        found: list[Any] = []
        with loaded.inference():
            # Only pictures of the same shape are batched, because not all models have a mask for padding.
            for _, equal in groupby(batch, key=lambda picture: picture.pixels.shape):
                inputs = list(equal)
                output = loaded.network(
                    pixel_values=loaded.on_device(torch.stack([picture.pixels for picture in inputs]))
                )
                sizes = [(picture.height, picture.width) for picture in inputs]
                found += loaded.image_processor.post_process_object_detection(
                    output, threshold=min_score, target_sizes=sizes
                )
        return lambda: [_without_overlaps(_objects(raw, names), max_overlap) for raw in found]

    rows: list[Any] = [None] * len(media)
    limits, threads = loaded.picture_limits, ctx.threads or 1
    for number, objects in feed(media, prepare, run, limits=limits, size=_pixel_count, threads=threads):
        rows[number] = objects
    return rows


def _pixel_count(picture: _Input) -> int:
    return picture.pixels.shape[-2] * picture.pixels.shape[-1]


def _objects(found: Any, names: Any) -> list[Detected]:
    values = zip(found["labels"].tolist(), found["scores"].tolist(), found["boxes"].tolist(), strict=True)
    objects = [Detected(str(names[number]), number, score, tuple(box)) for number, score, box in values]
    return sorted(objects, key=lambda detected: -detected.score)


def _without_overlaps(objects: Sequence[Detected], max_overlap: float) -> list[Detected]:
    kept: list[Detected] = []
    for detected in objects:
        if all(detected.number != other.number or overlap(detected.box, other.box) <= max_overlap for other in kept):
            kept.append(detected)
    return kept


def overlap(first: Sequence[float], second: Sequence[float]) -> float:
    """The intersection of two boxes as a share of their union."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    common = max(width, 0.0) * max(height, 0.0)
    union = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (first, second)) - common
    return common / union if union > 0 else 0.0
