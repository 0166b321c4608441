"""Blurs faces in videos: the operator `video_face_blur_mapper`."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from jinx_pipeline.operators.api.media_mapper import MadeMedium, MediaMapper
from jinx_pipeline.operators.api.needed_files import NeededFile, needed
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.image.blur import Blur, blurred
from jinx_pipeline.operators.video.encode import transcoded
from jinx_pipeline.operators.video.faces import Box, check_cascade, faces_in
from jinx_pipeline.operators.video.planes import Plane, with_planes
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    from PIL.Image import Image


@register("video_face_blur_mapper", modality="video")
class VideoFaceBlurMapper(MediaMapper):
    """Blurs the faces in each frame of videos; a video without a face stays unchanged.

        create("video_face_blur_mapper", blur_type="box", radius=8)

    Faces are found with a Haar cascade of OpenCV. Frames are encoded again (H.264, CRF 18) and audio is copied; pixels
    around the faces are not converted. Videos are bytes in the samples, or files in `save_dir` or the run's
    `media_dir`. Needs PyAV and Pillow (the extra `video`) and OpenCV (the extra `opencv`).

    Attributes:
        cv_classifier: The file of a cascade; by default the one for frontal faces that comes with OpenCV.
        blur_type: `"mean"`, `"box"` or `"gaussian"`.
        radius: The radius of the square, or the standard deviation of the Gaussian, in pixels; `"mean"` has none.
        save_dir: A directory for the videos.
    """

    cv_classifier: str = ""
    blur_type: Blur = "gaussian"
    radius: Annotated[float, Range(0, 1000)] = 2

    @property
    def needed_files(self) -> list[NeededFile]:
        return [needed("cv_classifier", self.cv_classifier)] if self.cv_classifier else []

    def resolve(self) -> None:
        check_cascade(self.name, self.cv_classifier)

    def edit(self, medium: Media, sample: Mapping[str, Any], rng: "np.random.Generator") -> MadeMedium | None:
        images = require("PIL.Image", extra="video", what=self.name)
        count = 0

        def blur(frame: Any) -> Iterator[Any]:
            nonlocal count
            if frame is None:
                return
            editable, planes = with_planes(frame, upright=True)
            boxes = faces_in(planes[0].pixels, self.name, self.cv_classifier)
            count += len(boxes)
            for box in boxes:
                for plane in planes:
                    self._blur(images, plane, box)
            yield editable

        made = transcoded(medium, self.name, blur)
        if count or made is None or isinstance(made.data, bytes):
            return made
        made.data.close()
        return None

    def _blur(self, images: Any, plane: Plane, box: Box) -> None:
        rows = slice(box.top // plane.down, -(-box.bottom // plane.down))
        columns = slice(box.left // plane.across, -(-box.right // plane.across))
        face: Image = images.fromarray(plane.pixels[rows, columns])
        plane.pixels[rows, columns] = np.asarray(blurred(face, self.blur_type, self.radius / plane.across))
