"""Fingerprints of the keys of all samples: 8 or 16 bytes each, for values of any type."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from jinx._core import Reader, parse_path
from jinx._dataset.columns import parse_name, require_path
from jinx._suggest import path_text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Missing = Literal["keep", "drop", "fail"]
MISSING = ("keep", "drop", "fail")
# The number of samples whose fingerprints are in memory at a time.
CHUNK_SAMPLES = 1 << 18


def key_paths(dataset: Reader, names: str | Sequence[str]) -> list[list[str]]:
    """The paths of key columns, as `Dataset.column` takes them.

    Raises:
        KeyError: No sample has such a column. If there are no samples, any column may exist.
    """
    given = [names] if isinstance(names, str) else list(names)
    paths = [parse_name(dataset, name) if len(dataset) else parse_path(name) for name in given]
    if not paths:
        raise ValueError("name at least one column")
    for path in paths:
        if len(path) > 1 and len(dataset):
            require_path(dataset, path, exists=_is_there(dataset, path))
    return paths


def _is_there(dataset: Reader, path: list[str]) -> bool:
    """Whether one of the first samples has something at a nested path; if so, no scan is needed."""
    import numpy as np

    first = np.frombuffer(dataset[:1000]._fingerprints([path]), dtype="<u8")
    return bool(first.any())


def check_missing(missing: Missing, count: int, first: int, paths: list[list[str]]) -> None:
    """Refuse samples without a key, if `missing` says so.

    Raises:
        KeyError: A sample has no key, and `missing` is `"fail"`.
    """
    if missing == "fail" and count:
        names = ", ".join(map(path_text, paths))
        raise KeyError(
            f"{count:,} samples have no {names}, for instance sample {first}; keep them with missing='keep' (--missing "
            "keep), or leave them out with 'drop'"
        )


def checked_policy(missing: str) -> None:
    """Refuse an unknown policy for missing keys."""
    if missing not in MISSING:
        raise ValueError(f"missing={missing!r} is not known; use one of {', '.join(map(repr, MISSING))}")


def chunks(dataset: Reader) -> "list[Reader]":
    """A dataset in parts whose fingerprints fit in memory."""
    return [dataset[start : start + CHUNK_SAMPLES] for start in range(0, len(dataset), CHUNK_SAMPLES)]


def hashes(dataset: Reader, paths: list[list[str]]) -> "npt.NDArray[np.uint64]":
    """64 bits of the key of each sample, of shape (n,); 0 if it has none."""
    import numpy as np

    result = np.empty(len(dataset), dtype=np.uint64)
    start = 0
    for part in chunks(dataset):
        pairs = np.frombuffer(part._fingerprints(paths), dtype="<u8").reshape(-1, 2)
        is_missing = ~pairs.any(axis=1)
        result[start : start + len(pairs)] = np.where(is_missing, 0, np.maximum(pairs[:, 0], 1))
        start += len(pairs)
    return result


def sizes(dataset: Reader) -> "npt.NDArray[np.int64]":
    """The approximate number of bytes of each sample in a JINX file, of shape (n,)."""
    import numpy as np

    parts = [np.frombuffer(part._sizes(), dtype="<u8") for part in chunks(dataset)]
    return np.concatenate([*parts, np.empty(0, dtype="<u8")]).astype(np.int64)
