"""Near-duplicates: samples that share a band of their MinHash signatures, directly or through other samples."""

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    import numpy.typing as npt

_STEPS = 1000
# The number of ranges of similarity, on each side of the threshold, for which all numbers of bands and rows are
# compared; and the maximum rounding error.
_LOOKS = 20
_ROUNDING = 1e-6


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
    for bands, rows in _candidates(threshold, permutations):
        missed = (1 - similarity**rows) ** bands
        error = (1 - missed)[below].sum() + missed[~below].sum()
        if error < best:
            best, chosen = error, (bands, rows)
    return chosen


def _candidates(threshold: float, permutations: int) -> list[tuple[int, int]]:
    """Candidates for the (bands, rows) with the smallest error, chosen by evaluating few similarities."""
    rows = np.concatenate([np.arange(1, permutations // bands + 1) for bands in range(1, permutations + 1)])
    bands = np.repeat(np.arange(1, permutations + 1), permutations // np.arange(1, permutations + 1))
    similarity = (np.arange(_STEPS) + 0.5) / _STEPS
    low, high = np.zeros(len(rows)), np.zeros(len(rows))
    # Above the threshold the error falls with the similarity, and below it the error rises. So between two
    # similarities, the error lies between the errors at both.
    for is_above in (False, True):
        for run in np.array_split(similarity[(similarity >= threshold) == is_above], _LOOKS):
            if not len(run):
                continue
            missed = np.exp(bands * np.log1p(-(run[[0, -1], None] ** rows)))
            ends = np.sort(missed if is_above else 1 - missed, axis=0) * len(run)
            low, high = low + ends[0], high + ends[1]
    chosen = np.flatnonzero(low <= high.min() + _ROUNDING)
    return list(zip(bands[chosen].tolist(), rows[chosen].tolist(), strict=True))
