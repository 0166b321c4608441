"""Types of columns that Parquet, Arrow or one library alone has: kept, or refused with the reason."""

import datetime as dt
import json
import uuid

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jinx

IDS = [uuid.UUID(int=i + 1) for i in range(3)]
NOON = pa.Array.from_buffers(pa.date64(), 2, [None, pa.py_buffer((43_200_000).to_bytes(8, "little") * 2)])


@pytest.fixture
def duckdb_parquet(tmp_path):
    """UUID and JSON at top level and below, without an `ARROW:schema`."""
    path = tmp_path / "duckdb.parquet"
    rows = ", ".join(f"('{one}'::uuid, '{json.dumps({'n': i})}'::json)" for i, one in enumerate(IDS))
    duckdb.sql(
        f"copy (select u, j, [u] lu, {{'x': u, 'y': j}} s from (values {rows}) t(u, j)) to '{path}' (format parquet)"
    )
    assert b"ARROW:schema" not in path.read_bytes()
    return path


def logical_types(path):
    columns = pq.ParquetFile(path).schema
    return [json.loads(columns.column(i).logical_type.to_json())["Type"] for i in range(len(columns))]


@pytest.mark.parametrize("sidecar", [True, False])
def test_uuid_and_json_columns_stay_what_they_are(duckdb_parquet, tmp_path, sidecar):
    assert logical_types(duckdb_parquet) == ["UUID", "JSON", "UUID", "UUID", "JSON"]
    jinx.convert(duckdb_parquet, tmp_path / "a.jinx", sidecar=sidecar)
    ds = jinx.open(tmp_path / "a.jinx")
    assert [sample["u"] for sample in ds] == [one.bytes for one in IDS]
    assert [sample["j"] for sample in ds] == ['{"n": 0}', '{"n": 1}', '{"n": 2}']
    jinx.convert(tmp_path / "a.jinx", tmp_path / "b.parquet")
    jinx.convert(duckdb_parquet, tmp_path / "c.parquet")
    jinx.convert(ds, tmp_path / "d.parquet")
    for name in ("b", "c", "d"):
        path = tmp_path / f"{name}.parquet"
        assert logical_types(path) == ["UUID", "JSON", "UUID", "UUID", "JSON"]
        same = f"from '{path}' a join '{duckdb_parquet}' b on a.u = b.u and a.lu = b.lu and a.s.x = b.s.x"
        assert duckdb.sql(f"select count(*), any_value(typeof(a.u)), any_value(typeof(a.j)) {same}").fetchall() == [
            (3, "UUID", "JSON")
        ]


def test_views_of_uuid_columns_keep_the_type(duckdb_parquet, tmp_path):
    jinx.convert(duckdb_parquet, tmp_path / "a.jinx", columns=["u", "j"], rename={"u": "id"})
    jinx.convert(tmp_path / "a.jinx", tmp_path / "b.parquet")
    assert logical_types(tmp_path / "b.parquet") == ["UUID", "JSON"]
    assert pq.read_table(tmp_path / "b.parquet")["id"].to_pylist() == IDS


def test_a_column_that_is_json_in_one_file_only_is_text(duckdb_parquet, tmp_path):
    text = pa.table({"u": pa.array([IDS[0].bytes], pa.binary(16)), "j": ["not JSON"]})
    pq.write_table(text, tmp_path / "text.parquet")
    for order in ((duckdb_parquet, tmp_path / "text.parquet"), (tmp_path / "text.parquet", duckdb_parquet)):
        jinx.convert(order, tmp_path / "a.jinx", columns=["u", "j"], overwrite=True)
        jinx.convert(tmp_path / "a.jinx", tmp_path / "b.parquet", overwrite=True)
        assert logical_types(tmp_path / "b.parquet") == ["None", "String"]
        assert len(pq.read_table(tmp_path / "b.parquet")) == 4


def test_text_columns_of_other_encodings_open_as_before(tmp_path):
    """A type that has no JSON form in Arrow must not stop the file from being read."""
    table = pa.table(
        {
            "d": pa.array(["{}", "{}"]).dictionary_encode(),
            "v": pa.array(["{}", None], pa.string_view()),
            "l": pa.array(["{}", None], pa.large_string()),
            "j": pa.array(["{}", None], pa.json_(pa.large_string())),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    jinx.convert(tmp_path / "a.parquet", tmp_path / "a.jinx")
    jinx.convert(tmp_path / "a.jinx", tmp_path / "b.parquet")
    assert pq.read_table(tmp_path / "b.parquet").to_pylist() == table.to_pylist()
    assert logical_types(tmp_path / "b.parquet")[3] == "JSON"


@pytest.mark.parametrize("kind", [pa.binary(0), pa.list_(pa.binary(0)), pa.struct({"b": pa.binary(0)})])
def test_bytes_of_fixed_length_zero_are_refused_by_parquet_only(tmp_path, kind):
    value = {pa.binary(0): b"", pa.list_(pa.binary(0)): [b"", b""]}.get(kind, {"b": b""})
    table = pa.table({"a": pa.array([value, None], kind)})
    jinx.convert(table, tmp_path / "a.jinx")
    assert [sample["a"] for sample in jinx.open(tmp_path / "a.jinx", lazy=False)] == [value, None]
    assert jinx.open(tmp_path / "a.jinx").to_arrow().equals(table)
    for source in (table, tmp_path / "a.jinx"):
        with pytest.raises(jinx.UnsupportedError, match="fixed length 0; cast the column to binary") as caught:
            jinx.convert(source, tmp_path / "a.parquet")
        assert caught.value.column.startswith("a")
    assert not (tmp_path / "a.parquet").exists()


@pytest.mark.parametrize("kind", [pl.Int128, pl.List(pl.Int128), pl.Struct({"i": pl.Int128})], ids=str)
def test_integers_of_128_bits_are_unsupported_and_not_damage(tmp_path, kind):
    value = {pl.Int128: 1, pl.List(pl.Int128): [1]}.get(kind, {"i": 1})
    frame = pl.DataFrame({"i": [value]}, schema={"i": kind})
    frame.write_ipc(tmp_path / "a.arrow")
    frame.write_ipc_stream(tmp_path / "a.arrows")
    frame.write_parquet(tmp_path / "a.parquet")
    for source in (frame, *(tmp_path / f"a.{suffix}" for suffix in ("arrow", "arrows", "parquet"))):
        with pytest.raises(jinx.UnsupportedError, match="cast the column first"):
            jinx.convert(source, tmp_path / "a.jinx")


def test_dates_with_a_time_of_day_stay_exact_or_are_refused(tmp_path):
    table = pa.table({"d": NOON})
    jinx.convert(table, tmp_path / "a.jinx")
    assert jinx.open(tmp_path / "a.jinx")[0]["d"] == "1970-01-01T12:00:00.000"
    [chunk] = jinx.open(tmp_path / "a.jinx").to_arrow()["d"].chunks
    assert (chunk.type, chunk.view(pa.int64()).to_pylist()) == (pa.date64(), [43_200_000] * 2)
    for source in (table, tmp_path / "a.jinx"):
        with pytest.raises(jinx.MismatchError, match="needs a column of timestamps") as caught:
            jinx.convert(source, tmp_path / "a.parquet")
        assert (caught.value.sample, caught.value.column) == (0, "d")
    whole = pa.table({"d": pa.array([dt.date(2020, 1, 2)], pa.date64())})
    jinx.convert(whole, tmp_path / "b.parquet")
    assert pq.read_table(tmp_path / "b.parquet")["d"].to_pylist() == [dt.date(2020, 1, 2)]
