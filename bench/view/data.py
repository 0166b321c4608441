"""Ten million samples with pictures, without the disk that they would take: few shards under many names."""

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinx

SHARD_SAMPLES = 50_000
RARE_WORD = "zyzzyva"
_RARE_PLACE = 40_000
_DIFFERENT = 8
_SOURCES = ("laion", "coyo", "cc12m", "docs")
_WORDS = ("boat", "house", "bird", "tree", "bridge", "lamp", "river", "street", "window", "garden")


def write(directory: Path, samples: int) -> Path:
    """A directory of shards; those after the first eight are other names of these."""
    from PIL import Image

    directory.mkdir()
    images = [_jpeg(Image, seed) for seed in range(64)]
    for number in range(-(-samples // SHARD_SAMPLES)):
        stem = directory / f"part-{number:05}"
        if number < _DIFFERENT:
            with jinx.Writer(stem.with_suffix(".jinx"), sidecar=True) as writer:
                for sample in _samples(number, images):
                    writer.write(sample)
        else:
            for suffix in (".jinx", ".binx"):
                os.link(directory / f"part-{number % _DIFFERENT:05}{suffix}", stem.with_suffix(suffix))
    return directory


def _jpeg(library: Any, seed: int) -> bytes:
    import io

    chance = random.Random(seed)
    image = library.new("RGB", (320, 240), tuple(chance.randrange(120, 250) for _ in range(3)))
    for _ in range(12):
        x, y = chance.randrange(300), chance.randrange(220)
        image.paste(tuple(chance.randrange(256) for _ in range(3)), (x, y, x + 60, y + 40))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=85)
    return out.getvalue()


def _samples(number: int, images: list[bytes]) -> Iterator[dict[str, Any]]:
    chance = random.Random(number)
    for i in range(SHARD_SAMPLES):
        yield {
            "id": f"{number}-{i}",
            "image": images[i % len(images)],
            "caption": " ".join(chance.choices(_WORDS, k=18)) + (f" {RARE_WORD}" if i == _RARE_PLACE else ""),
            "score": chance.random(),
            "aesthetic": chance.gauss(5, 1),
            "width": chance.choice([256, 320, 512, 640, 1024, 1280]),
            "source": chance.choices(_SOURCES, [8, 4, 2, 1])[0],
        }
