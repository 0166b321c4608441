"""The datasets, in the form that each contestant reads."""

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import jinx

IMAGE_BYTES = 47_000
ROWS_AT_ONCE = 1 << 20
# As the reader of bench/peers/mldataforge.py has it.
OLD_SIDECAR_BYTES = 1 << 14


def media_rows(count: int) -> Iterator[dict[str, Any]]:
    """Samples of 48 kB like those of a vision-language dataset: an image that does not compress, and its messages."""
    draw = random.Random(1)
    noise = draw.randbytes(16 << 20)
    words = [f"word{i}" for i in range(500)]
    for i in range(count):
        start = draw.randrange(len(noise) - IMAGE_BYTES)
        text = " ".join(draw.choices(words, k=60))
        yield {
            "id": f"sample-{i:08}",
            "image": b"\xff\xd8\xff" + i.to_bytes(8, "big") + noise[start : start + IMAGE_BYTES],
            "messages": [{"role": "user", "content": text}, {"role": "assistant", "content": text[::-1]}],
            "score": draw.random(),
        }


def make_media(place: Path, count: int, *, is_large: bool) -> None:
    """Media samples for all contestants; the large ones without MLDataForge's files."""
    place.mkdir(parents=True)
    with jinx.Writer(place / "in.jinx", compression=None) as writer:
        writer.write_many(media_rows(count))
    jinx.convert(place / "in.jinx", place / "in.parquet", compression="none")
    save_hugging_face(place)
    if is_large:
        return
    from mldataforge.utils import save_jinx

    for name in ("none", "zstd"):
        (place / f"old-{name}").mkdir()
        out = str(place / f"old-{name}" / "in.jinx")
        save_jinx(media_rows(count), out, compression=name, binary_threshold=OLD_SIDECAR_BYTES)


def make_rows(place: Path, count: int) -> None:
    """Small rows: an id, a float key and a short string."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    place.mkdir(parents=True)
    draw = np.random.Generator(np.random.PCG64(1))
    schema = pa.schema([("id", pa.int64()), ("score", pa.float64()), ("name", pa.string())])
    with pq.ParquetWriter(place / "in.parquet", schema) as writer:
        for start in range(0, count, ROWS_AT_ONCE):
            ids = np.arange(start, min(start + ROWS_AT_ONCE, count))
            names = [f"name {number % 9973}" for number in ids.tolist()]
            writer.write_table(pa.table([ids, draw.random(len(ids)), names], schema=schema))
    jinx.convert(place / "in.parquet", place / "in.jinx")
    save_hugging_face(place)


def save_hugging_face(place: Path) -> None:
    """The Parquet file as `save_to_disk` writes it, by a process of its own, so that its memory is not ours."""
    code = (
        "import sys; from datasets import Dataset; "
        "Dataset.from_parquet(sys.argv[1], cache_dir=sys.argv[2]).save_to_disk(sys.argv[3])"
    )
    paths = [place / "in.parquet", place / "cache", place / "hf"]
    subprocess.run([sys.executable, "-W", "ignore", "-c", code, *paths], check=True, capture_output=True)
