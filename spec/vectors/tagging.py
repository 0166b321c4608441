"""Values as tagged JSON (see README.md), and the list of vectors."""

import base64
import json
import math
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
NUMBER_TYPES = {f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)} | {"float32", "float64"}


class Lists:
    """`depth` lists inside each other, the innermost empty; too deep to be written out."""

    def __init__(self, depth: int) -> None:
        self.depth = depth


def tag(value: object) -> object:
    """`value` as JSON; what JSON cannot say is an object with one member whose name starts with `$`."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, Lists):
        return {"$lists": value.depth}
    if isinstance(value, np.generic):
        if value.dtype.name in NUMBER_TYPES:
            return {"$np": {"dtype": value.dtype.name, "value": tag(value.item())}}
        return {"$np": {"dtype": value.dtype.str, "data": base64.b64encode(value.tobytes()).decode()}}
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else {"$int": str(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": str(value)}
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, np.ndarray):
        data = base64.b64encode(value.tobytes()).decode()
        return {"$ndarray": {"dtype": value.dtype.str, "shape": list(value.shape), "data": data}}
    if isinstance(value, list):
        return [tag(item) for item in value]
    if isinstance(value, dict):
        if any(key.startswith("$") for key in value):
            return {"$dict": [[key, tag(item)] for key, item in value.items()]}
        return {key: tag(item) for key, item in value.items()}
    raise TypeError(type(value))


def update(prefix: str, entries: list[dict]) -> None:
    """Puts `entries` into vectors.json in place of those whose names begin with `prefix`."""
    path = HERE / "vectors.json"
    old = json.loads(path.read_text(encoding="utf-8"))["vectors"] if path.exists() else []
    kept = [entry for entry in old if not entry["name"].startswith(prefix)] + entries
    lines = ",\n".join(json.dumps(entry, ensure_ascii=True) for entry in sorted(kept, key=lambda entry: entry["name"]))
    path.write_text('{"format": "jinx-vectors", "version": 1, "vectors": [\n' + lines + "\n]}\n", encoding="utf-8")
