"""Compares the parts of committed work with what was committed: a file under the name of another holds other rows."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Final

from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.run_log import START_OVER, RunLogError
from jinx_pipeline.store.mirror import shown, url_of

# The end of a JINX file contains its id and the hashes of its rows.
_END_BYTES: Final = 64 << 10
# On a network disk, each file takes a while.
_THREADS: Final = 16
_AT_ONCE: Final = 4096


def end_of(part: Path) -> str | None:
    """A digest of the end of a part, which differs between parts with different rows; None if it is not a file here."""
    if url_of(part) is not None:
        return None
    try:
        with part.open("rb") as file:
            file.seek(-min(_END_BYTES, os.fstat(file.fileno()).st_size), os.SEEK_END)
            return sha256(file.read()).hexdigest()[:16]
    except (FileNotFoundError, IsADirectoryError):
        return None


def refuse_other_parts(ledger: Ledger) -> None:
    """Refuse a run whose parts are not those written by its workers.

    Parts that are gone are left to those who need them, and objects in a store, which nobody renames, are not read.

    Raises:
        RunLogError: A part is another file.
    """
    expected = _ends(ledger)
    with ThreadPoolExecutor(_THREADS) as threads:
        # Not all at once: all parts of a large run would take as much memory as its ledger.
        while group := list(islice(expected, _AT_ONCE)):
            for (path, end), found in zip(group, threads.map(end_of, (path for path, _ in group)), strict=True):
                if found not in {None, end}:
                    problem = f"{shown(path)} is not the part that this run has written"
                    raise RunLogError(f"{problem}; restore it, or {START_OVER}")


def _ends(ledger: Ledger) -> Iterator[tuple[Path, str]]:
    for piece in ledger.all_pieces():
        for part, end in ((piece.part, piece.end), *((port.part, port.end) for port in piece.ports.values())):
            if part is not None and end is not None:
                yield ledger.directory.parts / part, end
