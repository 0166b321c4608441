"""Segments images: the operator `image_segment_mapper`."""

from collections.abc import Mapping
from typing import Annotated, Any

from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.pictures import images_of
from jinx_pipeline.models.segmentation import SEGMENTER, Segments, segments_in
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import META, with_metadata
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import Range, Share
from jinx_pipeline.operators.api.registry import register


@register("image_segment_mapper", modality="image")
class ImageSegmentMapper(Mapper):
    """Adds to `__dj__meta__` the boxes around the segments of each image, the best first.

    `__dj__bbox__` has a list for each image of boxes: the centre, width and height in pixels. The model looks for a
    segment at each point of a grid.

        create("image_segment_mapper", model_path="/models/sam", conf=0.8)

    Data-Juicer's operator takes FastSAM of Ultralytics. Needs transformers, torch and Pillow (the extra `model`).

    Attributes:
        model_path: The directory of a SAM model with its processor, its name in the local cache, or in the recipe's
            `models`.
        conf: The smallest score of a segment: how well its mask fits, as the model estimates it.
        iou: Of segments whose boxes intersect in a larger share of their union, only the best one is kept.
        points_per_side: The number of points along each side of the grid.
    """

    model_path: Annotated[Model, Kinds("transformers")] = Model(path="facebook/sam-vit-base")
    conf: Share = 0.05
    iou: Share = 0.5
    points_per_side: Annotated[int, Range(1, 256)] = 32

    batch_size = 8
    pure = False  # rounding differs between devices

    @property
    def reads(self) -> tuple[str, ...]:
        return ("images", META)

    @property
    def writes(self) -> tuple[str, ...]:
        return (META,)

    def resolve(self) -> None:
        refuse_other_models(self, model_path=SEGMENTER)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        ctx.begins(0)  # no time limit per row while the model runs
        samples = [list(media) for media in batch.media("images")]
        found = iter(
            segments_in(
                self.model_path,
                [medium for media in samples for medium in media],
                images_of(),
                ctx,
                points=self.points_per_side,
                min_score=self.conf,
                max_overlap=self.iou,
            )
        )
        facts = [{"__dj__bbox__": [_centred(next(found)[0]) for _ in media]} for media in samples]
        return with_metadata(batch.samples(), facts)


def _centred(segments: Segments) -> list[list[float]]:
    starts, stops = segments.boxes[:, :2], segments.boxes[:, 2:]
    return [
        [*middle, *size]
        for middle, size in zip(((starts + stops) / 2).tolist(), (stops - starts).tolist(), strict=True)
    ]
