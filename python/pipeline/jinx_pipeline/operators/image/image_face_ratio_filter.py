"""Filters by the size of faces: the operator `image_face_ratio_filter`."""

from jinx_pipeline.operators.api.media_filter import MediaFilter
from jinx_pipeline.operators.api.parameters import Share, ShareLimit
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.image.faces import FindsFaces
from jinx_pipeline.sample.media import Media


@register("image_face_ratio_filter", modality="image")
class ImageFaceRatioFilter(FindsFaces, MediaFilter):
    """Keeps samples by the share of the area of the largest face in their images; without a face, it is 0.

    Faces are found in upright images with a Haar cascade of OpenCV (the extra `opencv`).

        create("image_face_ratio_filter", max_ratio=0.2)

    Attributes:
        min_ratio: The smallest share.
        max_ratio: The largest share.
        any_or_all: Whether one image of a sample must pass, or each.
    """

    min_ratio: Share = 0.0
    max_ratio: ShareLimit = 0.4

    stats = {"face_ratios": "list<float64>"}
    bounds = {"face_ratios": ("min_ratio", "max_ratio")}

    def measure_medium(self, medium: Media) -> dict[str, float]:
        width, height = medium.dimensions
        largest = max((face.width * face.height for face in self.faces(medium)), default=0)
        return {"face_ratios": largest / (width * height)}
