"""Finds faces with an OpenCV Haar cascade."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.optional import require

if TYPE_CHECKING:
    import numpy.typing as npt

_DEFAULT = "haarcascade_frontalface_alt.xml"
# The step between the face sizes that are searched, and the minimum number of neighbouring hits of a face.
_SCALE_FACTOR = 1.1
_MIN_NEIGHBOURS = 3


class Box(NamedTuple):
    """A rectangle in pixels."""

    left: int
    top: int
    right: int
    bottom: int


def check_cascade(operator: str, path: str) -> None:
    """Refuse a file that is not an OpenCV cascade.

    Args:
        operator: The name of the operator.
        path: The file; "" is the one for frontal faces that comes with OpenCV.

    Raises:
        ParameterError: OpenCV cannot read it.
    """
    if path and not Path(path).is_file():
        raise ParameterError(operator, "cv_classifier", f"{path}: no such file")
    require("cv2", extra="opencv", what=operator)
    try:
        is_empty = _cascade(operator, path).empty()
    except Exception:  # noqa: BLE001 - OpenCV raises SystemError and its own errors
        is_empty = True
    if is_empty:
        raise ParameterError(operator, "cv_classifier", f"{path}: not a cascade that OpenCV can read")


def faces_in(grey: "npt.NDArray[np.uint8]", operator: str, path: str) -> list[Box]:
    """The faces in a picture, from left to right.

    Args:
        grey: The brightness of the pixels, of shape (height, width).
        operator: The name of the operator.
        path: See `check_cascade`.
    """
    height, width = grey.shape
    found: Any = _cascade(operator, path).detectMultiScale(
        np.ascontiguousarray(grey), scaleFactor=_SCALE_FACTOR, minNeighbors=_MIN_NEIGHBOURS
    )
    boxes = [
        Box(max(0, left), max(0, top), min(width, left + across), min(height, top + down))
        for left, top, across, down in (found.tolist() if len(found) else [])
    ]
    return sorted(boxes)


@lru_cache(maxsize=8)
def _cascade(operator: str, path: str) -> Any:
    cv2 = require("cv2", extra="opencv", what=operator)
    cv2.setNumThreads(1)
    return cv2.CascadeClassifier(path or str(Path(cv2.data.haarcascades) / _DEFAULT))
