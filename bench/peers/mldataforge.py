"""MLDataForge, the reference implementation of JINX 1.0: its JINX readers and its MDS readers."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.peers.peer import FIELDS, Peer, Unsupported
from bench.peers.rows import parquet_rows

MDS_COLUMNS = {
    "id": "str",
    "image": "bytes",
    "messages": "json",
    "source": "str",
    "width": "int",
    "height": "int",
    "score": "float64",
}
# Only images go to the sidecar; so does each option that makes its reader fastest.
BINARY_THRESHOLD = 1 << 14
SHARD_BYTES = 1 << 26


class OldJinx(Peer):
    environment = "streaming"
    distributions = ("mldataforge",)
    modules = ("mldataforge.jinx", "mldataforge.utils")

    def __init__(self, name: str, *, lazy: bool, compression: str | None, store: str = "") -> None:
        self.name, self.lazy, self.compression, self.store = name, lazy, compression, store
        self.title = f"MLDataForge JINX, {'lazy' if lazy else 'eager'}, sidecar, compression {compression or 'none'}"
        if compression is None:
            self.data = ("jpeg",)
        self.snippet = f"""
from mldataforge.jinx import JinxDatasetReader
sample = JinxDatasetReader(path + "/data.jinx", lazy={lazy}, mmap=True)[0]
sample["id"], sample["image"]
"""

    def write(self, source: Path, out: Path) -> None:
        from mldataforge.utils import save_jinx

        save_jinx(
            parquet_rows(source),
            str(out / "data.jinx"),
            compression=self.compression or "none",
            binary_threshold=BINARY_THRESHOLD,
            size_hint=None,
        )

    def open(self, out: Path) -> Any:
        from mldataforge.jinx import JinxDatasetReader

        return JinxDatasetReader(str(out / "data.jinx"), lazy=self.lazy, mmap=True)

    def picklable(self, sample: Any) -> Any:
        return sample.materialize() if self.lazy else sample

    def decoded(self, sample: Any) -> dict[str, Any]:
        return super().decoded(self.picklable(sample))

    def plain(self, sample: Any) -> dict[str, Any]:
        return dict(self.picklable(sample))


class Mds(Peer):
    environment = "streaming"
    distributions = ("mldataforge",)
    modules = ("mldataforge.mds",)
    reader = "MDSRAMDatasetReader"

    def __init__(self, name: str, compression: str | None = None, store: str = "") -> None:
        self.name, self.compression, self.store = name, compression, store
        self.title = f"MLDataForge MDS, RAM reader, compression {compression or 'none'}"
        self.data = ("pixels",) if compression else ("jpeg",)
        self.snippet = """
from mldataforge.mds import MDSRAMDatasetReader
sample = MDSRAMDatasetReader([path + "/mds"], None)[0]
sample["id"], sample["image"]
"""

    def write(self, source: Path, out: Path) -> None:
        from mldataforge.mds import MDSSampleWriter

        with MDSSampleWriter(
            columns=MDS_COLUMNS, out=str(out / "mds"), compression=self.compression, size_limit=SHARD_BYTES
        ) as writer:
            for row in parquet_rows(source):
                writer.write(row)

    def open(self, out: Path) -> Any:
        import mldataforge.mds

        return getattr(mldataforge.mds, self.reader)([str(out / "mds")], None)


class Bulk(Mds):
    """In order only."""

    reader = "MDSBulkDatasetReader"

    def __init__(self, name: str, compression: str | None = None, store: str = "") -> None:
        super().__init__(name, compression, store)
        self.title = f"MLDataForge MDS, bulk reader, compression {compression or 'none'}"
        self.snippet = """
from mldataforge.mds import MDSBulkDatasetReader
sample = next(iter(MDSBulkDatasetReader([path + "/mds"], None)))
sample["id"], sample["image"]
"""

    def pick(self, ds: Any, order: Sequence[int], fields: Sequence[str] = FIELDS) -> Iterator[Any]:
        raise Unsupported("reads in order only")

    def loader(self, ds: Any, size: int, workers: int) -> Iterable[Iterable[Any]]:
        raise Unsupported("reads in order only")

    image_loader = loader


PEERS = (
    OldJinx("mldf-jinx-lazy", lazy=True, compression=None),
    OldJinx("mldf-jinx-lazy-zstd", lazy=True, compression="zst"),
    OldJinx("mldf-jinx-eager", lazy=False, compression=None, store="mldf-jinx-lazy"),
    Mds("mldf-mds-ram"),
    Mds("mldf-mds-ram-zstd", "sample::zstd"),
    Bulk("mldf-mds-bulk", store="mldf-mds-ram"),
    Bulk("mldf-mds-bulk-zstd", "sample::zstd", store="mldf-mds-ram-zstd"),
)
