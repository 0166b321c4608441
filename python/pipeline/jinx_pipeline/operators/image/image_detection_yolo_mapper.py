"""Detects objects in images: the operator `image_detection_yolo_mapper`."""

from collections.abc import Mapping
from typing import Annotated, Any

from jinx_pipeline.models.detection import DETECTOR, objects_in
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.pictures import images_of
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import META, with_metadata
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import Share
from jinx_pipeline.operators.api.registry import register


@register("image_detection_yolo_mapper", modality="image")
class ImageDetectionYoloMapper(Mapper):
    """Adds to `__dj__meta__` the objects in each image: their boxes, classes and probabilities, the best first.

    `__dj__bbox__` has a list for each image of boxes: the centre, width and height in pixels; `__dj__class_label__` the
    numbers of the classes, `class_names` their names, and `class_scores` the probabilities.

        create("image_detection_yolo_mapper", model_path="/models/yolos", conf=0.5)

    Any detector of transformers is taken, such as YOLOS or RT-DETR. (Data-Juicer takes models of Ultralytics.) Needs
    transformers, torch and Pillow (the extra `model`).

    Attributes:
        model_path: The directory of a model that detects objects with its processor, its name in the local cache, or in
            the recipe's `models`.
        conf: The smallest probability of an object.
        iou: Of objects of one class whose intersection is a larger share of their union, only the most probable one is
            kept.
    """

    model_path: Annotated[Model, Kinds("transformers")]
    conf: Share = 0.05
    iou: Share = 0.5

    batch_size = 32
    pure = False  # rounding differs between devices

    @property
    def reads(self) -> tuple[str, ...]:
        return ("images", META)

    @property
    def writes(self) -> tuple[str, ...]:
        return (META,)

    def resolve(self) -> None:
        refuse_other_models(self, model_path=DETECTOR)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        ctx.begins(0)  # no time limit per row while the model runs
        samples = [list(media) for media in batch.media("images")]
        all_media = [medium for media in samples for medium in media]
        found = iter(
            objects_in(self.model_path, all_media, images_of(), ctx, min_score=self.conf, max_overlap=self.iou)
        )
        facts: list[dict[str, Any]] = []
        for media in samples:
            images = [next(found)[0] for _ in media]
            facts.append(
                {
                    "__dj__bbox__": [[_centred(detected.box) for detected in objects] for objects in images],
                    "__dj__class_label__": [[detected.number for detected in objects] for objects in images],
                    "class_names": [[detected.label for detected in objects] for objects in images],
                    "class_scores": [[detected.score for detected in objects] for objects in images],
                }
            )
        return with_metadata(batch.samples(), facts)


def _centred(box: tuple[float, float, float, float]) -> list[float]:
    left, top, right, bottom = box
    return [(left + right) / 2, (top + bottom) / 2, right - left, bottom - top]
