"""The shards to read: conversations about images in three forms, raw pixels, and a directory of many shards."""

import json
import random
from itertools import pairwise
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
MANY_SHARDS = 10_000
_COMPRESSION = {"raw": None, "zstd": "zstd", "sample-zstd": "sample::zstd"}
_IMAGE_BYTES = 47_400
_PIXELS = (416, 416, 3)


def make(directory: Path, samples: int) -> None:
    """Write every form, pixels compressed one by one, and an index of many shards."""
    from jinx.mds import MDSWriter

    for form in FORMS:
        generator = random.Random(0)
        with MDSWriter(columns=COLUMNS, out=directory / form, compression=_COMPRESSION[form]) as writer:
            for number in range(samples):
                writer.write(_row(generator, number))
    noise = np.random.default_rng(0)
    with MDSWriter(columns={"pixels": "ndarray"}, out=directory / "pixels", compression="sample::zstd") as writer:
        for _ in range(max(samples // 20, 8)):
            steps = noise.integers(-2, 3, _PIXELS, dtype=np.int16).cumsum(axis=1)
            writer.write({"pixels": (steps % 256).astype(np.uint8)})
    with MDSWriter(columns={"id": "int"}, out=directory / "many", size_limit=1) as writer:
        for number in range(MANY_SHARDS):
            writer.write({"id": number})


def _row(generator: random.Random, number: int) -> dict[str, Any]:
    """A conversation about an image: 1 kB of JSON and 47 kB that do not compress, as JPEG files do not."""
    turns = generator.randrange(2, 13)
    messages = [
        {"role": ("user", "assistant")[turn % 2], "content": [{"type": "text", "text": f"turn {turn} " * 10}]}
        for turn in range(turns)
    ]
    size = int(generator.gauss(_IMAGE_BYTES, _IMAGE_BYTES / 5))
    return {
        "id": f"{number:08}",
        "messages": messages,
        "image": generator.randbytes(max(size, 1000)),
        "source": "synthetic",
        "width": generator.randrange(200, 1000),
        "height": generator.randrange(200, 1000),
        "score": generator.random(),
    }


def packed_pixels(directory: Path) -> list[bytes]:
    """The pixels' samples as they are stored."""
    index = json.loads((directory / "pixels" / "index.json").read_text())
    found: list[bytes] = []
    for shard in index["shards"]:
        data = (directory / "pixels" / shard["raw_data"]["basename"]).read_bytes()
        ends = np.frombuffer(data, "<u4", shard["samples"] + 1, 4).tolist()
        found += [data[start:end] for start, end in pairwise(ends)]
    return found
