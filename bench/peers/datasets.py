"""Hugging Face datasets: Arrow files, mapped."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.peers.peer import FIELDS, Peer, touched


class HuggingFace(Peer):
    name = "datasets"
    title = "Hugging Face datasets, saved to disk"
    environment = "datasets"
    distributions = ("datasets", "pyarrow")
    modules = ("datasets", "numpy", "pyarrow.compute")
    snippet = """
import datasets
ds = datasets.load_from_disk(path + "/arrow").cast_column("image", datasets.Image(decode=False))
sample = ds[0]
sample["id"], sample["image"]["bytes"]
"""

    def write(self, source: Path, out: Path) -> None:
        import datasets

        rows = datasets.Dataset.from_parquet(str(source), cache_dir=os.environ["HF_HOME"])
        rows.save_to_disk(str(out / "arrow"))

    def open(self, out: Path) -> Any:
        import datasets

        ds = datasets.load_from_disk(str(out / "arrow"))
        return ds.cast_column("image", datasets.Image(decode=False))

    def stream(self, ds: Any, fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        return ds if len(fields) in (0, len(FIELDS)) else ds.select_columns(list(fields))

    def pick(self, ds: Any, order: Sequence[int], fields: Sequence[str] = FIELDS) -> Iterator[Any]:
        return map(self.stream(ds, fields).__getitem__, order)

    def batches(self, ds: Any, order: Sequence[int], size: int) -> Iterator[Iterable[Any]]:
        for start in range(0, len(order), size):
            yield ds.__getitems__(order[start : start + size])

    def shuffled(self, ds: Any, order: Sequence[int], fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        del fields
        return ds.select(order)

    def sorted(self, ds: Any, fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        import numpy as np

        del fields
        return ds.select(np.argsort(self.lengths(ds), kind="stable"))

    def lengths(self, ds: Any) -> Any:
        import pyarrow.compute as pc

        return pc.list_value_length(ds.data.column("messages"))

    def image(self, sample: Any) -> Any:
        return sample["image"]["bytes"]

    def touch_all(self, sample: Any) -> int:
        return touched(sample, sample["image"]["bytes"], sample["messages"])


PEERS = (HuggingFace(),)
