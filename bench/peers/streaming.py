"""MosaicML Streaming and its own reader of its shards."""

from pathlib import Path
from typing import Any

from bench.peers.mldataforge import MDS_COLUMNS, SHARD_BYTES
from bench.peers.peer import Streamed
from bench.peers.rows import parquet_rows


class Streaming(Streamed):
    environment = "streaming"
    distributions = ("mosaicml-streaming", "torch")
    modules = ("streaming", "streaming.base.util")
    snippet = """
from streaming import StreamingDataset
sample = StreamingDataset(local=path + "/mds", batch_size=1)[0]
sample["id"], sample["image"]
"""

    def __init__(self, name: str, compression: str | None = None) -> None:
        self.name, self.compression = name, compression
        self.title = f"MosaicML Streaming, MDS, shard compression {compression or 'none'}"

    def write(self, source: Path, out: Path) -> None:
        from streaming import MDSWriter

        with MDSWriter(
            columns=MDS_COLUMNS, out=str(out / "mds"), compression=self.compression, size_limit=SHARD_BYTES
        ) as writer:
            for row in parquet_rows(source):
                writer.write(row)

    def open(self, out: Path) -> Any:
        from streaming import StreamingDataset
        from streaming.base.util import clean_stale_shared_memory

        for packed in (out / "mds").glob("*.zstd"):  # what an earlier reading unpacked
            packed.with_suffix("").unlink(missing_ok=True)
        clean_stale_shared_memory()
        return StreamingDataset(local=str(out / "mds"), batch_size=64, shuffle=False)


PEERS = (Streaming("streaming"), Streaming("streaming-zstd", "zstd"))
