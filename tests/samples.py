"""A small dataset that has one field of every usual kind."""

from pathlib import Path
from typing import Any

import numpy as np

import jinx

COUNT = 50
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cf500f00038301804b"
    "5a3bd60000000049454e44ae426082"
)


def sample(index: int) -> dict[str, Any]:
    return {
        "id": f"s{index:03d}",
        "image": b"\xff\xd8\xff" + bytes(range(256)) * (index % 5),
        "score": None if index % 10 == 3 else index * 7 % 11 / 4,
        "n": index,
        "flag": index % 2 == 0,
        "messages": [{"role": "user", "content": "x" * k} for k in range(index % 4)],
        "array": np.arange(6, dtype=np.int16).reshape(2, 3) + index,
        "meta": {"width": index * 2, "source": "even" if index % 2 == 0 else "odd"},
    }


def write(path: Path, count: int = COUNT, **options: Any) -> Path:
    with jinx.Writer(path, **options) as writer:
        writer.write_many(sample(index) for index in range(count))
    return path


def plain(value: Any) -> Any:
    """The same with arrays as (dtype, shape, list), so that `==` compares everything."""
    if isinstance(value, np.ndarray):
        return ("ndarray", value.dtype.str, value.shape, value.tolist())
    if isinstance(value, dict | jinx.LazyDict):
        return {name: plain(value[name]) for name in value}
    if isinstance(value, list):
        return [plain(element) for element in value]
    return value
