"""Finds the poses of people in videos: the operator `video_whole_body_pose_estimation_mapper`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from jinx_pipeline.models.detection import DETECTOR
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.pose import POSE_ESTIMATOR, Person, people_in
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import with_metadata
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.parameters import Range, Share
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.frame_pictures import frames_of
from jinx_pipeline.operators.video.video_metadata import VideoMetadataMapper
from jinx_pipeline.optional import require

# The keypoints of COCO-WholeBody: 17 of the body, 6 of the feet, 68 of the face, and 21 of each hand.
_PARTS: Final = {
    "body_keypoints": slice(0, 17),
    "foot_keypoints": slice(17, 23),
    "faces_keypoints": slice(23, 91),
    "hands_keypoints": slice(91, 133),
}


@register("video_whole_body_pose_estimation_mapper", modality="video")
class VideoWholeBodyPoseEstimationMapper(VideoMetadataMapper):
    """Adds to `__dj__meta__` the keypoints of the people in sampled frames of each video.

    `body_keypoints`, `foot_keypoints`, `faces_keypoints` and `hands_keypoints` are lists of videos, frames, people and
    keypoints: x and y in pixels and a score, in the order of COCO-WholeBody. A model of 17 keypoints fills only the
    first. `bbox_results_list` has the boxes of the people: left, top, right, bottom and probability.

        create("video_whole_body_pose_estimation_mapper", onnx_det_model="/models/yolos",
               onnx_pose_model="/models/vitpose")

    Data-Juicer's operator takes DWPose and the first video. Needs transformers, torch, SciPy and PyAV (the extras
    `model`, `pose` and `video`).

    Attributes:
        onnx_det_model: The directory of a model that detects objects with its processor, one class of which is
            `person`, its name in the local cache, or in the recipe's `models`.
        onnx_pose_model: The directory of a ViTPose model with its processor, or the like.
        frame_num: The number of frames at equal distances; a single frame is taken from the middle.
        conf: The smallest probability of a person.
        tag_field_name: The name in `__dj__meta__`.
    """

    onnx_det_model: Annotated[Model, Kinds("transformers")] = Model(path="hustvl/yolos-tiny")
    onnx_pose_model: Annotated[Model, Kinds("transformers")] = Model(path="usyd-community/vitpose-base-simple")
    frame_num: Annotated[int, Range(1)] = 3
    conf: Share = 0.3
    tag_field_name: str = "pose_estimation_tags"

    batch_size = 8

    def resolve(self) -> None:
        require("scipy", extra="pose", what=self.name)
        refuse_other_models(self, onnx_det_model=DETECTOR, onnx_pose_model=POSE_ESTIMATOR)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        ctx.begins(0)  # no time limit per row while the model runs
        samples = [list(media) for media in batch.media("videos")]
        all_media = [medium for media in samples for medium in media]
        frames = frames_of(self.name, "uniform", self.frame_num)
        found = iter(people_in(self.onnx_det_model, self.onnx_pose_model, all_media, frames, ctx, min_score=self.conf))
        facts = [{self.tag_field_name: _tags([next(found) for _ in media])} for media in samples]
        return with_metadata(batch.samples(), facts)


def _tags(videos: Sequence[Sequence[Sequence[Person]]]) -> dict[str, Any]:
    tags: dict[str, Any] = {
        name: [[[person.keypoints[part] for person in frame] for frame in frames] for frames in videos]
        for name, part in _PARTS.items()
    }
    boxes = [[[[*person.box, person.score] for person in frame] for frame in frames] for frames in videos]
    return {**tags, "bbox_results_list": boxes}
