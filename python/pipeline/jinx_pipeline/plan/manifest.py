"""A manifest lists the parts that contain the rows of a node, with their numbers of rows.

It is a file with a NumPy array, so that a worker reads only what it needs, for any number of parts.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Positions = npt.NDArray[np.int64]


def write_manifest(file: IO[bytes], folder: Path, parts: Sequence[tuple[Path, int]]) -> None:
    """Write a manifest.

    Args:
        file: The file to write.
        folder: The directory of the file; the paths are relative to it, so that both can be moved together.
        parts: The path of each part and its number of rows, in order.
    """
    names = [os.path.relpath(path, folder).encode() for path, _ in parts]
    ends = np.cumsum([rows for _, rows in parts], dtype=np.int64)
    table = np.zeros(len(parts), dtype=[("end", "<i8"), ("path", f"S{max(map(len, names), default=1)}")])
    table["end"], table["path"] = ends, names
    np.save(file, table)


class Manifest:
    """An open manifest.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._folder = path.parent
        self._table: npt.NDArray[Any] = np.load(path, mmap_mode="r")
        self._ends = np.array(self._table["end"])

    @property
    def rows(self) -> int:
        """The total number of rows."""
        return int(self._ends[-1]) if len(self._ends) else 0

    def paths(self) -> list[str]:
        """The paths of all parts, in order."""
        return self._paths(np.arange(len(self._ends)))

    def slice(self, positions: "Positions") -> "PartSlice":
        """The parts that hold some rows.

        Args:
            positions: The positions of the rows in all parts concatenated; int64 of shape (n,).
        """
        chosen = np.unique(np.searchsorted(self._ends, positions, side="right"))
        starts = np.concatenate([[0], self._ends])[chosen]
        sizes = self._ends[chosen] - starts
        return PartSlice(self._paths(chosen), starts, starts - (np.cumsum(sizes) - sizes))

    def _paths(self, numbers: "Positions") -> list[str]:
        return [os.path.normpath(self._folder / os.fsdecode(path)) for path in self._table["path"][numbers].tolist()]


@dataclass(frozen=True)
class PartSlice:
    """Some parts of a manifest.

    Attributes:
        paths: Their paths, in order.
        starts: The position of the first row of each in all parts of the manifest; int64 of shape (n,).
        shifts: The difference between a position in all parts and in these parts; int64 of shape (n,).
    """

    paths: list[str]
    starts: "Positions"
    shifts: "Positions"

    def local(self, positions: "Positions") -> "Positions":
        """The positions of rows within these parts, concatenated.

        Args:
            positions: Their positions in all parts of the manifest.
        """
        return positions - self.shifts[np.searchsorted(self.starts, positions, side="right") - 1]
