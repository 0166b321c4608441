"""JINX, as it is installed in this repository's environment."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.peers.peer import FIELDS, Peer, Unsupported, data_loader
from bench.peers.rows import parquet_rows

FILE = "data.jinx"


class Jinx(Peer):
    name = "jinx"
    title = "JINX as installed here, defaults"
    environment = ""
    distributions = ("jinx-data",)
    modules = ("numpy", "jinx", "jinx._dataset.dataset")
    snippet = """
import jinx
sample = jinx.open(path + "/data.jinx")[0]
sample["id"], sample["image"]
"""
    options: dict[str, Any] = {}  # noqa: RUF012 - read only

    def write(self, source: Path, out: Path) -> None:
        import jinx

        jinx.convert(str(source), str(out / FILE), sidecar=True)

    def open(self, out: Path) -> Any:
        import jinx

        return jinx.open(str(out / FILE), **self.options)

    def batches(self, ds: Any, order: Sequence[int], size: int) -> Iterator[Iterable[Any]]:
        for start in range(0, len(order), size):
            yield ds.take(order[start : start + size])

    def shuffled(self, ds: Any, order: Sequence[int], fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        del fields
        return ds.select(order)

    def sorted(self, ds: Any, fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        del fields
        return ds.sort("len(messages)")

    def lengths(self, ds: Any) -> Iterable[int]:
        return ds.lengths("messages")

    def loader(self, ds: Any, size: int, workers: int) -> Iterable[Iterable[Any]]:
        return data_loader(ds, size, workers)

    def image_loader(self, ds: Any, size: int, workers: int) -> Iterable[Iterable[Any]]:
        return data_loader(ds.select_columns(["id", "image", "messages"]).with_transform(self.decoded), size, workers)

    def touch_count(self, sample: Any) -> int:
        return len(sample["id"]) + sample.length("messages")


class Variant(Jinx):
    """The same files under other options of `jinx.open`."""

    store = "jinx"

    def __init__(self, name: str, title: str, only: tuple[str, ...], **options: Any) -> None:
        self.name, self.title, self.only, self.options = name, title, only, options


class ByKey(Jinx):
    """Sorting as the other peers do it, by a Python function of the sample."""

    name = "jinx-key"
    title = "JINX, sorted by a Python function"
    store = "jinx"
    only = ("sort_nothing", "sort_all")

    def sorted(self, ds: Any, fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        del fields
        return ds.sort(key=lambda sample: sample.length("messages"))


class WithoutColumns(Jinx):
    """Files without columns: lengths and sort keys come from the rows."""

    name = "jinx-nocolumns"
    title = "JINX without columns in the footer"
    only = ("sort_nothing", "sort_all", "lengths")

    def write(self, source: Path, out: Path) -> None:
        import jinx

        with jinx.Writer(str(out / FILE), only_indexed=[]) as writer:
            for row in parquet_rows(source):
                writer.write(row)


class Loader(Jinx):
    """Threads in the training process in place of worker processes; as many as it takes by default."""

    name = "jinx-loader"
    title = "jinx.torch.Loader in place of DataLoader, no worker processes"
    store = "jinx"
    only = ("loader", "loader_decode")

    def loader(self, ds: Any, size: int, workers: int) -> Iterable[Iterable[Any]]:
        return self._loader()(ds, batch_size=size, collate_fn=list)

    def image_loader(self, ds: Any, size: int, workers: int) -> Iterable[Iterable[Any]]:
        fields = ["id", "image", "messages"]
        return self._loader()(ds, batch_size=size, collate_fn=list, columns=fields, decode={"image": "numpy"})

    @staticmethod
    def _loader() -> Any:
        import jinx.torch

        loader = getattr(jinx.torch, "Loader", None)
        if loader is None:
            raise Unsupported("this version of jinx has no jinx.torch.Loader")
        return loader


class References(Jinx):
    """The stock DataLoader, whose workers send positions; one line of the training script differs."""

    name = "jinx-references"
    title = "jinx.torch.References in the DataLoader, whose workers send positions"
    store = "jinx"
    only = ("loader",)

    def loader(self, ds: Any, size: int, workers: int) -> Iterable[Iterable[Any]]:
        import jinx.torch

        return data_loader(jinx.torch.References(ds, collate_fn=list), size, workers, collate=jinx.torch.collate)


VERIFIED = ("iterate_all", "iterate_field", "random_all")

PEERS = (
    Jinx(),
    ByKey(),
    WithoutColumns(),
    Loader(),
    References(),
    Variant("jinx-unchecked", 'JINX with verify="none"', VERIFIED, verify="none"),
    Variant("jinx-rows", 'JINX with verify="rows"', VERIFIED, verify="rows"),
    Variant("jinx-full", 'JINX with verify="full"', VERIFIED, verify="full"),
)
