"""JINX over Mosaic Data Shards that others wrote, and inside MosaicML Streaming."""

import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.peers.jinx import Jinx
from bench.peers.peer import FIELDS, Peer, Unsupported
from bench.peers.streaming import Streaming

_SOURCES = Path(__file__).parents[2] / "python"
_READS = (  # noqa: SIM905 - as on a command line
    "iterate_nothing iterate_field iterate_count iterate_all random_field random_messages random_all take"
    " shuffle_nothing shuffle_all sort_nothing sort_all loader lengths paper_iterate paper_shuffle paper_sort"
).split()


def _there() -> None:
    if find_spec("jinx.mds") is None:
        raise Unsupported("this version of jinx has no jinx.mds")


class JinxMds(Jinx):
    only = tuple(_READS)

    def __init__(self, name: str, reader: str, store: str, data: str) -> None:
        self.name, self.reader, self.store, self.data = name, reader, store, (data,)
        self.title = f"jinx.mds.{reader} over {store}'s files"

    def open(self, out: Path) -> Any:
        _there()
        import jinx.mds

        return getattr(jinx.mds, self.reader)(str(out / "mds"))

    def sorted(self, ds: Any, fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        return ds.sort(key=lambda sample: len(sample["messages"]))


class Patched(Streaming):
    """MosaicML Streaming whose MDS reader is ours."""

    only = tuple(_READS)
    modules = ("streaming", "streaming.base.util")

    def __init__(self, name: str, store: str, data: str) -> None:
        super().__init__(name)
        self.store, self.data = store, (data,)
        self.title = f"MosaicML Streaming with jinx.mds.patch_streaming over {store}'s files"

    def open(self, out: Path) -> Any:
        sys.path.insert(0, str(_SOURCES))
        _there()
        import jinx.mds

        jinx.mds.patch_streaming()
        return super().open(out)


PEERS: tuple[Peer, ...] = (
    JinxMds("jinx-mds-ram", "RamReader", "mldf-mds-ram", "jpeg"),
    JinxMds("jinx-mds-bulk", "BulkReader", "mldf-mds-ram", "jpeg"),
    Patched("jinx-in-streaming", "streaming", "jpeg"),
    JinxMds("jinx-mds-ram-zstd", "RamReader", "mldf-mds-ram-zstd", "pixels"),
    JinxMds("ours-on-mds-ram", "RamReader", "paper-mds-bulk", "paper"),
    JinxMds("ours-on-mds-ram-zstd", "RamReader", "paper-mds-bulk-zstd", "paper"),
    JinxMds("ours-on-mds-ram-sample", "RamReader", "paper-mds-bulk-sample", "paper"),
    JinxMds("ours-on-mds-bulk", "BulkReader", "paper-mds-bulk", "paper"),
    JinxMds("ours-on-mds-bulk-zstd", "BulkReader", "paper-mds-bulk-zstd", "paper"),
    JinxMds("ours-on-mds-bulk-sample", "BulkReader", "paper-mds-bulk-sample", "paper"),
    Patched("ours-in-streaming-zstd", "paper-mds-streaming-zstd", "paper"),
    Patched("ours-in-streaming-sample", "paper-mds-streaming-sample", "paper"),
)
