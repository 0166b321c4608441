"""The vectors of samples, as one array."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

_HALF = 2
_SMALL, _LARGE = 1e-12, 1e12


def vectors_of(values: Sequence[Any], name: str) -> "tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]":
    """Vectors of shape (n, width), and a mask of the samples that have one; the others are zero.

    float16 stays float16, and everything else becomes float32. A vector with a number that is not finite is missing.

    Raises:
        ValueError: The vectors are of several lengths, or values are not vectors.
    """
    arrays = [None if value is None else np.asarray(value) for value in values]
    given = [array for array in arrays if array is not None]
    shapes = {array.shape for array in given}
    if len(shapes) > 1 or any(len(shape) != 1 or not shape[0] for shape in shapes):
        found = ", ".join(str(shape) for shape in sorted(shapes))
        raise ValueError(f"the column {name!r} does not hold vectors of one length: found shapes {found}")
    width = next(iter(shapes))[0] if shapes else 1
    is_half = bool(given) and all(array.dtype == np.float16 for array in given)
    vectors = np.zeros((len(arrays), width), np.float16 if is_half else np.float32)
    present = np.zeros(len(arrays), np.bool_)
    for row, array in enumerate(arrays):
        if array is not None and np.isfinite(array).all():
            vectors[row], present[row] = array, True
    return vectors, present


def unit(vectors: "npt.NDArray[Any]") -> "npt.NDArray[np.float32]":
    """Vectors of length 1 as float32; a vector of zeros stays."""
    # What float32 cannot hold would have an infinite length.
    scaled = vectors if vectors.dtype.itemsize <= _HALF else _scaled(vectors)
    directions = scaled.astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", directions, directions))[:, None]
    directions /= np.where(lengths > 0, lengths, 1)
    return directions


def _scaled(vectors: "npt.NDArray[Any]") -> "npt.NDArray[Any]":
    """Vectors whose squares float32 adds up exactly enough: their largest number is about 1, unless they are 0."""
    largest = np.maximum(vectors.max(axis=1, initial=0), -vectors.min(axis=1, initial=0))[:, None]
    is_usual = ((largest > _SMALL) & (largest < _LARGE)) | (largest == 0)
    return vectors if is_usual.all() else vectors / np.where(is_usual, 1, largest)
