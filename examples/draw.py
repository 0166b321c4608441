"""Generate a vision-language dataset: synthetic JPEG images with a conversation about each.

The Parquet file looks as Hugging Face `datasets` writes it: an image is a struct of bytes and path, messages are
nested lists, and the features are in the schema's metadata. The same arguments give the same rows.
"""

import io
import json
import os
import random
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image, ImageDraw

ROW_GROUP_SIZE = 500
COLOURS = {"red": "#c8402f", "green": "#3f8f4f", "blue": "#2f5fb8", "yellow": "#e3b93c", "purple": "#7a4a9e"}
SHAPES = ("circle", "square", "triangle")
SOURCES = ("synthetic/counting", "synthetic/colours", "synthetic/places")

_CONTENT = pa.struct([("type", pa.string()), ("text", pa.string())])
_MESSAGE = pa.struct([("role", pa.string()), ("content", pa.list_(_CONTENT))])
_IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def _value(dtype: str) -> dict[str, str]:
    return {"dtype": dtype, "_type": "Value"}


def _list(feature: dict[str, Any]) -> dict[str, Any]:
    return {"feature": feature, "_type": "List"}


_CONTENT_FEATURE = {"type": _value("string"), "text": _value("string")}
FEATURES = {
    "id": _value("string"),
    "image": {"_type": "Image"},
    "messages": _list(
        {"role": _value("string"), "content": _list({"type": _value("string"), "text": _value("string")})}
    ),
    "source": _value("string"),
    "width": _value("int64"),
    "height": _value("int64"),
    "score": _value("float64"),
}
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("image", _IMAGE),
        ("messages", pa.list_(_MESSAGE)),
        ("source", pa.string()),
        ("width", pa.int64()),
        ("height", pa.int64()),
        ("score", pa.float64()),
    ],
    metadata={"huggingface": json.dumps({"info": {"features": FEATURES}})},
)


def sample(index: int, seed: int = 0) -> dict[str, Any]:
    """One row: a drawing, and questions about it whose answers are true."""
    rng = random.Random(seed * 1_000_003 + index)
    width, height = rng.randrange(300, 481, 4), rng.randrange(200, 361, 4)
    objects = [(rng.choice(SHAPES), rng.choice(list(COLOURS))) for _ in range(rng.randint(2, 9))]
    return {
        "id": f"drawing-{seed}-{index:06d}",
        "image": {"bytes": _draw(rng, width, height, objects), "path": f"{index:06d}.jpg"},
        "messages": _chat(rng, objects),
        "source": rng.choice(SOURCES),
        "width": width,
        "height": height,
        "score": round(rng.betavariate(5, 2), 4),
    }


def write_parquet(path: Path, *, samples: int, seed: int = 0, processes: int = 1) -> None:
    """Write `samples` rows to `path`, `ROW_GROUP_SIZE` rows to the group, drawing in `processes` processes."""
    make = partial(sample, seed=seed)
    with pq.ParquetWriter(path, SCHEMA) as writer:
        if processes == 1:
            _write_groups(writer, map(make, range(samples)))
            return
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            _write_groups(writer, pool.map(make, range(samples), chunksize=50))


def available_cores() -> int:
    """The number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _write_groups(writer: pq.ParquetWriter, rows: Any) -> None:
    group: list[dict[str, Any]] = []
    for row in rows:
        group.append(row)
        if len(group) == ROW_GROUP_SIZE:
            writer.write_table(pa.Table.from_pylist(group, schema=SCHEMA))
            group.clear()
    if group:
        writer.write_table(pa.Table.from_pylist(group, schema=SCHEMA))


def _draw(rng: random.Random, width: int, height: int, objects: list[tuple[str, str]]) -> bytes:
    sky = Image.linear_gradient("L").resize((width, height), Image.Resampling.BILINEAR)
    tint = tuple(rng.randint(150, 255) for _ in range(3))
    image = Image.composite(Image.new("RGB", (width, height), tint), Image.new("RGB", (width, height), "white"), sky)
    grain = Image.frombytes("L", (width // 4, height // 4), rng.randbytes((width // 4) * (height // 4)))
    image = Image.blend(image, grain.resize((width, height), Image.Resampling.BILINEAR).convert("RGB"), 0.12)
    pen = ImageDraw.Draw(image)
    for shape, colour in objects:
        size = rng.randint(24, 72)
        x, y = rng.randint(0, width - size), rng.randint(0, height - size)
        box = (x, y, x + size, y + size)
        if shape == "circle":
            pen.ellipse(box, fill=COLOURS[colour], outline="black", width=2)
        elif shape == "square":
            pen.rectangle(box, fill=COLOURS[colour], outline="black", width=2)
        else:
            pen.polygon(
                [(x, y + size), (x + size, y + size), (x + size // 2, y)], fill=COLOURS[colour], outline="black"
            )
    out = io.BytesIO()
    image.save(out, "JPEG", quality=rng.randint(75, 92))
    return out.getvalue()


def _chat(rng: random.Random, objects: list[tuple[str, str]]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for turn in range(rng.randint(1, 3)):
        shape, colour = rng.choice(SHAPES), rng.choice(list(COLOURS))
        count = sum(1 for other in objects if other == (shape, colour))
        question = _text(f"How many {colour} {shape}s are in the picture?")
        content = [{"type": "image", "text": None}, question] if turn == 0 else [question]
        messages.append({"role": "user", "content": content})
        answer = f"There {'is' if count == 1 else 'are'} {count or 'no'} {colour} {shape}{'' if count == 1 else 's'}."
        if rng.random() < 0.3:  # noqa: PLR2004 - about a third of the answers also list everything
            answer += " All in all I see " + ", ".join(f"a {colour} {shape}" for shape, colour in objects) + "."
        messages.append({"role": "assistant", "content": [_text(answer)]})
    return messages


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
