"""Deciding the order of the next segment: which rows stay, in which order, in which groups."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.operators.base import Operator
from jinx_pipeline.operators.batch import Batch
from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.keyed import Decision, Divided, Keys
from jinx_pipeline.operators.kinds import Selector
from jinx_pipeline.operators.part_deduplicator import PartDeduplicator
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.sample.roles import Roles

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    Positions = npt.NDArray[np.int64]

_KEY_ROWS = 65_536
# Files of signatures that stay mapped: they are read once for each band.
_OPEN_FILES = 500


class SignatureFiles(Sequence["pa.Table"]):
    """The signatures of all parts, in order; a table is read when it is asked for."""

    def __init__(self, paths: list[Path]) -> None:
        self._paths = paths
        self._open: dict[int, pa.Table] = {}

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return SignatureFiles(self._paths[at])
        import pyarrow as pa

        if at in self._open:
            return self._open[at]
        with pa.memory_map(str(self._paths[at])) as file:
            table = pa.ipc.open_file(file).read_all()
        if len(self._open) < _OPEN_FILES:
            self._open[at] = table
        return table

    def __iter__(self) -> "Iterator[pa.Table]":
        return (self[at] for at in range(len(self)))


def decide(
    operator: Any, source: Source, signatures: list[Path], roles: Roles, ctx: Context, *, pairs: int = 0
) -> Decision:
    """Run a global operator.

    Args:
        operator: A deduplicator, selector, grouper, or an aggregator of everything.
        source: The rows that it looks at.
        signatures: Of a deduplicator: the files that the tasks wrote, in order.
        roles: Where texts and media are.
        ctx: Seed and threads.
        pairs: How many pairs of duplicates to keep.
    """
    if isinstance(operator, Divided):
        keys_of_all = Keys(SignatureFiles(signatures), str(signatures[0].parent))
        shares = operator.shares(len(keys_of_all))
        return operator.decide(keys_of_all, [operator.look(keys_of_all, share, shares) for share in range(shares)])
    if operator.kind == "deduplicator":
        return _duplicates(operator, signatures, pairs)
    opened = OpenSource(source)
    rows = len(opened)
    if operator.kind == "aggregator":
        return Decision(np.arange(rows, dtype=np.int64), np.array([0, rows] if rows else [0], dtype=np.int64))
    columns = keys(operator, opened, roles)
    if isinstance(operator, Selector):
        return Decision(np.asarray(operator.select(columns, rows, ctx), dtype=np.int64))
    groups = operator.group(columns, rows)
    lengths = [len(group) for group in groups]
    order = np.concatenate([*groups, np.empty(0, np.int64)]).astype(np.int64)
    return Decision(order, np.cumsum([0, *lengths], dtype=np.int64))


def _duplicates(operator: Any, signatures: list[Path], pairs: int) -> Decision:
    if not signatures:
        return Decision(np.empty(0, np.int64))
    files = SignatureFiles(signatures)
    if isinstance(operator, PartDeduplicator):
        return Decision(np.arange(sum(len(one) for one in files)), keys=operator.repeated(files))
    keep, originals = operator.duplicates(files)
    repeated = np.flatnonzero(~np.asarray(keep))[:pairs]
    shown = [(int(at), int(originals[at])) for at in repeated]
    return Decision(np.flatnonzero(keep).astype(np.int64), pairs=shown)


def keys(operator: Operator, source: OpenSource, roles: Roles) -> dict[str, list[Any]]:
    """The columns that a selector or grouper looks at, of all rows."""
    found: dict[str, list[Any]] = {path: [] for path in operator.reads}
    for first in range(0, len(source), _KEY_ROWS):
        positions = source.positions(first, min(_KEY_ROWS, len(source) - first))
        batch = Batch(source.dataset, positions, roles)
        for path, values in found.items():
            values.extend(batch.column(path))
    return found


def publish_order(path: Path, positions: "npt.NDArray[Any]") -> None:
    """Write positions or keys to a file that is there whole or not at all."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as file:
        np.save(file, positions)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
