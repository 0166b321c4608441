"""Directions of vectors."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_HALF = 2
_SMALL, _LARGE = 1e-12, 1e12


def unit(vectors: "npt.NDArray[Any]") -> "npt.NDArray[np.float32]":
    """Vectors scaled to length 1, as float32; a vector of zeros stays as it is."""
    import numpy as np

    # Scale numbers that float32 cannot hold: they would make the length infinite.
    scaled = vectors if vectors.dtype.itemsize <= _HALF else _scaled(vectors)
    directions = scaled.astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", directions, directions))[:, None]
    directions /= np.where(lengths > 0, lengths, 1)
    return directions


def _scaled(vectors: "npt.NDArray[Any]") -> "npt.NDArray[Any]":
    """Vectors scaled so that float32 can add up their squares: the largest number is about 1, unless all are 0."""
    import numpy as np

    largest = np.maximum(vectors.max(axis=1, initial=0), -vectors.min(axis=1, initial=0))[:, None]
    is_usual = ((largest > _SMALL) & (largest < _LARGE)) | (largest == 0)
    return vectors if is_usual.all() else vectors / np.where(is_usual, 1, largest)
