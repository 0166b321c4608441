"""Copying the source: what writing the same bytes costs at least."""

import shutil
from pathlib import Path

from bench.peers.peer import Peer


class Copy(Peer):
    name = "cp"
    title = "copy the Parquet file, and fsync"
    only = ("write", "write_snappy")
    checked = False

    def write(self, source: Path, out: Path) -> None:
        shutil.copyfile(source, out / "copy.parquet")


PEERS = (Copy(),)
