"""The `json` columns of MDS hold what Python's `json.dumps` writes, byte for byte, whoever writes them."""

import itertools
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import jinx
from jinx.mds import MDSWriter

EDGES = [
    *(0.0, -0.0, 1e-5, 0.0001, 0.00012345, 9.999999999999999e-05, 1e15, 1e16, 9999999999999998.0, 1e22, 1e23, 5e-324),
    *(1.7976931348623157e308, 2.2250738585072014e-308, 123456789012345678.5, 0.1, 1e100, 1.5e-7, 2.0**70),
    *(float("nan"), float("inf"), float("-inf")),
]
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(-(10**40), 10**40) | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=30,
)


def stored(directory: Path) -> list[bytes]:
    """The values of the only column, as the only shard holds them."""
    data = (directory / "shard.00000.mds").read_bytes()
    count = int.from_bytes(data[:4], "little")
    ends = np.frombuffer(data, "<u4", count + 1, 4).tolist()
    return [data[start + 4 : end] for start, end in itertools.pairwise(ends)]


@settings(deadline=None, max_examples=150)
@given(values=st.lists(VALUES, min_size=1, max_size=5))
@example(values=EDGES)
@example(values=[[-value for value in EDGES]])
@example(values=[0, -1, 2**63 - 1, 2**63, -(2**63), 2**64, -(2**63) - 1, 10**4299])
@example(values=['\x00\x1f"\\/\b\f\n\r\t\x7f', "é\u2028\ufeff\U0001f600", {"é\n": "", "": []}, {}, [[]]])
def test_converted_json_is_pythons(values: list[Any]) -> None:
    # In a list, because a column of numbers alone is none of JSON.
    samples = [{"v": [value]} for value in values]
    wanted = [json.dumps([value]).encode() for value in values]
    with TemporaryDirectory() as work:
        jinx.convert(samples, Path(work, "converted.mds"))
        assert stored(Path(work, "converted.mds")) == wanted
        with MDSWriter(columns={"v": "json"}, out=Path(work, "written")) as writer:
            for sample in samples:
                writer.write(sample)
        assert stored(Path(work, "written")) == wanted
        # And once more by way of what was written.
        jinx.convert(Path(work, "written"), Path(work, "again.mds"))
        assert stored(Path(work, "again.mds")) == wanted
        found = [sample["v"] for sample in jinx.open(Path(work, "again.mds"))]
        assert repr(found) == repr([json.loads(text) for text in wanted])


@settings(deadline=None, max_examples=20)
@given(values=st.lists(st.floats(), min_size=200, max_size=400))
def test_floats_are_pythons(values: list[float]) -> None:
    with TemporaryDirectory() as work:
        jinx.convert([{"v": values}], Path(work, "converted.mds"))
        assert stored(Path(work, "converted.mds")) == [json.dumps(values).encode()]


def test_lone_surrogates_are_written_as_python_does_and_never_changed(tmp_path: Path) -> None:
    value = {"a": "\ud800", "\udfff": ["x\udc00y"]}
    with MDSWriter(columns={"v": "json"}, out=tmp_path / "d") as writer:
        writer.write({"v": value})
    assert stored(tmp_path / "d") == [json.dumps(value).encode()]
    assert jinx.open(tmp_path / "d")[0]["v"] == value
    with pytest.raises(jinx.JinxError, match="surrogate"):
        jinx.convert([{"v": value}], tmp_path / "e.mds")
    with pytest.raises(jinx.JinxError, match=r"column 'v': not valid JSON: .* escape"):
        jinx.convert(tmp_path / "d", tmp_path / "e.mds", rename={"v": "w"})
    jinx.convert(tmp_path / "d", tmp_path / "e.mds")
    assert stored(tmp_path / "e.mds") == [json.dumps(value).encode()]
