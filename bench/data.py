"""The data: synthetic conversations about images, always the same, as Parquet like Hugging Face writes it.

A sample has a JPEG of about 47 kB, a conversation of 2 to 12 messages and four small columns, 1.25 kB as a JSON line.
In the other kinds the image is raw bytes: 416 x 416 x 3 as "pixels", 488 x 488 x 3 as "paper".
"""

import hashlib
import io
import json
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from bench.content import digest
from bench.peers.rows import parquet_rows

ROW_GROUP = 100
POOL = 256
# Side of the raw image in pixels, and the step between its shades: a coarser one is easier on zstd.
RAW = {"pixels": (416, 8), "paper": (488, 16)}
REVISION = 2
_WORDS = (  # noqa: SIM905 - words read better than a list of them
    "the a of in on with under above beside two three red green small large bright dark old young person dog cat "
    "horse bicycle car truck street field beach mountain kitchen table window sky tree water boat train sign "
    "umbrella ball standing sitting holding riding looking walking what where how many which colour picture shows "
    "appears likely because there are is and it while near left right behind front people group blue yellow white "
    "scene image "
).split()
_CONTENT = pa.struct([("type", pa.string()), ("text", pa.string())])
_MESSAGE = pa.struct([("role", pa.string()), ("content", pa.list_(_CONTENT))])
_IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("image", _IMAGE),
        ("messages", pa.list_(_MESSAGE)),
        ("source", pa.string()),
        ("width", pa.int64()),
        ("height", pa.int64()),
        ("score", pa.float64()),
    ]
)


@dataclass(frozen=True)
class Source:
    """A dataset as the systems get it."""

    kind: str
    samples: int
    parquet: Path
    snappy: Path
    digest: str
    row_bytes: float
    image_bytes: float

    @property
    def directory(self) -> Path:
        """The directory of the data and everything made from it."""
        return self.parquet.parent


def make(root: Path, kind: str, samples: int) -> Source:
    """Draw `samples` rows of "jpeg", "pixels" or "paper" below `root`, unless they stand there already."""
    directory = root / f"{kind}-{samples}-r{REVISION}"
    if not (directory / "data.json").exists():
        directory.mkdir(parents=True, exist_ok=True)
        _write_rows(directory / "data.parquet", _rows(kind, samples), "none")
        if kind == "jpeg":
            _write_rows(directory / "snappy.parquet", _rows(kind, samples), "snappy")
    return _described(directory, kind, samples)


def _described(directory: Path, kind: str, samples: int) -> Source:
    """Facts about the rows in a directory, found once."""
    about, parquet = directory / "data.json", directory / "data.parquet"
    if not about.exists():
        sizes = list(_sizes(parquet))
        facts = {
            "digest": digest(parquet_rows(parquet)),
            "row_bytes": sum(row for row, _ in sizes) / samples,
            "image_bytes": sum(image for _, image in sizes) / samples,
        }
        about.write_text(json.dumps(facts))
    return Source(kind, samples, parquet, directory / "snappy.parquet", **json.loads(about.read_text()))


def take(root: Path, files: list[Path]) -> Source:
    """The paper's own data, from local Parquet files of llava-instruct-mix-vsft: images decoded, as there."""
    directory = root / f"paper-{hashlib.sha256(' '.join(map(str, files)).encode()).hexdigest()[:12]}"
    if not (directory / "data.json").exists():
        directory.mkdir(parents=True, exist_ok=True)
        _write_rows(directory / "data.parquet", _decoded(files), "none")
    return _described(directory, "paper", pq.read_metadata(directory / "data.parquet").num_rows)


def _decoded(files: list[Path]) -> Iterator[dict[str, Any]]:
    rows = (row for path in files for batch in pq.ParquetFile(path).iter_batches(32) for row in batch.to_pylist())
    for index, row in enumerate(rows):
        picture = Image.open(io.BytesIO(row["images"][0]["bytes"])).convert("RGB")
        messages = [
            {"role": m["role"], "content": [{"type": c["type"], "text": c["text"]} for c in m["content"]]}
            for m in row["messages"]
        ]
        yield {
            "id": f"llava-{index:07d}",
            "image": {"bytes": picture.tobytes(), "path": None},
            "messages": messages,
            "source": "llava-instruct-mix-vsft",
            "width": picture.width,
            "height": picture.height,
            "score": 0.0,
        }


