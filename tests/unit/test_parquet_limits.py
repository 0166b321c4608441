"""What a Parquet file cannot hold is refused by name before anything is published; what is written can be read."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jinx


def nested(depth: int, kind: str) -> Any:
    value: Any = 7
    for _ in range(depth):
        value = [value] if kind == "list" else {"a": value}
    return value


@pytest.mark.parametrize(("kind", "most"), [("list", 49), ("dict", 60)])
@pytest.mark.parametrize("source", ["in.jsonl", "in.jinx"])
def test_values_that_are_nested_too_deep_are_refused(tmp_path: Path, kind: str, most: int, source: str):
    out = tmp_path / "out.parquet"
    for depth in (most, most + 1, 100):
        rows = [{"id": 1, "d": None}, {"id": 2, "d": nested(depth, kind)}]
        (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        jinx.convert(tmp_path / "in.jsonl", tmp_path / "in.jinx", overwrite=True)
        if depth == most:
            jinx.convert(tmp_path / source, out)
            assert pq.read_table(out).to_pylist() == rows
            jinx.convert(out, tmp_path / "back.jinx")
            assert [json.loads(json.dumps(dict(row))) for row in jinx.open(tmp_path / "back.jinx")] == rows
            out.unlink()
            continue
        place = r"line 2, column 'd': " if source == "in.jsonl" else r"sample 1, column 'd': "
        with pytest.raises(jinx.LimitError, match=place + "lists and dicts are nested too deep.* 49 lists .* 60 dicts"):
            jinx.convert(tmp_path / source, out)
        assert not out.exists()


def test_values_that_are_nested_too_deep_can_be_kept_as_json_text(tmp_path: Path):
    rows = [{"id": 1, "d": nested(90, "list")}]
    (tmp_path / "in.jsonl").write_text(f"{json.dumps(rows[0])}\n")
    jinx.convert(tmp_path / "in.jsonl", tmp_path / "out.parquet", mixed="json")
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 1
    jinx.convert(tmp_path / "out.parquet", tmp_path / "back.jinx")
    value: Any = jinx.open(tmp_path / "back.jinx")[0]["d"]
    depth = 0
    while isinstance(value, list):
        value, depth = value[0], depth + 1
    assert json.loads(value) == nested(90 - depth, "list")


def test_a_table_of_another_library_that_is_nested_too_deep_is_refused(tmp_path: Path):
    kind = pa.int64()
    for _ in range(55):
        kind = pa.list_(kind)
    table = pa.table({"id": [1], "d": pa.array([None], kind)})
    with pytest.raises(jinx.LimitError, match="column 'd': lists and dicts are nested too deep"):
        jinx.convert(table, tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize(("row", "name"), [({"a\0b": 1}, r"a\\u\{0\}b"), ({"a": [{"\0": 1}]}, r"a\.item\.\\u\{0\}")])
def test_a_name_with_nul_is_named_with_what_to_do(tmp_path: Path, row: dict[str, Any], name: str):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write(row)
    with pytest.raises(jinx.UnsupportedError, match=rf"column '{name}': .*NUL in its name; rename or drop"):
        jinx.convert(jinx.open(tmp_path / "in.jinx"), tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()
