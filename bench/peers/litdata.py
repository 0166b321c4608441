"""litdata. Its samples must all have the same number of leaves, so the messages are one JSON text."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.peers.peer import Streamed, touched
from bench.peers.rows import parquet_rows


def _rows(source: str) -> Iterator[dict[str, Any]]:
    for row in parquet_rows(Path(source)):
        yield {**row, "messages": json.dumps(row["messages"])}


class LitData(Streamed):
    environment = "litdata"
    distributions = ("litdata", "torch")
    modules = ("litdata", "json")
    snippet = """
import json
from litdata import StreamingDataset
sample = StreamingDataset(path + "/chunks")[0]
sample["id"], sample["image"]
"""

    def __init__(self, name: str, compression: str | None, data: tuple[str, ...]) -> None:
        self.name, self.compression, self.data = name, compression, data
        self.title = f"litdata, chunks of 64 MB, compression {compression or 'none'}"

    def write(self, source: Path, out: Path) -> None:
        import litdata

        litdata.optimize(
            fn=_rows,
            inputs=[str(source)],
            output_dir=str(out / "chunks"),
            chunk_bytes="64MB",
            compression=self.compression,
            num_workers=1,
        )

    def open(self, out: Path) -> Any:
        import litdata

        return litdata.StreamingDataset(str(out / "chunks"), shuffle=False)

    def messages(self, sample: Any) -> Any:
        return json.loads(sample["messages"])

    def plain(self, sample: Any) -> dict[str, Any]:
        return {**sample, "messages": self.messages(sample)}

    def touch_count(self, sample: Any) -> int:
        return len(sample["id"]) + len(self.messages(sample))

    def touch_messages(self, sample: Any) -> int:
        messages = self.messages(sample)
        return len(messages) + len(messages[-1]["content"][-1]["text"])

    def touch_all(self, sample: Any) -> int:
        return touched(sample, sample["image"], self.messages(sample))


PEERS = (LitData("litdata", None, ("jpeg",)), LitData("litdata-zstd", "zstd", ("pixels",)))
