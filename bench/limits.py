"""What the machine allows: `python -m bench.limits DIRECTORY` in ref's environment, over ref's store; prints JSON.

Every figure is the median of a few passes, warm, on one thread.
"""

import io
import json
import mmap
import os
import statistics
import sys
import time
from array import array
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

PASSES = 5
_BLOCK = 1 << 20
_COPY = 1 << 28
# One and the same would teach the processor its branches.
_PICTURES = 64
# Long compared with the start of a process.
_REPEATS = 10


def main() -> None:
    """Measure and print."""
    directory = Path(sys.argv[1])
    print(
        json.dumps({**_memory(), **_files(directory), **_objects(directory), **_codecs(directory), **_cores(directory)})
    )


def _seconds(job: Callable[[], Any]) -> float:
    times = []
    for _ in range(PASSES):
        before = time.perf_counter()
        job()
        times.append(time.perf_counter() - before)
    return statistics.median(times)


def _memory() -> dict[str, float]:
    import numpy as np

    source = np.ones(_COPY, np.uint8)
    target = np.empty_like(source)
    np.copyto(target, source)

    def fault() -> None:
        with mmap.mmap(-1, _COPY) as pages:
            memoryview(pages)[:: mmap.PAGESIZE].tolist()

    return {
        "memcpy_gb_s": _COPY / _seconds(lambda: np.copyto(target, source)) / 1e9,
        "page_fault_us": _seconds(fault) / (_COPY / mmap.PAGESIZE) * 1e6,
    }


def _files(directory: Path) -> dict[str, float]:
    images = directory / "images.bin"
    offsets = array("q", (directory / "offsets.bin").read_bytes())[1::2]
    size = images.stat().st_size
    buffer = bytearray(_BLOCK)
    with images.open("rb", buffering=0) as file:
        descriptor = file.fileno()

        def blocks() -> None:
            for start in range(0, size, _BLOCK):
                os.preadv(descriptor, [buffer], start)

        def values() -> None:
            for start, stop in pairwise(offsets):
                os.pread(descriptor, stop - start, start)

        def touch() -> None:
            with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as pages:
                for start, stop in pairwise(offsets):
                    pages[start:stop]

        blocks()
        count = len(offsets) - 1
        return {
            "pread_blocks_gb_s": size / _seconds(blocks) / 1e9,
            "pread_image_us": _seconds(values) / count * 1e6,
            "copy_image_from_fresh_map_us": _seconds(touch) / count * 1e6,
        }


def _objects(directory: Path) -> dict[str, float]:
    import orjson

    lines = (directory / "rows.jsonl").read_bytes().splitlines()

    def parse() -> None:
        for line in lines:
            orjson.loads(line)

    def loop() -> None:
        for _ in range(1_000_000):
            object()

    return {"json_line_us": _seconds(parse) / len(lines) * 1e6, "object_ns": _seconds(loop) * 1e3}


def _cores(directory: Path) -> dict[str, float]:
    """Cores that share an arithmetic unit, or their memory, do less together than one does as many times."""
    import orjson

    lines = (directory / "rows.jsonl").read_bytes().splitlines()
    cores = os.cpu_count() or 1

    def parse() -> None:
        for _ in range(_REPEATS):
            for line in lines:
                orjson.loads(line)

    def together() -> None:
        processes = [_forked(parse) for _ in range(cores)]
        for process in processes:
            os.waitpid(process, 0)

    return {"cores_gain": cores * _seconds(parse) / _seconds(together)}


def _forked(job: Callable[[], None]) -> int:
    process = os.fork()
    if process == 0:
        job()
        os._exit(0)
    return process


def _codecs(directory: Path) -> dict[str, float]:
    import numpy as np
    import zstandard
    from PIL import Image

    offsets = array("q", (directory / "offsets.bin").read_bytes())[1:400:2]
    whole = (directory / "images.bin").read_bytes()[: offsets[-1]]
    jpegs = [whole[start:stop] for start, stop in pairwise(offsets)]
    pictures = [_pixels(number) for number in range(_PICTURES)]
    frames = [zstandard.ZstdCompressor(level=3).compress(pixels) for pixels in pictures]
    size = sum(map(len, pictures))
    cores = os.cpu_count() or 1

    def unpack(frames: list[bytes]) -> None:
        decoder = zstandard.ZstdDecompressor()
        for frame in frames:
            decoder.decompress(frame)

    def decode(jpegs: list[bytes]) -> None:
        for jpeg in jpegs:
            np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB"))

    # Both let go of the GIL.
    with ThreadPoolExecutor(cores) as pool:

        def together(job: Callable[[list[bytes]], None], data: list[bytes]) -> float:
            return _seconds(lambda: list(pool.map(job, [data[core::cores] for core in range(cores)])))

        return {
            "zstd_decode_gb_s": size / _seconds(lambda: unpack(frames)) / 1e9,
            "zstd_decode_all_cores_gb_s": size / together(unpack, frames) / 1e9,
            "jpeg_decode_pillow_us": _seconds(lambda: decode(jpegs)) / len(jpegs) * 1e6,
            "jpeg_decode_pillow_all_cores_us": together(decode, jpegs) / len(jpegs) * 1e6,
        }


def _pixels(number: int) -> bytes:
    """As in bench.data: steps of 8, with grain in the upper part."""
    import numpy as np
    from PIL import Image

    draw = np.random.Generator(np.random.PCG64(number))
    raw = draw.integers(0, 256, (9, 12, 3), dtype=np.uint8)
    coarse = np.asarray(Image.fromarray(raw).resize((416, 416), Image.Resampling.BICUBIC)) // 8 * 8
    grain = draw.normal(0, 3, (416, 416, 1))
    grain[249:] = 0
    return np.clip(coarse + grain, 0, 255).astype(np.uint8).tobytes()


if __name__ == "__main__":
    main()
