"""Near-duplicates: samples that share a band of their MinHash signatures, and all that these connect."""

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    import numpy.typing as npt

_STEPS = 1000


def band_table(keys: "npt.NDArray[np.uint64]", missing: "npt.NDArray[np.bool_] | None" = None) -> pa.Table:
    """A table of signatures.

    Args:
        keys: One key for each band, uint64 of shape (n, bands).
        missing: A mask of the samples that never count as duplicates, whatever their keys.
    """
    return pa.table(
        {f"band_{band}": pa.array(np.ascontiguousarray(keys[:, band]), mask=missing) for band in range(keys.shape[1])}
    )


@lru_cache(maxsize=64)
def best_bands(threshold: float, permutations: int) -> tuple[int, int]:
    """The (bands, rows) with the smallest error at a threshold of Jaccard similarity.

    Two texts of similarity s share a band with the probability 1 - (1 - s^rows)^bands. The error is the area under this
    curve below the threshold (false candidates) plus the area over it above the threshold (missed duplicates).
    """
    similarity = (np.arange(_STEPS) + 0.5) / _STEPS
    below = similarity < threshold
    best, chosen = np.inf, (1, permutations)
    for bands in range(1, permutations + 1):
        for rows in range(1, permutations // bands + 1):
            missed = (1 - similarity**rows) ** bands
            error = (1 - missed)[below].sum() + missed[~below].sum()
            if error < best:
                best, chosen = error, (bands, rows)
    return chosen
