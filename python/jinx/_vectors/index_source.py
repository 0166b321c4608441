"""Which column an index was made from, and where the index is stored."""

import os
from functools import lru_cache
from typing import Any

from jinx import _core
from jinx._core import Reader
from jinx._urls import is_url
from jinx._vectors.index_file import SUFFIX, IndexFile
from jinx._vectors.vectors import Vectors
from jinx.errors import MismatchError

_BLOCK_BYTES = 64 << 20
_AGAIN = "make it again: make_vector_index (jinx vector-index)"
# Columns whose bytes were compared with an index: the index's hash, and the mapped bytes. These stay mapped, so that no
# other data gets their address.
_COMPARED: dict[tuple[str, int, int], Any] = {}
_MOST_COMPARED = 4


def default_path(dataset: Reader, name: str) -> str:
    """The index next to the files of a dataset: `view.emb.ivf` for the column `emb` of `view.jinx`.

    Raises:
        ValueError: There is no such place.
    """
    paths = list(dataset._shard_paths)
    folders = {os.path.dirname(path) for path in paths}  # noqa: PTH120 - str in, str out
    if len(folders) != 1 or is_url(paths[0]) or "/" in name or not name:
        raise ValueError("the index has no place beside the dataset; give its path on this machine")
    in_directory = len(paths) > 1 or os.path.exists(os.path.join(next(iter(folders)), "jinx.json"))  # noqa: PTH110, PTH118
    stem = next(iter(folders)) if in_directory else paths[0].removesuffix(".jinx")
    return f"{stem}.{name}{SUFFIX}"


def opened(path: str) -> IndexFile:
    """An open index; the most recent ones stay open until another file replaces them.

    Raises:
        FileNotFoundError: There is none.
    """
    try:
        status = os.stat(path)  # noqa: PTH116 - str in
    except FileNotFoundError:
        message = f"{path}: no such index; make it with make_vector_index (jinx vector-index)"
        raise FileNotFoundError(message) from None
    return _opened(os.path.abspath(path), status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)  # noqa: PTH100


@lru_cache(maxsize=8)
def _opened(path: str, *state: int) -> IndexFile:
    del state
    return IndexFile.open(path)


def view_id(dataset: Reader) -> str:
    """The id of the saved view that a dataset shows, which covers its typed columns; empty for anything else."""
    definition = dataset._definition
    if hasattr(definition, "files"):
        return definition.id
    shards = getattr(definition, "shards", None)
    return _core.hash_bytes("".join(id_ for _, id_ in shards).encode()) if shards else ""


def digest_of(vectors: Vectors) -> str:
    """A hash of all vectors of a column, of their type, and of which ones are missing."""
    import numpy as np

    array = vectors.array
    missing = b"" if vectors.present is None else np.packbits(vectors.present).tobytes()
    parts = [f"{array.dtype.str} {array.shape}".encode(), missing]
    rows = max(1, _BLOCK_BYTES // (array.itemsize * array.shape[1]))
    hashes = [_core.hash_bytes(part) for part in parts]
    hashes += [_core.hash_bytes(array[start : start + rows].tobytes()) for start in range(0, len(array), rows)]
    return _core.hash_bytes("".join(hashes).encode())


def require_same(index: IndexFile, dataset: Reader, name: str, metric: str) -> None:
    """Refuse an index of another column, with another metric, or of values that have changed.

    Raises:
        MismatchError: It is one.
    """
    facts, path = index.facts, index.path
    if facts.column != name:
        raise MismatchError(f"{path}: this index is of the column {facts.column!r}, not of {name!r}")
    if facts.metric != metric:
        raise MismatchError(f"{path}: this index is for metric={facts.metric!r}, not for {metric!r}")
    vectors = Vectors.of(dataset._derive(indices=None), name, only_typed=True)
    if (facts.vectors, facts.width) != vectors.array.shape:
        raise MismatchError(
            f"{path}: this index is of {facts.vectors:,} vectors of {facts.width} numbers, and {name!r} has "
            f"{len(vectors.array):,} of {vectors.width}; {_AGAIN}"
        )
    if facts.view and facts.view == view_id(dataset):
        return
    key = (facts.digest, vectors.array.__array_interface__["data"][0], vectors.array.nbytes)
    if key in _COMPARED:
        return
    if digest_of(vectors) != facts.digest:
        raise MismatchError(f"{path}: the vectors in {name!r} are not those that this index was made from; {_AGAIN}")
    while len(_COMPARED) >= _MOST_COMPARED:
        _COMPARED.pop(next(iter(_COMPARED)), None)
    _COMPARED[key] = vectors.array
