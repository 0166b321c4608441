"""Samples go through other formats and come back, and foreign lines come through as data, whatever they look like."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import jinx
from property.values import LEAVES, NAMES, same

RESERVED = ["$jinx", "$dict", "$bytes", "$float", "$npy", "$pt", "$np", "$file", "path", "bytes"]
FIELDS = ["__key__", "json", "jpg", "npy", "txt", "cls", "pyd", "mp", "pth", "Txt", "a.jpg"]
TEXTS = st.sampled_from(["AA==", "nan", "inf", "x", "a/b", "a.b", "1", "json", "txt"])
ANY_NAME = NAMES | st.sampled_from(RESERVED)
VALUES = st.recursive(
    LEAVES | TEXTS | st.just(1) | st.just(b"\xff\xd8\xff"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_NAME, inner, max_size=4),
    max_leaves=10,
)
SAMPLES = st.lists(st.dictionaries(ANY_NAME | st.sampled_from(FIELDS), VALUES, max_size=5), max_size=4)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS | st.just(1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_NAME, inner, max_size=3),
    max_leaves=8,
)


def numbers(value: Any) -> Any:
    """Numpy's scalars as other formats hold them: those with a JSON number as that number."""
    if isinstance(value, dict):
        members: dict[str, Any] = {**value}
        return {name: numbers(inner) for name, inner in members.items()}
    if isinstance(value, list):
        items: list[Any] = [*value]
        return [numbers(inner) for inner in items]
    is_number = isinstance(value, np.integer | np.float32) and value.dtype.isnative
    return value.item() if is_number else value


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(samples=SAMPLES, suffix=st.sampled_from(["jsonl", "jsonl.zst", "msgpack", "tar", "tar.gz"]))
def test_exports_come_back(samples, suffix):
    with TemporaryDirectory() as directory:
        path, out, back = (Path(directory) / name for name in ("a.jinx", f"a.{suffix}", "b.jinx"))
        with jinx.Writer(path) as writer:
            writer.write_many(samples)
        try:
            jinx.convert(path, out)
        except jinx.JinxError as error:
            assert "two samples in a row have the __key__" in str(error)  # noqa: PT017
            assume(False)
        jinx.convert(out, back)
        opened = [jinx.open(back), jinx.open(out)] if suffix == "jsonl" else [jinx.open(back)]
        for ds in opened:
            for got, expected in zip(ds, samples, strict=True):
                assert same(dict(got), numbers(expected)), (dict(got), expected)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(rows=st.lists(st.dictionaries(ANY_NAME, JSON, max_size=4), min_size=1, max_size=4))
def test_foreign_lines_are_data(rows):
    assume(not any(next(iter(row.items()), None) == ("$jinx", 1) for row in rows))
    with TemporaryDirectory() as directory:
        lines, array, back = (Path(directory) / name for name in ("a.jsonl", "b.json", "c.jinx"))
        lines.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
        array.write_text(json.dumps(rows), "utf-8")
        jinx.convert(lines, back)
        for found in (jinx.open(lines), jinx.open(back), jinx.stream(array)):
            assert all(same(dict(got), row) for got, row in zip(found, rows, strict=True))
