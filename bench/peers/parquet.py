"""Parquet through pyarrow: row groups of a hundred rows, no compression for JPEG, zstd for raw pixels."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.peers.peer import FIELDS, Peer, touched

ROWS = 100
_STEP = 32


class Rows:
    """A file, with random access by reading the row group that holds a row."""

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        self.file = pq.ParquetFile(path, memory_map=True)

    def __len__(self) -> int:
        return self.file.metadata.num_rows

    def row(self, index: int, fields: Sequence[str]) -> dict[str, Any]:
        """One row, its other columns unread."""
        group, offset = divmod(index, ROWS)
        return self.file.read_row_group(group, columns=list(fields)).slice(offset, 1).to_pylist()[0]


class Parquet(Peer):
    name = "parquet"
    title = "Parquet, pyarrow, row groups of 100"
    distributions = ("pyarrow",)
    modules = ("pyarrow.parquet", "pyarrow.compute")
    snippet = """
import pyarrow.parquet as pq
sample = pq.ParquetFile(path + "/data.parquet").read_row_group(0).slice(0, 1).to_pylist()[0]
sample["id"], sample["image"]["bytes"]
"""

    def write(self, source: Path, out: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        compression = "zstd" if "pixels" in str(source) else "none"
        with (
            pq.ParquetFile(source) as file,
            pq.ParquetWriter(out / "data.parquet", file.schema_arrow, compression=compression) as writer,
        ):
            for batch in file.iter_batches(batch_size=ROWS):
                writer.write_table(pa.Table.from_batches([batch]), row_group_size=ROWS)

    def open(self, out: Path) -> Rows:
        return Rows(out / "data.parquet")

    def stream(self, ds: Rows, fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        for batch in ds.file.iter_batches(batch_size=_STEP, columns=list(fields) or ["id"]):
            yield from batch.to_pylist()

    def pick(self, ds: Rows, order: Sequence[int], fields: Sequence[str] = FIELDS) -> Iterator[Any]:
        for index in order:
            yield ds.row(index, fields or ["id"])

    def lengths(self, ds: Rows) -> Any:
        import pyarrow.compute as pc

        return pc.list_value_length(ds.file.read(columns=["messages"]).column("messages"))

    def sorted(self, ds: Rows, fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        lengths = self.lengths(ds).to_pylist()
        return self.pick(ds, sorted(range(len(lengths)), key=lengths.__getitem__), fields)

    def image(self, sample: Any) -> Any:
        return sample["image"]["bytes"]

    def touch_all(self, sample: Any) -> int:
        return touched(sample, sample["image"]["bytes"], sample["messages"])


PEERS = (Parquet(),)
