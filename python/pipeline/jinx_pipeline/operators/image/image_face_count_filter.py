"""Filters by the number of faces: the operator `image_face_count_filter`."""

from typing import Annotated

from jinx_pipeline.operators.api.media_filter import MediaFilter
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.image.faces import FindsFaces
from jinx_pipeline.sample.media import Media


@register("image_face_count_filter", modality="image")
class ImageFaceCountFilter(FindsFaces, MediaFilter):
    """Keeps samples whose images have a number of faces within a range.

    Faces are found in upright images with a Haar cascade of OpenCV (the extra `opencv`).

        create("image_face_count_filter", min_face_count=1, max_face_count=3)

    Attributes:
        min_face_count: The smallest number.
        max_face_count: The largest number.
        any_or_all: Whether one image of a sample must pass, or each.
    """

    min_face_count: Annotated[int, Range(0)] = 1
    max_face_count: Annotated[int, Range(0)] = 1

    stats = {"face_counts": "list<int64>"}
    bounds = {"face_counts": ("min_face_count", "max_face_count")}

    def measure_medium(self, medium: Media) -> dict[str, float]:
        return {"face_counts": len(self.faces(medium))}
