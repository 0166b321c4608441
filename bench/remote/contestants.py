"""One measurement by one contestant, in a process of its own.

    python -m bench.remote.contestants CASE CONTESTANT DIRECTORY PORT CACHE

DIRECTORY holds the data that the store at PORT serves; CACHE is a directory that the cases of one contestant share. It
prints the time, the CPU time and the bytes of images as JSON.
"""

import http.client
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench.remote.store import BUCKET

IN_ORDER, SHUFFLED, AGAIN = "first epoch, in order", "first epoch, shuffled", "second epoch, shuffled"
OPEN, FIRST, HALF = "open", "open and first sample", "epochs with a cache of half the data"
SEED, BATCH = 7, 64
RAW_BYTES, RAW_AT_ONCE = 8 << 20, 16
# The first epoch does not count.
HALF_EPOCHS = 3
Sizes = Iterator[int]
# What is opened before the time starts, if anything, and the images that are read afterwards.
Contestant = Callable[[str, Path, int, Path], Callable[[], Sizes]]


def files_of(directory: Path) -> list[Path]:
    """The files of our dataset."""
    return [directory / "media.jinx", directory / "media.binx"]


def raw(_: str, directory: Path, port: int, __: Path) -> Callable[[], Sizes]:
    """The files of our dataset by a plain HTTP client: 16 requests of 8 MiB at a time."""
    ranges = [
        (path.name, start, min(start + RAW_BYTES, path.stat().st_size))
        for path in files_of(directory)
        for start in range(0, path.stat().st_size, RAW_BYTES)
    ]
    idle: list[http.client.HTTPConnection] = []

    def fetch(piece: tuple[str, int, int]) -> int:
        name, start, end = piece
        connection = idle.pop() if idle else http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", f"/{BUCKET}/{name}", headers={"Range": f"bytes={start}-{end - 1}"})
        length = len(connection.getresponse().read())
        idle.append(connection)
        return length

    def run() -> Sizes:
        with ThreadPoolExecutor(RAW_AT_ONCE) as pool:
            yield from pool.map(fetch, ranges)

    return run


def jinx(case: str, directory: Path, _: int, cache: Path) -> Callable[[], Sizes]:
    """Ours."""
    import jinx

    half = sum(path.stat().st_size for path in files_of(directory)) // 2
    options: dict[str, Any] = {"cache_size": half} if case == HALF else {}

    def opened() -> Any:
        return jinx.open(f"s3://{BUCKET}/media.jinx", cache=cache, **options)

    if case in {OPEN, FIRST}:
        # Python's own imports are not what is measured.
        len(jinx.open(directory / "media.jinx")[0]["image"])
        return lambda: iter([len(opened()[0]["image"]) if case == FIRST else len(opened())])
    return _epochs(case, opened())


def local(case: str, directory: Path, _: int, __: Path) -> Callable[[], Sizes]:
    """Ours, with the files on this machine."""
    import jinx

    return _epochs(case, jinx.open(directory / "media.jinx"))


def _epochs(case: str, dataset: Any) -> Callable[[], Sizes]:
    from jinx.torch import Loader

    if case == IN_ORDER:
        return lambda: (len(sample["image"]) for sample in dataset)
    loader = Loader(dataset, BATCH, shuffle="blocks", seed=SEED, collate_fn=list)
    loader.set_epoch({AGAIN: 1}.get(case, 0))
    epochs = HALF_EPOCHS if case == HALF else 1
    return lambda: (len(sample["image"]) for _ in range(epochs) for batch in loader for sample in batch)


def litdata(case: str, _: Path, __: int, cache: Path) -> Callable[[], Sizes]:
    """litdata, without worker processes, as ours."""
    from litdata import StreamingDataset
    from litdata.streaming import downloader

    # The store here has no TLS, which litdata has no option for.
    downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = True  # noqa: SLF001
    os.environ["DATA_OPTIMIZER_CACHE_FOLDER"] = str(cache)
    options = {"endpoint_url": os.environ["AWS_ENDPOINT_URL"]}
    dataset = StreamingDataset(
        f"s3://{BUCKET}/chunks", shuffle=case != IN_ORDER, seed=SEED, cache_dir=str(cache), storage_options=options
    )
    return lambda: (len(sample["image"]) for sample in dataset)


def streaming(case: str, _: Path, __: int, cache: Path) -> Callable[[], Sizes]:
    """MosaicML Streaming, without worker processes, as ours."""
    from streaming import StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    clean_stale_shared_memory()
    dataset = StreamingDataset(
        remote=f"s3://{BUCKET}/mds",
        local=str(cache),
        batch_size=BATCH,
        shuffle=case != IN_ORDER,
        shuffle_seed=SEED,
        num_canonical_nodes=1,
    )
    return lambda: (len(sample["image"]) for sample in dataset)


def parquet(_: str, __: Path, port: int, ___: Path) -> Callable[[], Sizes]:
    """Parquet by pyarrow's dataset over an fsspec file system, in order."""
    import fsspec
    import pyarrow.dataset

    files = fsspec.filesystem("http")
    url = f"http://127.0.0.1:{port}/{BUCKET}/media.parquet"
    dataset = pyarrow.dataset.dataset(url, filesystem=files, format="parquet")

    def run() -> Sizes:
        for batch in dataset.to_batches(columns=["id", "image"], batch_size=BATCH):
            yield from (len(value) for value in batch.column("image").to_pylist())

    return run


CONTESTANTS: dict[str, Contestant] = {
    "raw": raw,
    "jinx": jinx,
    "local": local,
    "litdata": litdata,
    "streaming": streaming,
    "fsspec+pyarrow": parquet,
}


class Watched:
    """The size of a directory, looked at every few milliseconds.

    Attributes:
        largest: The largest sum of the sizes of its files, in bytes.
    """

    def __init__(self, directory: Path) -> None:
        self.directory, self.largest = directory, 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._ended.wait(0.05):
            self.largest = max(self.largest, sum(map(_size, self.directory.rglob("*"))))

    def end(self) -> None:
        """Stop looking."""
        self._ended.set()
        self._thread.join()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:  # it was removed meanwhile
        return 0


def main() -> None:
    """Measure."""
    case, contestant, directory, port, cache = sys.argv[1:]
    ready = CONTESTANTS[contestant](case, Path(directory), int(port), Path(cache))
    watched = Watched(Path(cache)) if case == HALF else None
    started, used = time.perf_counter(), os.times()
    total = sum(ready())
    wall, now = time.perf_counter() - started, os.times()
    found: dict[str, Any] = {"wall": wall, "cpu": sum(now[:4]) - sum(used[:4]), "bytes": total}
    if watched:
        watched.end()
        found["cache_bytes"] = watched.largest
    print(json.dumps(found))


if __name__ == "__main__":
    main()
