"""Samples that hold every kind of value that JINX 1.0 can express."""

import numpy as np
import torch

LONG = "a long text that compresses well, "
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
ARRAYS = [*INTEGERS, "float16", "float32", "float64", "bool", "complex64", "<U5", "S3", "datetime64[ns]", ">i4"]


def _array(dtype: str) -> np.ndarray:
    return np.arange(6).reshape(2, 3).astype(dtype)


def _noise(size: int) -> bytes:
    return np.random.default_rng(size).bytes(size)


PLAIN = [
    {
        "none": None,
        "yes": True,
        "no": False,
        "zero": 0,
        "minus": -1,
        "low": -(2**63),
        "high": 2**63 - 1,
        "top": 2**64 - 1,
    },
    {"tenth": 0.1, "one": 1.0, "minus_zero": -0.0, "tiny": 5e-324, "huge": 1.7976931348623157e308, "e16": 1e16},
    {
        "": "empty name",
        "empty": "",
        "short": "x",
        "umlaut": "größe",
        "cjk": "漢字" * 30,
        "emoji": "👩‍🔬",
        "escapes": '"\\\n\t\0\x7f',
    },
    {"naïve name": 1, "with space": 2, 'quote"d': 3, "back\\slash": 4, "emoji 👩‍🔬": "text", "line\nbreak": 5},
    {"list": [], "ints": [1, 2, 3], "ragged": [[1], [], [2, [3.5, None]]], "dict": {}, "dicts": [{"t": "a"}, {}]},
    {
        "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}],
        "deep": {"a": {"b": {"c": [{}]}}},
    },
    {},
]
TEXTS = [
    {"text": LONG * 20, "nested": {"text": LONG * 3, "umlauts": "äöü" * 100}},
    {f"at {size}": "x" * size for size in (1, 63, 64, 65, 127, 128, 129, 199, 200, 201, 70_000)},
]
BINARY = [
    {
        "none": b"",
        "one": b"\0",
        "zeros": bytes(500),
        "noise": _noise(300),
        "text": b"text " * 50,
        "jpeg": b"\xff\xd8\xff" + _noise(99),
    },
    {f"at {size}": _noise(size) for size in (2, 3, 4, 5, 63, 64, 65, 199, 200, 201, 70_000)},
    {
        "": b"under the empty name",
        "nested": {"bytes": b"abc", "deeper": {"": _noise(250)}},
        "in dicts": [{"b": b"q" * 70}],
    },
    {dtype: _array(dtype) for dtype in ARRAYS},
    {
        "scalar array": np.array(3.5),
        "no rows": np.empty((0, 4)),
        "fortran": np.asfortranarray(_array("int32")),
        "large": np.zeros((30, 40)),
    },
    {f"low {dtype}": np.iinfo(dtype).min for dtype in INTEGERS}
    | {f"np low {dtype}": np.dtype(dtype).type(np.iinfo(dtype).min) for dtype in INTEGERS}
    | {f"np high {dtype}": np.dtype(dtype).type(np.iinfo(dtype).max) for dtype in INTEGERS},
    {"f4": np.float32(0.1), "f4 one": np.float32(1), "f4 max": np.finfo(np.float32).max, "f4 tiny": np.float32(1e-45)},
    {
        "floats": torch.arange(6.0).reshape(2, 3),
        "flags": torch.tensor([True, False]),
        "large": torch.zeros(500, dtype=torch.int64),
    },
    {"bf16": torch.ones(3, dtype=torch.bfloat16), "no rows": torch.empty(0), "in a dict": {"tensor": torch.tensor(7)}},
]
EVERYTHING = PLAIN + TEXTS + BINARY
