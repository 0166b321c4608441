"""Finds faces in images with a Haar cascade of OpenCV."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from jinx_pipeline.operators.api.needed_files import NeededFile, needed
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    from PIL.Image import Image

# Data-Juicer's settings.
_SCALE, _NEIGHBOURS = 1.1, 3
_DEFAULT = "haarcascade_frontalface_alt.xml"


class Face(NamedTuple):
    """A rectangle around a face, in pixels of the upright image."""

    left: int
    top: int
    width: int
    height: int


class FindsFaces(Operator):
    """Finds faces with a Haar cascade of OpenCV (the extra `opencv`), in upright images.

    Operators with the same classifier share what was found.

    Attributes:
        cv_classifier: The file of a cascade; by default OpenCV's `haarcascade_frontalface_alt.xml`.
    """

    cv_classifier: str = ""

    batch_size = 16
    pure = False  # results differ between versions of OpenCV

    def resolve(self) -> None:
        if self.cv_classifier:
            _classifier(self.name, self.cv_classifier)

    @property
    def needed_files(self) -> list[NeededFile]:
        return [needed("cv_classifier", Path(self.cv_classifier))] if self.cv_classifier else []

    def faces(self, medium: Media) -> list[Face]:
        """The faces in an image, from top to bottom."""
        known = _FOUND.setdefault(medium, {})
        if self.cv_classifier not in known:
            grey = np.asarray(upright(medium.image()).convert("L"))
            found = _classifier(self.name, self.cv_classifier).detectMultiScale(
                grey, scaleFactor=_SCALE, minNeighbors=_NEIGHBOURS
            )
            height, width = grey.shape
            known[self.cv_classifier] = sorted(
                (_inside(box, width, height) for box in np.asarray(found, dtype=np.int64).reshape(-1, 4).tolist()),
                key=lambda face: (face.top, face.left),
            )
        return known[self.cv_classifier]


# The faces in each image, by classifier, while the image is in use.
_FOUND: "WeakKeyDictionary[Media, dict[str, list[Face]]]" = WeakKeyDictionary()


def upright(image: "Image") -> "Image":
    """An image turned according to its EXIF data."""
    return require("PIL.ImageOps", extra="image", what="Finding faces").exif_transpose(image)


def _inside(box: list[int], width: int, height: int) -> Face:
    left, top = max(box[0], 0), max(box[1], 0)
    return Face(left, top, min(box[2], width - left), min(box[3], height - top))


@lru_cache(maxsize=4)
def _classifier(operator: str, path: str) -> Any:
    cv2 = require("cv2", extra="opencv", what=operator)
    cv2.setNumThreads(1)
    if not hasattr(cv2, "CascadeClassifier"):
        raise ImportError(f"{operator} needs OpenCV 4, which has Haar cascades: pip install 'jinx-pipeline[opencv]'")
    file = path or str(Path(cv2.data.haarcascades) / _DEFAULT)
    try:
        classifier = cv2.CascadeClassifier(file)
    except (cv2.error, SystemError):
        classifier = None
    if classifier is None or classifier.empty():
        raise ParameterError(operator, "cv_classifier", f"cv_classifier: {file} is not a cascade of OpenCV")
    return classifier
