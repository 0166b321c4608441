"""Computes shares of a whole."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


def shares(parts: "npt.NDArray[Any]", wholes: "npt.NDArray[Any]") -> "npt.NDArray[np.float64]":
    """Each part divided by its whole, or 0 if the whole is 0; float64 of shape (n,)."""
    return np.divide(parts, wholes, out=np.zeros(len(parts)), where=wholes != 0)
