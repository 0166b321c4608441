"""ArrayRecord with a MessagePack map in each record."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.peers.peer import FIELDS, Peer
from bench.peers.rows import parquet_rows

_STEP = 256


class Records:
    """A reader whose records are unpacked."""

    def __init__(self, path: Path) -> None:
        import msgpack
        from array_record.python import array_record_module

        self.unpack = msgpack.unpackb
        self.reader = array_record_module.ArrayRecordReader(str(path))

    def __len__(self) -> int:
        return self.reader.num_records()

    def __getitem__(self, index: int) -> Any:
        return self.unpack(self.reader.read([index])[0])

    def __iter__(self) -> Iterator[Any]:
        total = len(self)
        for start in range(0, total, _STEP):
            yield from map(self.unpack, self.reader.read(start, min(start + _STEP, total)))


class ArrayRecord(Peer):
    name = "array_record"
    title = "ArrayRecord, one MessagePack map a record"
    environment = "array_record"
    distributions = ("array-record", "msgpack")
    modules = ("array_record.python.array_record_module", "msgpack")
    snippet = """
import msgpack
from array_record.python import array_record_module
sample = msgpack.unpackb(array_record_module.ArrayRecordReader(path + "/data.array_record").read([0])[0])
sample["id"], sample["image"]
"""

    def write(self, source: Path, out: Path) -> None:
        import msgpack
        from array_record.python import array_record_module

        compression = "zstd:3" if "pixels" in str(source) else "uncompressed"
        writer = array_record_module.ArrayRecordWriter(str(out / "data.array_record"), f"group_size:1,{compression}")
        for row in parquet_rows(source):
            writer.write(msgpack.packb(row))
        writer.close()

    def open(self, out: Path) -> Records:
        return Records(out / "data.array_record")

    def batches(self, ds: Records, order: Sequence[int], size: int) -> Iterator[Iterable[Any]]:
        for start in range(0, len(order), size):
            yield map(ds.unpack, ds.reader.read(order[start : start + size]))

    def shuffled(self, ds: Records, order: Sequence[int], fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        return self.pick(ds, order, fields)


PEERS = (ArrayRecord(),)
