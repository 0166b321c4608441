"""The identity of the columns that views add to their files; it is stored in the states of loaders and compared."""

import json
from collections.abc import Iterable
from typing import Any

from jinx import _core
from jinx._core import Reader
from jinx._dataset.added_columns import FunctionColumn, JoinedColumn
from jinx._dataset.identity import identity_of
from jinx.errors import InvalidError

# The number of fingerprints in memory at a time.
_BLOCK = 1 << 18


def identity_with_columns(dataset: Reader) -> dict[str, Any]:
    """The result of `identity_of`, with a hash of the columns that views add to the files; None if there are none.

    A saved view counts by its id, and columns in memory by their values. A function counts by the name of its column:
    it is not called, and may be corrected between two runs like a function of `map`.
    """
    parts = _added_in(dataset, frozenset(dataset._own_columns()))
    return {**identity_of(dataset), "columns": _hash(parts) if parts else None}


def _added_in(dataset: Reader, names: frozenset[str]) -> list[tuple[int, int, Any]]:
    """The origins of these columns, for JSON, each after the first sample that has it and the number of these samples.

    It is empty if the columns come from files without a view.
    """
    definition = dataset._definition
    if definition is None or not names:
        return []
    if hasattr(definition, "files"):  # a saved view
        is_own = not names.isdisjoint(definition.files.file._stored_names())
        return [(0, len(dataset), [definition.id, _order(dataset)])] if is_own else []
    own = {name: column for name, column in definition.own if name in names}
    columns = [[name, _values_of(dataset, name, own[name])] for name in sorted(own)]
    below: list[tuple[int, int, Any]] = []
    first = 0
    for part in definition.parts:
        below += [(first + start, count, entry) for start, count, entry in _added_in(part, names - own.keys())]
        first += len(part)
    order = _order(dataset) if below else None
    # The result must not depend on whether parts were concatenated in one call or in several.
    return below if not columns and order is None else [(0, len(dataset), [columns, order, below])]


def _values_of(dataset: Reader, name: str, column: Any) -> Any:
    if isinstance(column, FunctionColumn):
        return None
    if isinstance(column, JoinedColumn):
        return [
            column.name,
            identity_with_columns(column.dataset),
            _core.hash_bytes(column.positions.tobytes()),
            _order(dataset),
        ]
    if numbers := column.numbers():
        rest = [_core.hash_bytes(part) for part in (numbers.offsets, numbers.codes) if part is not None]
        return [
            numbers.dtype if numbers.width is None else [numbers.dtype, numbers.width],
            _core.hash_bytes(numbers.data),
            _core.hash_bytes(numbers.validity or b""),
            *rest,
            *([] if numbers.zone is None else [numbers.zone]),
            _order(dataset),
        ]
    shown = dataset._derive(columns=[name], transforms=[], decoders=None)
    try:
        return [_core.hash_bytes(block._fingerprints()) for block in _blocks(shown)]
    except InvalidError:  # values that no file can store
        return None


def _blocks(dataset: Any) -> Iterable[Any]:
    return (dataset[start : start + _BLOCK] for start in range(0, len(dataset), _BLOCK))


def _order(dataset: Reader) -> str | None:
    """A hash of the positions of the samples in the definition's rows; None if all rows are shown in order."""
    import numpy as np

    if dataset._indices is None:
        return None
    positions = np.frombuffer(dataset._indices, dtype="<u8")
    is_whole = len(positions) == dataset._base_len() and bool((positions == np.arange(len(positions))).all())
    return None if is_whole else _core.hash_bytes(dataset._indices)


def _hash(parts: Any) -> str:
    return _core.hash_bytes(json.dumps(parts).encode())
