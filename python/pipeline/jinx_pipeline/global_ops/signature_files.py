"""The signatures of all rows, in the files that tasks wrote next to their parts."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

# Files that stay mapped: they are read several times.
_OPEN_FILES = 500


class SignatureFiles(Sequence[pa.Table]):
    """The signatures of all parts, in order; a table is read when it is asked for."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._open: dict[int, pa.Table] = {}

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return SignatureFiles(self._paths[at])
        if at in self._open:
            return self._open[at]
        table = read_table(self._paths[at])
        if len(self._open) < _OPEN_FILES:
            self._open[at] = table
        return table

    def __iter__(self) -> Iterator[pa.Table]:
        return (self[at] for at in range(len(self)))


def read_table(path: Path) -> pa.Table:
    """A table from a file, mapped."""
    with pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(file).read_all()
