"""Compares the parts of committed work with what was committed: a file under the name of another holds other rows."""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Final

from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.run_log import START_OVER, RunLogError
from jinx_pipeline.store.mirror import object_store, patiently, read_range, shown, url_of

# The end of a JINX file contains its id and the hashes of its rows.
_END_BYTES: Final = 64 << 10
# On a network disk, each file takes a while; so does each request.
_THREADS: Final = 16
_THREADS_OF_STORE: Final = 64
_AT_ONCE: Final = 4096


def end_of(part: Path) -> str | None:
    """A digest of the end of a part, which differs between parts with different rows; None if it is not a file here."""
    try:
        with part.open("rb") as file:
            file.seek(-min(_END_BYTES, os.fstat(file.fileno()).st_size), os.SEEK_END)
            return _digest(file.read())
    except (FileNotFoundError, IsADirectoryError):
        return None


def _stored_end(part: Path, sizes: Mapping[str, int]) -> str | None:
    """Like `end_of`, but of the object that a part stands for: what is on this node may be another state of it."""
    url = str(url_of(part))
    try:
        size = sizes[url] if url in sizes else patiently(lambda: object_store().head(url).size)
        return _digest(read_range(url, max(size - _END_BYTES, 0), size))
    except FileNotFoundError:
        return None


def _digest(end: bytes) -> str:
    return sha256(end).hexdigest()[:16]


def refuse_other_parts(ledger: Ledger) -> None:
    """Refuse a run whose parts are not those written by its workers.

    Parts that are gone are left to those who need them. In a store, each part takes one request.

    Raises:
        RunLogError: A part is another file or object.
        StoreError: The store fails for too long.
    """
    expected, look, threads = _ends(ledger), end_of, _THREADS
    folder = url_of(ledger.directory.parts)
    if folder is not None:
        listed = patiently(lambda: object_store().list(folder))
        look = partial(_stored_end, sizes={info.url: info.size for info in listed})
        threads = _THREADS_OF_STORE
    with ThreadPoolExecutor(threads) as pool:
        # All parts of a large run at once would take as much memory as its ledger.
        while group := list(islice(expected, _AT_ONCE)):
            for (path, end), found in zip(group, pool.map(look, (path for path, _ in group)), strict=True):
                if found not in {None, end}:
                    problem = f"{shown(path)} is not the part that this run has written"
                    raise RunLogError(f"{problem}; restore it, or {START_OVER}")


def _ends(ledger: Ledger) -> Iterator[tuple[Path, str]]:
    for piece in ledger.all_pieces():
        for part in piece.parts():
            if part.end is not None:
                yield ledger.directory.parts / str(part.part), part.end
