"""What a worker needs of the parts before a barrier for one block after it."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.pipeline.scale.driver_side import peak_memory
from bench.pipeline.scale.simulation import BLOCK_ROWS, Size
from jinx_pipeline.plan.manifest import write_manifest
from jinx_pipeline.plan.source import OpenSource, Source

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Positions = npt.NDArray[np.int64]

# Deduplication drops one row of so many.
ROWS_PER_DUPLICATE = 5
# As many blocks as a worker has.
_BLOCKS = 12


def slices(folder: Path, size: Size) -> dict[str, Any]:
    """Open a manifest of one part a block, and slice some blocks of it in two orders.

    Args:
        folder: Where manifest and orders are put; the parts themselves are not made.
        size: Of the run.
    """
    folder.mkdir()
    manifest = folder / "0.parts.npy"
    with manifest.open("wb") as file:
        parts = folder / "parts"
        names = (parts / f"s0.0-b{block:06}-000000000.{block}-0a1b2c.jinx" for block in range(size.blocks))
        write_manifest(file, folder, [(name, BLOCK_ROWS) for name in names])
    dice = np.random.default_rng(0)
    kept = size.rows - size.rows // ROWS_PER_DUPLICATE
    orders: dict[str, tuple[int, Callable[[int], Positions]]] = {
        "dedup": (kept, lambda first: _kept(first, dice)),
        "shuffle": (size.rows, lambda _: dice.integers(0, size.rows, BLOCK_ROWS)),
    }
    return {
        "parts": size.blocks,
        "manifest_bytes": manifest.stat().st_size,
        **{name: _measured(manifest, folder / f"{name}.npy", *order) for name, order in orders.items()},
        "memory": peak_memory(),
    }


def _kept(first: int, dice: np.random.Generator) -> "Positions":
    """The positions of a block of rows that are not duplicates, in order."""
    start = first * ROWS_PER_DUPLICATE // (ROWS_PER_DUPLICATE - 1)
    gaps = 1 + (dice.random(BLOCK_ROWS) < 1 / (ROWS_PER_DUPLICATE - 1))
    return start + np.cumsum(gaps) - 1


def _measured(manifest: Path, path: Path, rows: int, positions_of: "Callable[[int], Positions]") -> dict[str, Any]:
    blocks = rows // BLOCK_ROWS
    first_rows = [BLOCK_ROWS * (blocks * number // _BLOCKS) for number in range(_BLOCKS)]
    # Only the blocks that are sliced are written; the others are holes in the file.
    order = np.lib.format.open_memmap(path, "w+", np.int64, (rows,))
    holding: list[int] = []
    for first in first_rows:
        order[first : first + BLOCK_ROWS] = positions_of(first)
        holding.append(len(np.unique(order[first : first + BLOCK_ROWS] // BLOCK_ROWS)))
    del order
    before = _memory()
    started = time.process_time()
    source = OpenSource(Source(("in",), manifest=str(manifest), order=str(path)))
    opened = time.process_time()
    opens = [len(source.slice(first, BLOCK_ROWS).source.parts) for first in first_rows]
    sliced = time.process_time()
    return {
        "open_seconds": opened - started,
        "open_memory": _memory() - before,
        "slice_seconds": (sliced - opened) / len(opens),
        "opens": max(opens),
        "holding": max(holding),
        "opens_too_many": sum(opens) - sum(holding),
    }


def _memory() -> int:
    """Resident memory of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS"))
