"""The yardstick: what fifty lines of Python do. JSON lines, a sidecar of images, an array of offsets, two maps."""

import mmap
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.peers.peer import Peer, touched


class Rows:
    """Line `i` holds sample `i` without its image; the offsets say where both begin."""

    def __init__(self, directory: Path) -> None:
        import orjson

        self.directory = directory
        self.loads = orjson.loads
        self.offsets = array("q", (directory / "offsets.bin").read_bytes())
        self.rows, self.images = (self._map(directory / name) for name in ("rows.jsonl", "images.bin"))
        self.view = memoryview(self.images)

    @staticmethod
    def _map(path: Path) -> mmap.mmap:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        return len(self.offsets) // 2 - 1

    def __getitem__(self, index: int) -> dict[str, Any]:
        line, image, line_end, image_end = self.offsets[2 * index : 2 * index + 4]
        row = self.loads(self.rows[line:line_end])
        row["image"] = self.view[image:image_end]
        return row

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(self.__getitem__, range(len(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Rows, (self.directory,)


class Ref(Peer):
    name = "ref"
    title = "JSON lines + sidecar + offsets: mmap, orjson.loads at each access"
    distributions = ("orjson", "pyarrow")
    modules = ("orjson", "pyarrow.parquet", "bench.peers.rows")
    data = ("jpeg",)
    snippet = """
import sys
sys.path.insert(0, root)
from pathlib import Path
from bench.peers.ref import Rows
sample = Rows(Path(path))[0]
sample["id"], bytes(sample["image"])
"""

    def write(self, source: Path, out: Path) -> None:
        import orjson

        from bench.peers.rows import parquet_rows

        offsets = array("q", (0, 0))
        line_end = image_end = 0
        with (out / "rows.jsonl").open("wb") as rows, (out / "images.bin").open("wb") as images:
            for row in parquet_rows(source):
                image_end += images.write(self.stored(row.pop("image")))
                line_end += rows.write(orjson.dumps(row) + b"\n")
                offsets.extend((line_end, image_end))
        (out / "offsets.bin").write_bytes(offsets.tobytes())

    def open(self, out: Path) -> Rows:
        return Rows(out)

    def picklable(self, sample: Any) -> dict[str, Any]:
        return {**sample, "image": self.image(sample)}

    def stored(self, image: bytes) -> bytes:
        """How an image is stored in the sidecar."""
        return image

    def image(self, sample: Any) -> bytes:
        return bytes(sample["image"])

    def touch_all(self, sample: Any) -> int:
        return touched(sample, self.image(sample), sample["messages"])


class Compressed(Ref):
    """The same with every image as a zstd frame of its own."""

    name = "ref-zstd"
    title = "ref with a zstd frame (level 3) for each image"
    distributions = ("orjson", "zstandard")
    data = ("pixels",)

    def stored(self, image: bytes) -> bytes:
        import zstandard

        return zstandard.ZstdCompressor(level=3).compress(image)

    def image(self, sample: Any) -> bytes:
        if isinstance(sample["image"], bytes):
            return sample["image"]
        return self.decompressor().decompress(sample["image"])

    def decompressor(self) -> Any:
        """One for the process: making one costs more than a small image."""
        import zstandard

        if not hasattr(self, "_decompressor"):
            self._decompressor = zstandard.ZstdDecompressor()
        return self._decompressor


PEERS = (Ref(), Compressed())
