"""The signatures of all rows, in files next to the parts."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from jinx_pipeline.store.mirror import fetched

# The number of files that stay mapped, because they are read several times.
_OPEN_FILES = 500


class SignatureFiles(Sequence[pa.Table]):
    """The signatures of all parts, in order; tables are read on access."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._open: dict[int, pa.Table] = {}

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return SignatureFiles(self._paths[index])
        if index in self._open:
            return self._open[index]
        table = read_table(self._paths[index])
        if len(self._open) < _OPEN_FILES:
            self._open[index] = table
        return table

    def __iter__(self) -> Iterator[pa.Table]:
        return (self[index] for index in range(len(self)))


def read_table(path: Path) -> pa.Table:
    """A memory-mapped table from a file."""
    with pa.memory_map(str(fetched(path))) as file:
        return pa.ipc.open_file(file).read_all()
