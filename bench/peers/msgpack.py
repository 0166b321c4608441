"""A stream of MessagePack maps. In order only."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.peers.peer import FIELDS, Peer, Unsupported
from bench.peers.rows import parquet_rows


class MessagePack(Peer):
    name = "msgpack"
    title = "MessagePack stream"
    distributions = ("msgpack",)
    modules = ("msgpack",)
    data = ("jpeg",)
    snippet = """
import msgpack
with open(path + "/data.msgpack", "rb") as file:
    sample = next(msgpack.Unpacker(file, max_buffer_size=1 << 30))
sample["id"], sample["image"]
"""

    def write(self, source: Path, out: Path) -> None:
        import msgpack

        with (out / "data.msgpack").open("wb") as file:
            for row in parquet_rows(source):
                file.write(msgpack.packb(row))

    def open(self, out: Path) -> Path:
        return out / "data.msgpack"

    def stream(self, ds: Path, fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        import msgpack

        del fields
        with ds.open("rb") as file:
            yield from msgpack.Unpacker(file, max_buffer_size=1 << 30, read_size=1 << 20)

    def pick(self, ds: Any, order: Sequence[int], fields: Sequence[str] = FIELDS) -> Iterator[Any]:
        raise Unsupported("reads in order only")

    def sorted(self, ds: Any, fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        raise Unsupported("reads in order only")

    def loader(self, ds: Any, size: int, workers: int) -> Iterable[Iterable[Any]]:
        raise Unsupported("reads in order only, in one process")

    image_loader = loader


PEERS = (MessagePack(),)
