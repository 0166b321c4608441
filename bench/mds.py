"""MDS readers beside each other: mosaicml-streaming's, MLDataForge's and ours, as Markdown.

Runs in the environment of `make test-streaming`: `PYTHONPATH=python .venv-streaming/bin/python -m bench.mds`.
Every measurement is a process of its own; the readers take turns, and the median of CPU time (user and system) counts.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

FORMS = ("raw", "zstd", "sample-zstd")
COLUMNS = {
    "id": "str",
    "messages": "json",
    "image": "bytes",
    "source": "str",
    "width": "int",
    "height": "int",
    "score": "float64",
}
SMALL = [name for name in COLUMNS if name != "image"]
COMPRESSION = {"raw": None, "zstd": "zstd", "sample-zstd": "sample::zstd"}
READERS: dict[str, tuple[str, ...]] = {
    "iterate": ("streaming", "mldf bulk", "mldf ram", "jinx bulk", "jinx ram"),
    "iterate, no image": ("streaming", "mldf bulk", "jinx bulk", "jinx ram"),
    "random": ("streaming", "mldf ram", "jinx ram"),
    "random, batches of 64": ("streaming", "mldf ram", "jinx ram"),
    "StreamingDataset[i]": ("streaming", "jinx patched"),
    "StreamingDataset, iterate": ("streaming", "jinx patched"),
    "DataLoader, 2 workers": ("streaming", "jinx patched"),
    "pixels": ("libzstd", "mldf ram", "jinx ram", "jinx take"),
}
IMAGE_BYTES = 47_400
PIXELS = (416, 416, 3)


def row(generator: random.Random, number: int) -> dict[str, Any]:
    """A chat about an image: 1.25 kB of JSON and 47 kB that do not compress, as JPEG files do not."""
    turns = generator.randrange(2, 13)
    messages = [
        {"role": ("user", "assistant")[turn % 2], "content": [{"type": "text", "text": f"turn {turn} " * 10}]}
        for turn in range(turns)
    ]
    size = int(generator.gauss(IMAGE_BYTES, IMAGE_BYTES / 5))
    return {
        "id": f"{number:08}",
        "messages": messages,
        "image": generator.randbytes(max(size, 1000)),
        "source": "drawn",
        "width": generator.randrange(200, 1000),
        "height": generator.randrange(200, 1000),
        "score": generator.random(),
    }


def make(folder: Path, samples: int) -> None:
    """Write every form, and pixels compressed one by one."""
    from jinx.mds import MDSWriter

    for form in FORMS:
        generator = random.Random(0)
        with MDSWriter(columns=COLUMNS, out=folder / form, compression=COMPRESSION[form]) as writer:
            for number in range(samples):
                writer.write(row(generator, number))
    noise = np.random.default_rng(0)
    with MDSWriter(columns={"pixels": "ndarray"}, out=folder / "pixels", compression="sample::zstd") as writer:
        for _ in range(max(samples // 20, 8)):
            steps = noise.integers(-2, 3, PIXELS, dtype=np.int16).cumsum(axis=1)
            writer.write({"pixels": (steps % 256).astype(np.uint8)})


def opened(reader: str, folder: Path, form: str, local: Path) -> Any:
    """The dataset of one reader."""
    path = folder / form
    if reader.startswith("jinx ") and reader != "jinx patched":
        from jinx.mds import BulkReader, RamReader

        return BulkReader(path) if reader == "jinx bulk" else RamReader(path, cache=local)
    if reader.startswith("mldf"):
        import shutil

        from mldataforge.mds import MDSBulkDatasetReader, MDSRAMDatasetReader

        if form == "zstd":  # it unpacks beside the source
            shutil.copytree(path, local / form)
            path = local / form
        return (MDSBulkDatasetReader if reader == "mldf bulk" else MDSRAMDatasetReader)([str(path)], None)
    from streaming import LocalDataset, StreamingDataset

    if reader == "jinx patched":
        from jinx.mds import patch_streaming

        patch_streaming()
    if form == "zstd" or reader == "jinx patched":
        return StreamingDataset(remote=str(path), local=str(local / "cache"), batch_size=1, shuffle=False)
    return LocalDataset(str(path))


def streaming_dataset(reader: str, folder: Path, form: str, local: Path) -> Any:
    """StreamingDataset over local files, with its own reader or ours."""
    from streaming import StreamingDataset

    if reader == "jinx patched":
        from jinx.mds import patch_streaming

        patch_streaming()
    if form == "raw":
        return StreamingDataset(local=str(folder / form), batch_size=1, shuffle=False)
    return StreamingDataset(remote=str(folder / form), local=str(local / "cache"), batch_size=1, shuffle=False)


def load(reader: str) -> None:
    """Import what a reader needs, which is not what is measured."""
    names = ["numpy.random", "jinx.mds.readers"]
    if reader.startswith("mldf"):
        names.append("mldataforge.mds")
    if not reader.startswith("jinx ") or reader == "jinx patched":
        names += ["streaming", "jinx.mds.streaming"]
    for name in names:
        import_module(name)


def touch(sample: Any, fields: Any) -> int:
    """Every field, one by one."""
    return sum(sample[name] is not None for name in fields)


def work(case: str, reader: str, dataset: Any, limit: int) -> int:  # noqa: C901, PLR0912 - one branch for each case
    """One measurement; the number of samples."""
    order = list(range(len(dataset)))
    random.Random(1).shuffle(order)
    order = order[:limit]
    if case == "pixels":
        if reader == "jinx take":
            for start in range(0, len(order), 64):
                for sample in dataset.take(order[start : start + 64]):
                    touch(sample, ("pixels",))
        else:
            for index in order:
                touch(dataset[index], ("pixels",))
    elif case == "random, batches of 64" and reader == "jinx ram":
        for start in range(0, len(order), 64):
            for sample in dataset.take(order[start : start + 64]):
                touch(sample, COLUMNS)
    elif case.startswith("random") or case == "StreamingDataset[i]":
        for index in order:
            touch(dataset[index], COLUMNS)
    elif case == "DataLoader, 2 workers":
        from torch.utils.data import DataLoader

        return sum(len(batch) for batch in DataLoader(dataset, batch_size=32, num_workers=2, collate_fn=list))
    else:
        fields = SMALL if case.endswith("no image") else list(COLUMNS)
        if reader.startswith("jinx ") and case.endswith("no image"):
            dataset = dataset.select_columns(fields)
        for sample in dataset:
            touch(sample, fields)
        return len(dataset)
    return len(order)


def libzstd(folder: Path) -> int:
    """Only decompresses the samples, with Python's binding of libzstd."""
    import zstandard

    index = json.loads((folder / "pixels" / "index.json").read_text())
    decompress = zstandard.ZstdDecompressor().decompress
    count = 0
    for shard in index["shards"]:
        data = np.memmap(folder / "pixels" / shard["raw_data"]["basename"], mode="r")
        ends = data[4 : 8 + 4 * shard["samples"]].view("<u4")
        for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            decompress(data[start:end])
            count += 1
    return count


