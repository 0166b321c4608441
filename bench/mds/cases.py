"""What is measured, and by whom; each measurement runs in a process of its own."""

import os
import random
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.mds.data import COLUMNS, FORMS, packed_pixels
from bench.memory import memory

SMALL = [name for name in COLUMNS if name != "image"]
READERS: dict[str, tuple[str, ...]] = {
    "iterate": ("streaming", "mldf bulk", "mldf ram", "jinx bulk", "jinx ram"),
    "iterate, no image": ("streaming", "mldf bulk", "mldf ram", "jinx bulk", "jinx ram"),
    "random": ("streaming", "mldf ram", "jinx ram"),
    "random, batches of 64": ("streaming", "mldf ram", "jinx ram"),
    "StreamingDataset[i]": ("streaming", "jinx patched"),
    "StreamingDataset, iterate": ("streaming", "jinx patched"),
    "DataLoader, 2 workers": ("streaming", "jinx patched"),
}
_IN_STREAMING = ("StreamingDataset", "DataLoader")
PIXEL_READERS = ("libzstd", "libzstd, all cores", "mldf ram", "jinx ram", "jinx take")
OPEN_READERS = ("streaming", "mldf ram", "jinx ram")
_BATCH = 64


def plan() -> list[tuple[str, str, tuple[str, ...]]]:
    """Shards, case, and who takes part. Streaming's own reader cannot read samples that are compressed one by one."""
    found: list[tuple[str, str, tuple[str, ...]]] = []
    for form in FORMS:
        for case, readers in READERS.items():
            if form == "sample-zstd":
                readers = tuple(name for name in readers if name.startswith(("jinx", "mldf")))  # noqa: PLW2901
                if case.startswith(_IN_STREAMING):
                    continue
            found.append((form, case, readers))
    return [*found, ("pixels", "pixels", PIXEL_READERS), ("many", "open", OPEN_READERS)]


def opened(reader: str, directory: Path, form: str, local: Path, *, inside: bool) -> Any:
    """The dataset of one reader; `inside` a StreamingDataset where there is a choice."""
    path = directory / form
    if reader in {"jinx ram", "jinx take", "jinx bulk"}:
        from jinx.mds import BulkReader, RamReader

        return BulkReader(path) if reader == "jinx bulk" else RamReader(path, cache=local)
    if reader.startswith("mldf"):
        from mldataforge.mds import MDSBulkDatasetReader, MDSRAMDatasetReader

        if form == "zstd":  # it decompresses next to the source
            path = Path(shutil.copytree(path, local / form))
        return (MDSBulkDatasetReader if reader == "mldf bulk" else MDSRAMDatasetReader)([str(path)], None)
    from streaming import LocalDataset, StreamingDataset

    if reader == "jinx patched":
        from jinx.mds import patch_streaming

        patch_streaming()
    if form in {"raw", "many"} and not inside:
        return LocalDataset(str(path))
    where = {"local": str(path)} if form == "raw" else {"remote": str(path), "local": str(local / "cache")}
    return StreamingDataset(batch_size=1, shuffle=False, **where)


def load(reader: str) -> None:
    """Import what a reader needs, which is not what is measured."""
    names = ["numpy.random", "jinx.mds._readers"]
    if reader.startswith("mldf"):
        names.append("mldataforge.mds")
    if reader in {"streaming", "jinx patched"}:
        names += ["streaming", "jinx.mds._streaming"]
    if reader.startswith("libzstd"):
        names.append("zstandard")
    for name in names:
        import_module(name)


def touch(sample: Any, fields: Any) -> int:
    """Every column, one by one."""
    return sum(sample[name] is not None for name in fields)


