"""JSON lines with the image as base64; for random access the lines are found by reading the file once."""

from array import array
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.peers.peer import Peer
from bench.peers.rows import parquet_rows


class Lines:
    """The positions of all lines, found at opening."""

    def __init__(self, path: Path) -> None:
        import orjson

        self.loads = orjson.loads
        self.path = path
        self.file = path.open("rb")
        self.starts = array("q", [0])
        for line in self.file:
            self.starts.append(self.starts[-1] + len(line))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> dict[str, Any]:
        self.file.seek(self.starts[index])
        return self._sample(self.file.read(self.starts[index + 1] - self.starts[index]))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        with self.path.open("rb") as file:
            yield from map(self._sample, file)

    def _sample(self, line: bytes) -> dict[str, Any]:
        sample = self.loads(line)
        sample["image"] = b64decode(sample["image"])
        return sample


class JsonLines(Peer):
    name = "jsonl"
    title = "JSON lines, base64 images, orjson"
    distributions = ("orjson",)
    modules = ("orjson",)
    data = ("jpeg",)
    snippet = """
import base64, orjson
with open(path + "/data.jsonl", "rb") as file:
    sample = orjson.loads(file.readline())
sample["id"], base64.b64decode(sample["image"])
"""

    def write(self, source: Path, out: Path) -> None:
        import orjson

        with (out / "data.jsonl").open("wb") as file:
            for row in parquet_rows(source):
                row["image"] = b64encode(row["image"]).decode()
                file.write(orjson.dumps(row) + b"\n")

    def open(self, out: Path) -> Lines:
        return Lines(out / "data.jsonl")


PEERS = (JsonLines(),)
