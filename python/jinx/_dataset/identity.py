"""The identity of a dataset: a hash of its samples and their order, stored in plans and states of loaders."""

import json
from collections.abc import Mapping
from typing import Any

from jinx import _core
from jinx._core import Reader
from jinx.errors import InvalidError, MismatchError

_BLOCK = 1 << 20
_HASH_DIGITS = 32


def identity_of(dataset: Reader) -> dict[str, Any]:
    """The number of samples, a hash of their files, and a hash of their order in the files.

    The same samples in the same order have the same identity, however the dataset was put together: files without a
    shown sample do not count. `order` is None if all samples of the files are shown in stored order.
    """
    import numpy as np

    roots, stored, _ = dataset._roots()
    files = [file for root in roots for file in root.identities()]
    if stored is None:
        files = [file for file in files if file[0]]
        return {"samples": len(dataset), "files": _hash(files), "order": None}
    positions = np.frombuffer(stored, dtype="<u8").astype(np.int64, copy=False)
    counts = np.array([samples for samples, _ in files], dtype=np.int64)
    ends = np.cumsum(counts)
    is_used = np.zeros(len(files), dtype=np.bool_)
    for start in range(0, len(positions), _BLOCK):
        is_used[np.searchsorted(ends, positions[start : start + _BLOCK], side="right")] = True
    # The positions that samples would have if there were only the used files.
    skipped = np.cumsum(np.where(is_used, 0, counts))
    is_whole = len(positions) == int(counts[is_used].sum())
    hashes: list[str] = []
    for start in range(0, len(positions), _BLOCK):
        block = positions[start : start + _BLOCK]
        block = block - skipped[np.searchsorted(ends, block, side="right")]
        is_whole = is_whole and bool((block == np.arange(start, start + len(block))).all())
        hashes.append(_core.hash_bytes(block.astype("<u8").tobytes()))
    used = [file for file, kept in zip(files, is_used.tolist(), strict=True) if kept]
    return {"samples": len(dataset), "files": _hash(used), "order": None if is_whole else _hash(hashes)}


def require_identity(saved: Any, current: Mapping[str, Any], subject: str) -> None:
    """Refuse any dataset other than the one with which a plan or a state was made.

    Args:
        saved: The identity in the plan or state.
        current: The identity of the dataset, with the same members.
        subject: The name of the plan or state in the message.

    Raises:
        InvalidError: `saved` is not an identity.
        MismatchError: The identities differ.
    """
    if not is_identity(saved) or saved.keys() != current.keys():
        raise InvalidError(f"{subject} is damaged: it does not say which dataset it belongs to")
    if saved["samples"] != current["samples"]:
        raise MismatchError(
            f"{subject} is for {saved['samples']:,} samples, the dataset has {current['samples']:,}; "
            "open the dataset that it was made with"
        )
    if saved["files"] != current["files"]:
        raise MismatchError(
            f"{subject} is for other files than those of this dataset; open those that it was made with"
        )
    if saved["order"] != current["order"]:
        raise MismatchError(
            f"{subject} is for other samples of these files, or for the same in another order; "
            "select and sort them as they were"
        )
    if saved.get("columns") != current.get("columns"):
        raise MismatchError(
            f"{subject} is for other columns that a view adds to these files, or for other values in them; add and "
            "select them as they were"
        )


def is_identity(value: Any) -> bool:
    """Whether a value, which may come from a file, has the form of an identity."""
    if not isinstance(value, Mapping):
        return False
    identity: dict[Any, Any] = {**value}
    columns = identity.pop("columns", None)
    if (
        set(identity) != {"samples", "files", "order"}
        or type(identity["samples"]) is not int
        or identity["samples"] < 0
    ):
        return False
    return _is_hash(identity["files"]) and all(part is None or _is_hash(part) for part in (identity["order"], columns))


def _is_hash(value: Any) -> bool:
    return isinstance(value, str) and len(value) == _HASH_DIGITS


def _hash(parts: Any) -> str:
    return _core.hash_bytes(json.dumps(parts).encode())
