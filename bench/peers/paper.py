"""The rows of the MLDataForge paper's Table 1, on its data: files as MLDataForge writes them, read as it reads them."""

import os
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.peers.jinx import Jinx
from bench.peers.mldataforge import MDS_COLUMNS, SHARD_BYTES, Bulk, Mds, OldJinx
from bench.peers.peer import FIELDS, Peer, Unsupported
from bench.peers.rows import parquet_rows
from bench.peers.streaming import Streaming

_DATA = ("paper",)


class SingleJinx(OldJinx):
    """Images as base64 in the lines, as the paper has it."""

    def __init__(self, name: str, *, lazy: bool, compression: str | None, store: str = "") -> None:
        super().__init__(name, lazy=lazy, compression=compression, store=store)
        self.title = self.title.replace("sidecar", "one file")

    def write(self, source: Path, out: Path) -> None:
        from mldataforge.utils import save_jinx

        compression = self.compression or "none"
        save_jinx(parquet_rows(source), str(out / "data.jinx"), compression=compression, encoding="b64", size_hint=None)


class SampleStreaming(Streaming):
    """Streaming with MLDataForge's reader of compressed samples in place of its own."""

    modules = ("streaming", "streaming.base.util", "mldataforge.mds")

    def write(self, source: Path, out: Path) -> None:
        from mldataforge.mds import MDSSampleWriter

        with MDSSampleWriter(
            columns=MDS_COLUMNS, out=str(out / "mds"), compression="sample::zstd", size_limit=SHARD_BYTES
        ) as writer:
            for row in parquet_rows(source):
                writer.write(row)

    def open(self, out: Path) -> Any:
        from mldataforge.mds import MDSSampleReader
        from streaming.base.format import _readers

        _readers["mds"] = MDSSampleReader
        return super().open(out)


class Loaded(Peer):
    """Files that Hugging Face datasets turns into Arrow before it reads them; that counts."""

    environment = "streaming"
    distributions = ("datasets",)
    modules = ("datasets", "mldataforge.utils", "numpy")
    data = _DATA

    def __init__(self, name: str, kind: str, compression: str) -> None:
        self.name, self.kind, self.compression = name, kind, compression
        self.title = f"{kind}, loaded by Hugging Face datasets, compression {compression}"

    def write(self, source: Path, out: Path) -> None:
        from mldataforge.utils import save_jsonl, save_parquet

        if self.kind == "parquet":
            save_parquet(parquet_rows(source), str(out / "data"), compression=self.compression, size_hint=None)
        else:
            rows = ({**row, "image": b64encode(row["image"]).decode()} for row in parquet_rows(source))
            save_jsonl(rows, str(out / "data"), compression=self.compression, size_hint=None)

    def open(self, out: Path) -> Any:
        import datasets

        kind = "json" if self.kind == "jsonl" else self.kind
        return datasets.load_dataset(kind, data_files=str(out / "data"), split="train", cache_dir=os.environ["HF_HOME"])

    def shuffled(self, ds: Any, order: Sequence[int], fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        return ds.select(order)

    def sorted(self, ds: Any, fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        """As MLDataForge does it."""
        return ds.map(lambda sample: {"__key__": len(sample["messages"])}).sort(column_names=["__key__"])

    def image(self, sample: Any) -> Any:
        return sample["image"] if self.kind == "parquet" else b64decode(sample["image"])


class Packed(Peer):
    """MessagePack through MLDataForge. In order only."""

    environment = "streaming"
    distributions = ("mldataforge", "msgpack")
    modules = ("mldataforge.utils",)
    data = _DATA

    def __init__(self, name: str, compression: str) -> None:
        self.name, self.compression = name, compression
        self.title = f"MessagePack, MLDataForge, compression {compression}"

    def write(self, source: Path, out: Path) -> None:
        from mldataforge.utils import save_msgpack

        save_msgpack(parquet_rows(source), str(self._file(out)), compression=self.compression, size_hint=None)

    def open(self, out: Path) -> Any:
        from mldataforge.utils import load_msgpack_files

        return load_msgpack_files([str(self._file(out))])

    def _file(self, out: Path) -> Path:
        return out / ("data.msgpack" if self.compression == "none" else "data.msgpack.zst")

    def pick(self, ds: Any, order: Sequence[int], fields: Sequence[str] = FIELDS) -> Iterator[Any]:
        raise Unsupported("reads in order only")

    def sorted(self, ds: Any, fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        raise Unsupported("reads in order only")


class OurReader(Jinx):
    """JINX over its own files and over MLDataForge's."""

    data = _DATA

    def __init__(self, name: str, title: str, store: str = "", compression: str | None = "zstd") -> None:
        self.name, self.title, self.store, self.compression = name, title, store, compression

    def write(self, source: Path, out: Path) -> None:
        import jinx

        jinx.convert(str(source), str(out / "data.jinx"), sidecar=True, compression=self.compression or "none")

    def sorted(self, ds: Any, fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        """By a Python function, as the others."""
        return ds.sort(key=lambda sample: len(sample["messages"]))


def _of_the_paper(peer: Peer) -> Peer:
    peer.data = _DATA
    return peer


_MLDF = "paper-jinx"
PEERS = (
    *map(
        _of_the_paper,
        (
            Streaming("paper-mds-streaming"),
            Streaming("paper-mds-streaming-zstd", "zstd"),
            SampleStreaming("paper-mds-streaming-sample", "sample::zstd"),
            Bulk("paper-mds-bulk"),
            Bulk("paper-mds-bulk-zstd", "zstd"),
            Bulk("paper-mds-bulk-sample", "sample::zstd"),
            Mds("paper-mds-ram", store="paper-mds-bulk"),
            Mds("paper-mds-ram-zstd", "zstd", store="paper-mds-bulk-zstd"),
            Mds("paper-mds-ram-sample", "sample::zstd", store="paper-mds-bulk-sample"),
            SingleJinx(f"{_MLDF}-single-eager", lazy=False, compression=None),
            SingleJinx(f"{_MLDF}-single-eager-zstd", lazy=False, compression="zst"),
            SingleJinx(f"{_MLDF}-single-lazy", lazy=True, compression=None, store=f"{_MLDF}-single-eager"),
            SingleJinx(f"{_MLDF}-single-lazy-zstd", lazy=True, compression="zst", store=f"{_MLDF}-single-eager-zstd"),
            OldJinx(f"{_MLDF}-binary-eager", lazy=False, compression=None),
            OldJinx(f"{_MLDF}-binary-eager-zstd", lazy=False, compression="zst"),
            OldJinx(f"{_MLDF}-binary-lazy", lazy=True, compression=None, store=f"{_MLDF}-binary-eager"),
            OldJinx(f"{_MLDF}-binary-lazy-zstd", lazy=True, compression="zst", store=f"{_MLDF}-binary-eager-zstd"),
        ),
    ),
    Loaded("paper-parquet", "parquet", "none"),
    Loaded("paper-parquet-zstd", "parquet", "zstd"),
    Loaded("paper-jsonl", "jsonl", "none"),
    Loaded("paper-jsonl-zstd", "jsonl", "zstd"),
    Packed("paper-msgpack", "none"),
    Packed("paper-msgpack-zstd", "zstd"),
    OurReader("ours", "JINX, defaults (zstd)"),
    OurReader("ours-none", "JINX, not compressed", compression=None),
    OurReader("ours-on-mldf-binary-zstd", "JINX reading MLDataForge's files", store=f"{_MLDF}-binary-eager-zstd"),
    OurReader("ours-on-mldf-single", "JINX reading MLDataForge's files", store=f"{_MLDF}-single-eager"),
)
