"""Blurs faces in images: the operator `image_face_blur_mapper`."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from jinx_pipeline.operators.api.media_mapper import MadeMedium
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.image.blur import Blur, blurred
from jinx_pipeline.operators.image.edited_images import ImageMapper
from jinx_pipeline.operators.image.encode import edited
from jinx_pipeline.operators.image.faces import Face, FindsFaces
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

_ORIENTATION = 0x0112
# The Pillow transpositions that undo each EXIF orientation.
_UNDO = {
    2: "FLIP_LEFT_RIGHT",
    3: "ROTATE_180",
    4: "FLIP_TOP_BOTTOM",
    5: "TRANSPOSE",
    6: "ROTATE_90",
    7: "TRANSVERSE",
    8: "ROTATE_270",
}


@register("image_face_blur_mapper", modality="image")
class ImageFaceBlurMapper(FindsFaces, ImageMapper):
    """Blurs the faces in images; images without a face stay unchanged.

    Faces are found in upright images with a Haar cascade of OpenCV (the extra `opencv`), of animations in the first
    frame. Edited images keep their format, alpha, 16 bits, orientation and colour profile; palettes become colours.

        create("image_face_blur_mapper", blur_type="box", radius=10)

    Attributes:
        blur_type: `"mean"`, `"box"` or `"gaussian"`, as in `image_blur_mapper`.
        radius: The radius of the square, or the standard deviation of the Gaussian, in pixels; `"mean"` has none.
    """

    blur_type: Blur = "gaussian"
    radius: Annotated[float, Range(0, 1000)] = 2

    def edit(self, medium: Media, sample: Mapping[str, Any], rng: "np.random.Generator") -> MadeMedium | None:
        del sample, rng
        faces = self.faces(medium)
        if not faces:
            return None
        orientation = medium.image().getexif().get(_ORIENTATION, 1)
        return edited(medium, partial(self._with_blurred_faces, faces=faces, orientation=orientation))

    def _with_blurred_faces(self, image: "Image", faces: list[Face], orientation: int) -> "Image":
        result = blurred(image, self.blur_type, self.radius)
        mask = _mask(image.size, faces, orientation)
        sharp: Any = image if image.mode == result.mode else image.convert(result.mode)
        whole = sharp.copy()
        whole.paste(result, mask=mask)
        return whole


def _mask(size: tuple[int, int], faces: list[Face], orientation: int) -> "Image":
    """A mask, white where a face is, in the stored orientation of an image."""
    pil = require("PIL.Image", extra="image", what="Blurring faces")
    is_on_its_side = orientation >= 5  # noqa: PLR2004 - these orientations exchange width and height
    mask: Any = pil.new("L", size[::-1] if is_on_its_side else size)
    for face in faces:
        mask.paste(255, (face.left, face.top, face.left + face.width, face.top + face.height))
    undo = _UNDO.get(orientation)
    return mask if undo is None else mask.transpose(pil.Transpose[undo])
