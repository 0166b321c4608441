"""Compares the media that committed work has read with their current state."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from jinx_pipeline.runlog.ledger import Ledger, Piece
from jinx_pipeline.sample.content_identity import ReplacedError
from jinx_pipeline.sample.media_files import MediaState, state_of
from jinx_pipeline.store.mirror import fetched

# On a network disk, each file takes a while.
_THREADS: Final = 16


def forget_replaced_media(ledger: Ledger) -> None:
    """Drop blocks that used a media file which was replaced or changed since, so that they are processed again.

    Nothing is checked once an output was published.

    Raises:
        ReplacedError: A file has changed, and the output or other nodes depend on the block.
    """
    if ledger.published:
        return
    with ThreadPoolExecutor(_THREADS) as threads:
        changed = [
            (block, file) for block, piece in ledger.pieces_with_media() for file in _changed(ledger, piece, threads)
        ]
    if changed and (ledger.publishing or len(ledger.nodes()) > 1):
        raise ReplacedError(changed[0][1])
    for block in {block for block, _ in changed}:
        for node in ledger.nodes():
            ledger.forget(node, block)


def _changed(ledger: Ledger, piece: Piece, threads: ThreadPoolExecutor) -> Iterator[str]:
    """The media files of a piece that have changed."""
    path = ledger.directory.parts / str(piece.media)
    try:
        states = json.loads(fetched(path).read_bytes())
    except FileNotFoundError:  # lost in a power failure
        yield str(path)
        return
    for (name, state), now in zip(states.items(), threads.map(_now, states), strict=True):
        if now != state:
            yield name


def _now(name: str) -> MediaState | None:
    try:
        return state_of(name)
    except OSError:
        return None