def private_bytes() -> int:
    """Memory of this process that no file backs."""
    with open("/proc/self/smaps_rollup", encoding="ascii") as file:  # noqa: PTH123
        return sum(int(line.split()[1]) for line in file if line.startswith("Anonymous:")) * 1024


def measure(case: str, reader: str, form: str, folder: Path, limit: int) -> dict[str, float]:
    """Runs in a process of its own; CPU seconds and wall seconds of the work, private bytes gained, bytes on disk."""
    with tempfile.TemporaryDirectory(dir=folder) as work_folder:
        local = Path(work_folder)
        if case == "pixels" and reader == "libzstd":
            libzstd(folder)
            start, wall = cpu(), time.perf_counter()
            count = libzstd(folder)
            return {
                "cpu": (cpu() - start) / count,
                "wall": (time.perf_counter() - wall) / count,
                "memory": 0,
                "disk": 0,
            }
        is_streaming = case.startswith(("StreamingDataset", "DataLoader"))
        name = "jinx ram" if reader == "jinx take" else reader
        make_dataset = streaming_dataset if is_streaming else opened
        load(reader)
        before = private_bytes()
        # What is opened and unpacked counts too, for that is what a reader costs.
        start, wall = cpu(), time.perf_counter()
        dataset = make_dataset(name, folder, form, local)
        count = work(case, reader, dataset, limit)
        spent, waited = cpu() - start, time.perf_counter() - wall
        disk = sum(file.stat().st_size for file in local.rglob("*") if file.is_file())
        return {
            "cpu": spent / count,
            "wall": waited / count,
            "memory": max(private_bytes() - before, 0),
            "disk": disk,
        }


def cpu() -> float:
    """User and system seconds of this process and those it has waited for."""
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def child(arguments: list[str]) -> dict[str, float]:
    """One measurement in a fresh process."""
    command = [sys.executable, "-W", "ignore", "-m", "bench.mds", *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env={**os.environ, "BENCH_CHILD": "1"})
    return json.loads(done.stdout.splitlines()[-1])


def cases(form: str) -> list[str]:
    """What is measured of a form; stock readers cannot read samples that are compressed one by one."""
    names = [case for case in READERS if case != "pixels"]
    return names if form != "sample-zstd" else names[:4]


def readers_of(case: str, form: str) -> list[str]:
    """Who takes part."""
    return [name for name in READERS[case] if not (form == "sample-zstd" and name == "streaming")]


def report(folder: Path, limit: int, rounds: int) -> None:
    """The table of every case."""
    print("| shards | case | reader | us CPU | us wall | private MB | disk MB |\n|---|---|---|--:|--:|--:|--:|")
    plan = [(form, case) for form in FORMS for case in cases(form)] + [("pixels", "pixels")]
    for form, case in plan:
        names = READERS[case] if case == "pixels" else readers_of(case, form)
        found: dict[str, list[dict[str, float]]] = {name: [] for name in names}
        for _ in range(rounds):
            for name in names:
                found[name].append(child([case, name, form, str(folder), str(limit)]))
        for name, runs in found.items():
            middle = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
            print(
                f"| {form} | {case} | {name} | {middle['cpu'] * 1e6:.1f} | {middle['wall'] * 1e6:.1f} "
                f"| {middle['memory'] / 1e6:.0f} | {middle['disk'] / 1e6:.0f} |",
                flush=True,
            )


def main() -> None:
    """Command line."""
    if os.environ.get("BENCH_CHILD"):
        case, reader, form, folder, limit = sys.argv[1:]
        print(json.dumps(measure(case, reader, form, Path(folder), int(limit))))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=4000)
    parser.add_argument("--limit", type=int, default=4000, help="samples of a random case")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the shards are kept and found again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if not (folder / "pixels" / "index.json").exists():
            make(folder, options.samples)
        report(folder, options.limit, options.rounds)


if __name__ == "__main__":
    main()