def work(case: str, reader: str, dataset: Any, limit: int) -> int:
    """One measurement; the number of samples."""
    order = list(range(len(dataset)))
    random.Random(1).shuffle(order)
    order = order[:limit]
    fields = {"pixels": ["pixels"], "iterate, no image": SMALL}.get(case, list(COLUMNS))
    if case == "open":
        return 1
    if reader == "jinx take" or (case == "random, batches of 64" and reader == "jinx ram"):
        for start in range(0, len(order), _BATCH):
            for sample in dataset.take(order[start : start + _BATCH]):
                touch(sample, fields)
    elif case.startswith(("random", "pixels")) or case == "StreamingDataset[i]":
        for index in order:
            touch(dataset[index], fields)
    elif case == "DataLoader, 2 workers":
        from torch.utils.data import DataLoader

        return sum(len(batch) for batch in DataLoader(dataset, batch_size=32, num_workers=2, collate_fn=list))
    else:
        if reader.startswith("jinx ") and case.endswith("no image"):
            dataset = dataset.select_columns(fields)
        for sample in dataset:
            touch(sample, fields)
        return len(dataset)
    return len(order)


def cpu() -> float:
    """User and system seconds of this process and those it has waited for."""
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def measure(case: str, reader: str, form: str, directory: Path, limit: int) -> dict[str, float]:
    """CPU and wall seconds for a sample, private bytes before the work, bytes on disk after it."""
    load(reader)
    with tempfile.TemporaryDirectory(dir=directory) as work_directory:
        local = Path(work_directory)
        samples = packed_pixels(directory) if reader.startswith("libzstd") else []
        before, _ = memory(os.getpid())
        # What is opened and unpacked counts too, for that is what a reader costs.
        start, wall = cpu(), time.perf_counter()
        if reader.startswith("libzstd"):
            count = _libzstd(samples, (os.cpu_count() or 1) if reader.endswith("all cores") else 1)
        else:
            dataset = opened(reader, directory, form, local, inside=case.startswith(_IN_STREAMING))
            count = work(case, reader, dataset, limit)
        spent, waited = cpu() - start, time.perf_counter() - wall
        disk = sum(file.stat().st_size for file in local.rglob("*") if file.is_file())
    return {"cpu": spent / count, "wall": waited / count, "before": before, "disk": disk}


def _libzstd(samples: list[bytes], threads: int) -> int:
    """Only decompresses, with Python's binding of libzstd, which lets go of the GIL."""
    import zstandard

    def share(first: int) -> None:
        decompress = zstandard.ZstdDecompressor().decompress
        for sample in samples[first::threads]:
            decompress(sample)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(share, range(threads)))
    return len(samples)


def pieces(directory: Path) -> dict[str, float]:
    """Where the time of our reader goes: CPU seconds for a sample of the raw shards, for parts of the work."""
    import json

    from jinx.mds import RamReader

    dataset = RamReader(directory / "raw")
    orjson = import_module("orjson")
    texts = [json.dumps(sample["messages"]).encode() for sample in dataset]
    images = [len(sample["image"]) for sample in dataset]
    order = list(range(len(dataset)))
    random.Random(1).shuffle(order)

    def touching(*fields: str) -> Callable[[int], Any]:
        return lambda i: touch(dataset[i], fields)

    with (directory / "raw" / "shard.00000.mds").open("rb", buffering=0) as file:
        from os import pread

        span = (directory / "raw" / "shard.00000.mds").stat().st_size // 2
        parts: dict[str, Callable[[int], Any]] = {
            "an empty loop": lambda i: touch(i, ()),
            "a sample of which nothing is touched": touching(),
            "the same and one number": touching("width"),
            "the same and one short text": touching("id"),
            "the same and the messages": touching("messages"),
            "the same and the image": touching("image"),
            "all columns but the image": touching(*SMALL),
            "all columns": touching(*COLUMNS),
            "`json.loads` of the messages": lambda i: json.loads(texts[i]),
            "`orjson.loads` of the messages": lambda i: orjson.loads(texts[i]),
            "`os.pread` of as many bytes as the image": lambda i: pread(file.fileno(), images[i], i * images[i] % span),
        }
        found: dict[str, float] = {}
        for name, part in parts.items():
            best = float("inf")
            for _ in range(3):
                start = time.process_time()
                for i in order:
                    part(i)
                best = min(best, (time.process_time() - start) / len(order))
            found[name] = best
    return found
