"""The rows of spec/vectors/exports: read as the page says, and written to the byte."""

import json
from pathlib import Path

import pytest

import jinx
from golden.tagged import difference, untag

VECTORS = Path(__file__).parents[2] / "spec" / "vectors" / "exports"
ROWS = [untag(row) for row in json.loads((VECTORS / "rows.json").read_text("utf-8"))]


@pytest.mark.parametrize("suffix", ["jsonl", "msgpack", "tar"])
def test_rows_in_other_formats(tmp_path, suffix):
    vector = VECTORS / f"rows.{suffix}"
    found = list(jinx.stream(vector))
    assert [difference(got, want) for got, want in zip(found, ROWS, strict=True) if difference(got, want)] == []
    if suffix == "jsonl":
        opened = [sample.to_dict() for sample in jinx.open(vector)]
        assert [difference(got, want) for got, want in zip(opened, ROWS, strict=True) if difference(got, want)] == []
    jinx.convert(ROWS, tmp_path / f"a.{suffix}")
    assert (tmp_path / f"a.{suffix}").read_bytes() == vector.read_bytes()
