"""The vectors of samples, as one array."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


def vectors_of(values: Sequence[Any], name: str) -> "tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]":
    """Vectors of shape (n, width), and a mask of the samples that have one; the vectors of the others are zero.

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
