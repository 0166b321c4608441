"""Samples of every encoding, written by Streaming, and comparing what comes back."""

import io
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from streaming import MDSWriter

COLUMNS = {
    "b": "bytes",
    "s": "str",
    "i": "int",
    **{name: name for name in ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")},
    **{name: name for name in ("float16", "float32", "float64", "str_int", "str_float", "str_decimal", "json")},
    "nd": "ndarray",
    "nd_type": "ndarray:int16",
    "nd_fixed": "ndarray:float32:2,3",
    **{name: name for name in ("pil", "jpeg", "png", "jpeg_array", "list[pil]", "list[jpeg]", "list[png]")},
}
SMALL = {"id": "int", "text": "str", "data": "bytes", "value": "float32", "meta": "json"}


def picture(mode: str, seed: int) -> Image.Image:
    pixels = np.random.default_rng(seed).integers(0, 255, (12, 16, 4), dtype=np.uint8)
    return Image.fromarray(pixels, "RGBA").convert(mode)


def jpeg_bytes(seed: int) -> bytes:
    out = io.BytesIO()
    picture("RGB", seed).save(out, "JPEG")
    return out.getvalue()


def full(k: int) -> dict[str, Any]:
    generator = np.random.default_rng(k)
    unsigned = {f"uint{bits}": getattr(np, f"uint{bits}")(k) for bits in (8, 16, 32, 64)}
    signed = {f"int{bits}": getattr(np, f"int{bits}")(-k) for bits in (8, 16, 32, 64)}
    floats = {f"float{bits}": getattr(np, f"float{bits}")(k / 3) for bits in (16, 32, 64)}
    return {
        "b": bytes([k % 256]) * k,
        "s": "é" * (k % 7),
        "i": k - 5,
        **unsigned,
        **signed,
        **floats,
        "str_int": 10**30 + k,
        "str_float": k / 7,
        "str_decimal": Decimal("1.10") + k,
        "json": {"a": [1, 2.5, None, "\ud800" if k == 3 else "y", float("nan") if k == 4 else 1]},
        "nd": generator.random((k % 3 + 1, 300 if k == 5 else 2)),
        "nd_type": np.arange(k + 1, dtype=np.int16),
        "nd_fixed": np.full((2, 3), k, np.float32),
        "pil": picture("RGBA" if k % 2 else "L", k),
        "jpeg": picture("RGB", k),
        "png": picture("RGBA", k),
        "jpeg_array": [jpeg_bytes(j) for j in range(k % 3 + 1)],
        "list[pil]": [picture("RGB", k)] * (k % 2),
        "list[jpeg]": [picture("RGB", j) for j in range(k % 3)],
        "list[png]": [picture("L", k)],
    }


def small(k: int) -> dict[str, Any]:
    return {
        "id": k,
        "text": f"text {k}",
        "data": bytes([k % 256]) * (k % 50),
        "value": np.float32(k),
        "meta": {"k": [k]},
    }


def write(out: Path, make: Any, count: int, columns: dict[str, str], **options: Any) -> Path:
    """Streaming's own writer."""
    with MDSWriter(columns=columns, out=str(out), **{"size_limit": 20_000, **options}) as writer:
        for k in range(count):
            writer.write(make(k))
    return out


def write_small(out: Path, count: int = 200, **options: Any) -> Path:
    return write(out, small, count, SMALL, **{"size_limit": 2_500, **options})


def same(ours: Any, theirs: Any) -> bool:  # noqa: PLR0911 - one for each kind
    """Equal in type and content, all the way down."""
    if isinstance(theirs, Image.Image):
        return isinstance(ours, Image.Image) and (ours.mode, ours.size, ours.tobytes()) == (
            theirs.mode,
            theirs.size,
            theirs.tobytes(),
        )
    if type(ours) is not type(theirs):
        return False
    if isinstance(theirs, np.ndarray):
        return ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.tobytes() == theirs.tobytes()
    if isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(same(ours[name], theirs[name]) for name in theirs)
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(theirs, float | np.floating) and math.isnan(theirs):
        return math.isnan(ours)
    return bool(ours == theirs)


def differences(ours: list[Any], theirs: list[Any]) -> list[tuple[int, str]]:
    assert len(ours) == len(theirs)
    return [
        (i, name)
        for i, (mine, other) in enumerate(zip(ours, theirs, strict=True))
        for name in other
        if not same(mine[name], other[name])
    ]
