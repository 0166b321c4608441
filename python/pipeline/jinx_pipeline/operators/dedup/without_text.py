"""Samples without text, which are never duplicates of one another."""

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def without_text(texts: pa.Array) -> "npt.NDArray[np.bool_]":
    """A mask of the texts that are empty or white space.

    Args:
        texts: Arrow strings without nulls, of shape (n,).
    """
    import pyarrow.compute as pc  # slower to import than the rest of Arrow

    return pc.equal(pc.utf8_trim_whitespace(texts), "").to_numpy(zero_copy_only=False)