def described(source: Source) -> dict[str, Any]:
    """What the report says about it."""
    return {name: value for name, value in asdict(source).items() if not isinstance(value, Path)}


def _write_rows(path: Path, rows: Iterator[dict[str, Any]], compression: str) -> None:
    features = {"image": {"_type": "Image"}}
    schema = _SCHEMA.with_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    with pq.ParquetWriter(path, schema, compression=compression) as writer:
        while group := list(islice(rows, ROW_GROUP)):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))


def _sizes(parquet: Path) -> Iterator[tuple[int, int]]:
    for row in parquet_rows(parquet):
        image = row.pop("image")
        yield len(json.dumps(row, separators=(",", ":"))) + 1, len(image)


def _rows(kind: str, samples: int) -> Iterator[dict[str, Any]]:
    pool = [_picture(number, kind) for number in range(min(POOL if kind == "jpeg" else 32, samples))]
    for index in range(samples):
        draw = random.Random(index)
        image, width, height = pool[index % len(pool)]
        yield {
            "id": f"llava-{index:07d}",
            "image": {"bytes": _own(image, draw, kind), "path": f"{index:07d}.jpg"},
            "messages": chat(draw),
            "source": draw.choice(("coco/train2017", "gqa/images", "ocr_vqa/images", "textvqa/train_images")),
            "width": width,
            "height": height,
            "score": round(draw.betavariate(5, 2), 4),
        }


def _picture(number: int, kind: str) -> tuple[bytes, int, int]:
    """Smooth shapes with grain; raw pixels in 32 steps and with grain in the upper part, so that zstd finds a third."""
    draw = np.random.Generator(np.random.PCG64(number))
    side, step = RAW.get(kind, (0, 0))
    width, height = (side, side) if side else (int(draw.integers(336, 640)), int(draw.integers(288, 480)))
    coarse = Image.fromarray(draw.integers(0, 256, (9, 12, 3), dtype=np.uint8)).resize((width, height), 3)
    grain = draw.normal(0, 3 if side else 7, (height, width, 1))
    if side:
        grain[height * 3 // 5 :] = 0
        return _clipped(np.asarray(coarse) // step * step + grain).tobytes(), width, height
    out = io.BytesIO()
    pixels = _clipped(np.asarray(coarse) + grain)
    Image.fromarray(pixels).save(out, "JPEG", quality=int(draw.integers(78, 88)))
    return out.getvalue(), width, height


def _clipped(values: np.ndarray) -> np.ndarray:
    return np.clip(values, 0, 255).astype(np.uint8)


def _own(image: bytes, draw: random.Random, kind: str) -> bytes:
    """No two samples are equal: a comment segment of its own in a JPEG, another start of the raw bytes."""
    if kind in RAW:
        start = draw.randrange(len(image))
        return image[start:] + image[:start]
    comment = draw.randbytes(draw.randrange(16, 64))
    return image[:2] + b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment + image[2:]


def chat(draw: random.Random) -> list[dict[str, Any]]:
    """A conversation of 2 to 12 messages about an image."""
    messages = []
    for turn in range(draw.randint(1, 6)):
        question = {"type": "text", "text": _sentence(draw, 6, 16) + "?"}
        content = [{"type": "image", "text": None}, question] if turn == 0 else [question]
        messages.append({"role": "user", "content": content})
        answer = {"type": "text", "text": _sentence(draw, 8, 42) + "."}
        messages.append({"role": "assistant", "content": [answer]})
    return messages


def _sentence(draw: random.Random, least: int, most: int) -> str:
    return " ".join(draw.choices(_WORDS, k=draw.randint(least, most))).capitalize()
