"""Filters by the share of frames with a face: the operator `video_face_ratio_filter`."""

import math
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import pyarrow as pa

from jinx_pipeline.operators.api.filter import AnyOrAll
from jinx_pipeline.operators.api.media_filter import MediaFilter, any_or_all_of
from jinx_pipeline.operators.api.needed_files import NeededFile, needed
from jinx_pipeline.operators.api.parameters import Range, Share
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.faces import check_cascade, faces_in
from jinx_pipeline.operators.video.frames import sampled_frames
from jinx_pipeline.operators.video.planes import with_planes
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@register("video_face_ratio_filter", modality="video")
class VideoFaceRatioFilter(MediaFilter):
    """Keeps samples whose videos show a face in a large share of their frames, found with an OpenCV Haar cascade.

        create("video_face_ratio_filter", threshold=0.5, detect_interval=10)

    (Data-Juicer finds faces with dlib.) Needs PyAV (the extra `video`) and OpenCV (the extra `opencv`).

    Attributes:
        threshold: The smallest share.
        detect_interval: Faces are sought in every frame whose number is a multiple of this.
        cv_classifier: The file of a cascade; by default the one for frontal faces that comes with OpenCV.
        any_or_all: Whether one video of a sample must pass, or each.
    """

    threshold: Share = 0.8
    detect_interval: Annotated[int, Range(1)] = 1
    cv_classifier: str = ""
    any_or_all: AnyOrAll = "all"

    role = "videos"
    batch_size = 4
    stats = {"video_face_exist": "list<float64>"}
    thresholds = ("any_or_all", "threshold")

    @property
    def needed_files(self) -> list[NeededFile]:
        return [needed("cv_classifier", self.cv_classifier)] if self.cv_classifier else []

    def resolve(self) -> None:
        check_cascade(self.name, self.cv_classifier)

    def measure_medium(self, medium: Media) -> dict[str, float]:
        frames = islice(sampled_frames(medium, self.name, "all_frames", 0), 0, None, self.detect_interval)
        found = [
            bool(faces_in(with_planes(frame, upright=True)[1][0].pixels, self.name, self.cv_classifier))
            for frame in frames
        ]
        return {"video_face_exist": sum(found) / len(found) if found else 0.0}

    def keep(self, stats: Mapping[str, pa.Array]) -> "npt.NDArray[np.bool_]":
        return any_or_all_of(stats, {"video_face_exist": (self.threshold, math.inf)}, self.any_or_all)
