"""The tagged JSON of spec/vectors: expected values back from their tags, and an exact comparison."""

import base64
import math

import numpy as np


def untag(value: object) -> object:
    """The value that a tagged JSON value stands for."""
    if isinstance(value, list):
        return [untag(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and next(iter(value)).startswith("$"):
        (name, content) = next(iter(value.items()))
        return DECODERS[name](content)
    return {key: untag(item) for key, item in value.items()}


def _ndarray(content: dict) -> np.ndarray:
    data = bytearray(base64.b64decode(content["data"]))
    return np.ndarray(tuple(content["shape"]), np.dtype(content["dtype"]), data)


def _scalar(content: dict) -> np.generic:
    dtype = np.dtype(content["dtype"])
    if "data" in content:
        return np.frombuffer(base64.b64decode(content["data"]), dtype)[0]
    return dtype.type(untag(content["value"]))


def _lists(depth: int) -> list:
    value: list = []
    for _ in range(depth - 1):
        value = [value]
    return value


DECODERS = {
    "$bytes": base64.b64decode,
    "$float": float,
    "$int": int,
    "$ndarray": _ndarray,
    "$np": _scalar,
    "$lists": _lists,
    "$dict": lambda pairs: {key: untag(item) for key, item in pairs},
}


def difference(got: object, want: object, path: str = "$") -> str | None:
    """Where two values differ in type, order of names or bits; None if they do not."""
    if type(got) is not type(want):
        return f"{path}: {type(got).__name__} instead of {type(want).__name__}"
    if isinstance(want, dict):
        if list(got) != list(want):
            return f"{path}: names {list(got)} instead of {list(want)}"
        pairs = [(f"{path}.{key}", got[key], want[key]) for key in want]
    elif isinstance(want, list):
        if len(got) != len(want):
            return f"{path}: {len(got)} elements instead of {len(want)}"
        pairs = [(f"{path}[{i}]", a, b) for i, (a, b) in enumerate(zip(got, want, strict=True))]
    else:
        return None if _same(got, want) else f"{path}: {got!r} instead of {want!r}"
    return next((found for place, a, b in pairs if (found := difference(a, b, place))), None)


def _same(got: object, want: object) -> bool:
    if isinstance(want, (np.ndarray, np.generic)):
        same = got.dtype == want.dtype and got.shape == want.shape
        if same and np.isnan(want).any() if want.dtype.kind in "fc" else False:
            return np.array_equal(got, want, equal_nan=True)
        return same and got.tobytes() == want.tobytes()
    if isinstance(want, float):
        return (got == want and math.copysign(1, got) == math.copysign(1, want)) or (
            math.isnan(got) and math.isnan(want)
        )
    return got == want
