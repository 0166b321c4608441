"""Segments of pictures from SAM, which finds one at each point of a grid."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from jinx_pipeline.models.feed import Results, feed
from jinx_pipeline.models.files import Expected
from jinx_pipeline.models.pictures import Pictures
from jinx_pipeline.models.pretrained import Pretrained, load_pretrained
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy.typing as npt

    Boxes = npt.NDArray[np.float32]
    Scores = npt.NDArray[np.float32]

SEGMENTER: Final = Expected("a SAM model", ("SamModel",), ("images",))
"""SAM, which segments anything at a point."""

# The number of points whose masks are in memory at once.
_POINTS: Final = 64


class Segments(NamedTuple):
    """The segments of a picture, the best first.

    Attributes:
        boxes: Left, top, right and bottom of each in pixels, float32 of shape (n, 4).
        scores: How well the mask of each fits, as the model estimates it, float32 of shape (n,).
    """

    boxes: "Boxes"
    scores: "Scores"


class _Input(NamedTuple):
    pixels: Any
    size: tuple[int, int]
    scaled: tuple[int, int]


def load_segmenter(model: Model, device: str) -> Pretrained:
    """A segmenter, for `Context.model`."""
    return load_pretrained(model, device, "SamModel", "AutoImageProcessor")


def segments_in(
    model: Model,
    media: Sequence[Media],
    pictures: Pictures,
    ctx: Context,
    *,
    points: int,
    min_score: float,
    max_overlap: float,
) -> list[list[Segments]]:
    """The segments of each picture of each medium.

    Args:
        model: The model.
        media: The media.
        pictures: How to make their pictures.
        ctx: The context of the operator.
        points: The number of points along each side of the grid.
        min_score: The smallest score of a segment.
        max_overlap: Of segments whose boxes intersect in a larger share of their union, only the best one is kept.
    """
    if not media:
        return []
    loaded = ctx.model(model, load_segmenter)

    def prepare(medium: Media) -> list[_Input]:
        made: list[_Input] = []
        for picture in pictures.make(medium):
            found = loaded.image_processor(images=picture, return_tensors="pt")
            (size,), (scaled,) = found["original_sizes"].tolist(), found["reshaped_input_sizes"].tolist()
            made.append(_Input(found["pixel_values"][0], tuple(size), tuple(scaled)))
        return made

    def run(batch: list[_Input]) -> Results[Segments]:
        import torch

        with loaded.inference():
            embeddings = loaded.network.get_image_embeddings(
                loaded.on_device(torch.stack([picture.pixels for picture in batch]))
            )
            found = [
                _segments(loaded, picture, embedding[None], points, min_score)
                for picture, embedding in zip(batch, embeddings, strict=True)
            ]
        return lambda: [_without_overlaps(segments, max_overlap) for segments in found]

    rows: list[Any] = [None] * len(media)
    for number, segments in feed(media, prepare, run, limits=loaded.picture_limits, threads=ctx.threads or 1):
        rows[number] = segments
    return rows


def _segments(loaded: Pretrained, picture: _Input, embedding: Any, points: int, min_score: float) -> Segments:
    """For each point of the grid, the segment that the model considers best."""
    import torch

    ticks = (torch.arange(points, dtype=torch.float32) + 0.5) / points
    rows, columns = torch.meshgrid(ticks * picture.scaled[0], ticks * picture.scaled[1], indexing="ij")
    grid = torch.stack([columns.reshape(-1), rows.reshape(-1)], dim=1)
    boxes, scores = [np.empty((0, 4), np.float32)], [np.empty(0, np.float32)]
    for part in grid.split(_POINTS):
        output = loaded.network(
            image_embeddings=embedding,
            input_points=loaded.on_device(part[None, :, None]),
            input_labels=loaded.on_device(torch.ones(1, len(part), 1, dtype=torch.int64)),
        )
        fits = output.iou_scores[0].float()  # shape: (points, masks)
        best = fits.argmax(dim=1)
        numbers = torch.arange(len(part), device=fits.device)
        kept = fits[numbers, best] >= min_score
        if not kept.any():
            continue
        low = output.pred_masks[0][numbers, best][kept].float()
        (masks,) = loaded.image_processor.post_process_masks([low[:, None].cpu()], [picture.size], [picture.scaled])
        found = boxes_of(masks[:, 0].numpy())
        is_there = found[:, 2] > found[:, 0]
        boxes.append(found[is_there])
        scores.append(fits[numbers, best][kept].cpu().numpy()[is_there])
    return Segments(np.concatenate(boxes), np.concatenate(scores))


def boxes_of(masks: "npt.NDArray[np.bool_]") -> "Boxes":
    """The boxes around masks, float32 of shape (n, 4): left, top, right and bottom; zeros for an empty mask.

    Args:
        masks: The masks, of shape (n, height, width).
    """
    columns, rows = np.asarray(masks.any(axis=1)), np.asarray(masks.any(axis=2))
    edges = [
        columns.argmax(axis=1),
        rows.argmax(axis=1),
        columns.shape[1] - columns[:, ::-1].argmax(axis=1),
        rows.shape[1] - rows[:, ::-1].argmax(axis=1),
    ]
    boxes = np.stack(edges, axis=1).astype(np.float32)
    boxes[~columns.any(axis=1)] = 0
    return boxes


def _without_overlaps(segments: Segments, max_overlap: float) -> Segments:
    """Of segments whose boxes overlap, only the best."""
    order = np.argsort(-segments.scores, kind="stable")
    boxes, scores = segments.boxes[order], segments.scores[order]
    remaining, kept = np.arange(len(boxes)), list[int]()
    while len(remaining):
        first, rest = remaining[0], remaining[1:]
        kept.append(int(first))
        remaining = rest[overlaps(boxes[first], boxes[rest]) <= max_overlap]
    return Segments(boxes[kept], scores[kept])


def overlaps(box: "Boxes", others: "Boxes") -> "Scores":
    """The intersection of a box with others as a share of their union, of shape (n,)."""
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    common = np.maximum(sides, 0).prod(axis=1)
    union = (box[2:] - box[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(axis=1) - common
    return common / np.maximum(union, np.finfo(np.float32).tiny)
