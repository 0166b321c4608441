"""The poses of people in pictures from ViTPose, which finds keypoints in the boxes of a detector."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from jinx_pipeline.models.detection import Detected, objects_in
from jinx_pipeline.models.feed import Results, feed
from jinx_pipeline.models.files import Expected
from jinx_pipeline.models.pictures import Pictures
from jinx_pipeline.models.pretrained import Pretrained, load_pretrained
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    from PIL.Image import Image

POSE_ESTIMATOR: Final = Expected("a model that finds keypoints", ("VitPoseForPoseEstimation",), ("images",))
"""ViTPose."""

_PERSON: Final = "person"


class Person(NamedTuple):
    """A person in a picture.

    Attributes:
        box: Left, top, right and bottom in pixels.
        score: The probability of the box.
        keypoints: x, y and score of each keypoint, in pixels, in the order of the model.
    """

    box: tuple[float, float, float, float]
    score: float
    keypoints: list[list[float]]


class _Input(NamedTuple):
    people: list[Detected]
    boxes: list[list[float]]  # left, top, width and height, as the processor expects
    pixels: Any  # floats, shape: (people, channels, height, width); None without people


def load_pose_estimator(model: Model, device: str) -> Pretrained:
    """Load a model for `Context.model`."""
    return load_pretrained(model, device, "VitPoseForPoseEstimation", "AutoImageProcessor")


def people_in(
    detector: Model, model: Model, media: Sequence[Media], pictures: Pictures, ctx: Context, *, min_score: float
) -> list[list[list[Person]]]:
    """The people in each picture of each medium, most probable first.

    Args:
        detector: A model that detects objects, one class of which is `person`.
        model: The model that finds keypoints.
        media: The media.
        pictures: How to make their pictures.
        ctx: The context of the operator.
        min_score: The smallest probability of a person.
    """
    if not media:
        return []
    found = objects_in(detector, media, pictures, ctx, min_score=min_score, max_overlap=0.5)
    loaded = ctx.model(model, load_pose_estimator)

    def prepare(number: int) -> list[_Input]:
        made = zip(pictures.make(media[number]), found[number], strict=True)
        return [_prepared(loaded, picture, objects) for picture, objects in made]

    def run(batch: list[_Input]) -> Results[list[Person]]:
        with loaded.inference():
            people = [_people(loaded, picture) for picture in batch]
        return lambda: people

    rows: list[Any] = [None] * len(media)
    limits, threads = loaded.picture_limits, ctx.threads or 1
    for number, people in feed(range(len(media)), prepare, run, limits=limits, threads=threads):
        rows[number] = people
    return rows


def _prepared(loaded: Pretrained, picture: "Image", objects: Sequence[Detected]) -> _Input:
    """The people in a picture, cut out and scaled."""
    people = [detected for detected in objects if detected.label == _PERSON]
    if not people:
        return _Input([], [], None)
    boxes = [[box[0], box[1], box[2] - box[0], box[3] - box[1]] for _, _, _, box in people]
    made = loaded.image_processor(images=picture, boxes=[boxes], return_tensors="pt")
    return _Input(people, boxes, made["pixel_values"])


def _people(loaded: Pretrained, picture: _Input) -> list[Person]:
    """The keypoints of the people in a picture; they are processed as one batch."""
    if not picture.people:
        return []
    options: dict[str, Any] = {}
    if getattr(loaded.network.config.backbone_config, "num_experts", 1) > 1:
        import torch

        options["dataset_index"] = loaded.on_device(torch.zeros(len(picture.boxes), dtype=torch.int64))
    output = loaded.network(pixel_values=loaded.on_device(picture.pixels), **options)
    output.heatmaps = output.heatmaps.float()
    (found,) = loaded.image_processor.post_process_pose_estimation(output, boxes=[picture.boxes])
    return [
        Person(
            person.box,
            person.score,
            [
                [*place, score]
                for place, score in zip(pose["keypoints"].tolist(), pose["scores"].reshape(-1).tolist(), strict=True)
            ],
        )
        for person, pose in zip(picture.people, found, strict=True)
    ]
