"""Lance, its newest file format with its defaults."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.peers.peer import FIELDS, Opened, Peer, data_loader


class Lance(Peer):
    name = "lance"
    title = "Lance, defaults"
    environment = "lance"
    distributions = ("pylance", "pyarrow")
    modules = ("lance", "pyarrow.compute")
    snippet = """
import lance
sample = lance.dataset(path + "/data.lance").take([0]).to_pylist()[0]
sample["id"], sample["image"]
"""

    def write(self, source: Path, out: Path) -> None:
        import lance
        import pyarrow as pa
        import pyarrow.parquet as pq

        with pq.ParquetFile(source) as file:
            names = file.schema_arrow.names
            fields = [
                pa.field("image", pa.binary()) if name == "image" else file.schema_arrow.field(name) for name in names
            ]
            schema = pa.schema(fields)

            def batches() -> Iterator[pa.RecordBatch]:
                for batch in file.iter_batches(batch_size=100):
                    columns = [batch.column(name) for name in names]
                    columns[names.index("image")] = batch.column("image").field("bytes")
                    yield pa.RecordBatch.from_arrays(columns, schema=schema)

            lance.write_dataset(batches(), str(out / "data.lance"), schema=schema)

    def open(self, out: Path) -> Any:
        import lance

        return lance.dataset(str(out / "data.lance"))

    def stream(self, ds: Any, fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        for batch in ds.to_batches(columns=list(fields) or ["id"], batch_size=128):
            yield from batch.to_pylist()

    def pick(self, ds: Any, order: Sequence[int], fields: Sequence[str] = FIELDS) -> Iterator[Any]:
        columns = list(fields) or ["id"]
        for index in order:
            yield ds.take([index], columns=columns).to_pylist()[0]

    def batches(self, ds: Any, order: Sequence[int], size: int) -> Iterator[Iterable[Any]]:
        for start in range(0, len(order), size):
            yield ds.take(order[start : start + size], columns=list(FIELDS)).to_pylist()

    def shuffled(self, ds: Any, order: Sequence[int], fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        for start in range(0, len(order), 256):
            yield from ds.take(order[start : start + 256], columns=list(fields) or ["id"]).to_pylist()

    def sorted(self, ds: Any, fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        lengths = self.lengths(ds).to_pylist()
        return self.shuffled(ds, sorted(range(len(lengths)), key=lengths.__getitem__), fields)

    def lengths(self, ds: Any) -> Any:
        import pyarrow.compute as pc

        return pc.list_value_length(ds.to_table(columns=["messages"]).column("messages"))

    def loader(self, ds: Any, size: int, workers: int) -> Iterable[Iterable[Any]]:
        return data_loader(_Counted(self, ds), size, workers, "spawn")  # its threads do not survive a fork

    def image_loader(self, ds: Any, size: int, workers: int) -> Iterable[Iterable[Any]]:
        return data_loader(_Counted(self, ds, self.decoded), size, workers, "spawn")


class _Counted(Opened):
    def __init__(self, peer: Peer, ds: Any, *convert: Any) -> None:
        super().__init__(peer, range(ds.count_rows()), *convert)
        self.ds = ds


PEERS = (Lance(),)
