"""Datasets as Arrow tables, in the libraries that read them."""

import os

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import jinx
import samples

ALL = list(range(samples.COUNT))


@pytest.fixture(scope="module")
def ds(tmp_path_factory) -> jinx.Dataset:
    path = samples.write(tmp_path_factory.mktemp("arrow") / "a.jinx")
    return jinx.open(path).drop_columns("array")


def test_pyarrow(ds):
    table = ds.to_arrow()
    assert table.num_rows == samples.COUNT
    assert table["n"].to_pylist() == ALL
    assert table["image"].to_pylist() == [samples.sample(n)["image"] for n in ALL]
    assert table["messages"].to_pylist() == [samples.sample(n)["messages"] for n in ALL]
    assert table["score"].null_count == 5
    assert pa.schema(ds).equals(table.schema)
    assert pa.table(ds.select_columns(["n"])).column_names == ["n"]


def test_a_schema_is_inferred_without_reading_bytes(tmp_path):
    path = samples.write(tmp_path / "a.jinx", compression=None)
    sidecar = path.with_suffix(".binx")
    sidecar.write_bytes(sidecar.read_bytes().replace(samples.sample(1)["image"], samples.sample(1)["image"][::-1]))
    damaged = jinx.open(path, verify="full").drop_columns("array")
    assert pa.schema(damaged).field("image").type == pa.binary()
    with pytest.raises(
        jinx.errors.CorruptFileError, match="sample 1, column 'image': the value's checksum does not match"
    ):
        damaged.to_arrow()


def test_views_are_streamed_in_their_order(ds):
    assert ds[::-1].to_arrow(["n"])["n"].to_pylist() == ALL[::-1]
    empty = ds[:0].select_columns(["n"]).to_arrow()
    assert (empty.num_rows, empty.schema.names) == (0, ["n"])


def test_polars(ds):
    frame = pl.DataFrame(ds.select_columns(["n", "id", "meta"]))
    assert frame["n"].to_list() == ALL
    assert pl.DataFrame(ds)["image"].to_list()[1] == samples.sample(1)["image"]
    assert pl.from_arrow(ds).struct.field("n").to_list() == ALL


def test_duckdb_opens_the_stream_again_and_again(ds):
    rows = ds.select_columns(["n", "flag"])
    assert rows.column_names == ["n", "flag"]
    for _ in range(2):
        found = duckdb.sql("select flag, count(*), sum(n) from rows group by flag order by flag").fetchall()
        assert found == [(False, 25, sum(ALL[1::2])), (True, 25, sum(ALL[::2]))]


def test_sql_on_metadata_reads_no_image(chat_parquet, tmp_path):
    jinx.convert(chat_parquet, tmp_path / "a.jinx")
    ds = jinx.open(tmp_path / "a.jinx")
    expected = sum(sample["width"] > 300 for sample in ds)
    # Whatever is read from the sidecar from here on is an error.
    os.truncate(tmp_path / "a.binx", 64)
    rows = ds.select_columns(["id", "messages", "width"])
    assert duckdb.sql("select count(*) from rows where width > 300").fetchall() == [(expected,)]
    assert pl.DataFrame(rows).filter(pl.col("width") > 300).height == expected
    assert (pa.table(rows)["width"].to_pandas() > 300).sum() == expected
    assert len(ds.filter(ds["width"] > 300)) == expected
    with pytest.raises(jinx.JinxError, match=r"a\.binx"):
        ds[0]["image"]


def test_arrow_batches_have_the_size_asked_for(ds):
    batches = list(ds.iter_batches(20, columns=["n"], format="arrow"))
    assert [batch.num_rows for batch in batches] == [20, 20, 10]
    assert [n for batch in batches for n in batch["n"].to_pylist()] == ALL
    assert [batch.num_rows for batch in ds.iter_batches(20, format="arrow", remainder="drop")] == [20, 20]


def test_mapped_datasets(ds):
    mapped = ds.with_transform(lambda sample: {"twice": 2 * sample["n"]})
    assert mapped.to_arrow()["twice"].to_pylist() == [2 * n for n in ALL]
    assert pa.schema(mapped).names == ["twice"]


def test_mixed_types_are_an_error_or_json(tmp_path):
    with jinx.Writer(tmp_path / "mixed.jinx") as writer:
        writer.write_many([{"x": 1}, {"x": "a"}, {"x": [1]}])
    ds = jinx.open(tmp_path / "mixed.jinx")
    with pytest.raises(jinx.MismatchError, match=r"sample 1, \w+ 'x': "):
        ds.to_arrow()
    rows = ds.to_arrow(mixed="json")
    assert rows["x"].to_pylist() == ["1", '"a"', "[1]"]
    assert duckdb.sql("select x from rows where json_type(x) = 'ARRAY'").fetchall() == [("[1]",)]


def test_arrow_tables_are_converted(tmp_path):
    table = pa.table({"a": [1, None, 3], "b": [b"x" * 100, b"", None], "c": [[1.5], [], None]})
    jinx.convert(table, tmp_path / "a.jinx")
    ds = jinx.open(tmp_path / "a.jinx")
    assert ds.to_arrow().equals(table)
    assert [dict(sample) for sample in ds] == table.to_pylist()
    jinx.convert(pl.DataFrame({"a": [1, 2]}), tmp_path / "b.jinx")
    assert jinx.open(tmp_path / "b.jinx")["a"].tolist() == [1, 2]


def test_hugging_face(ds):
    pytest.importorskip("datasets")
    stream = ds.select_columns(["n", "id"]).to_hf(streaming=True)
    assert [row["n"] for row in stream] == ALL
    table = ds.select_columns(["n", "id"]).to_hf()
    assert table["n"][:] == ALL


def test_numbers_that_no_type_holds_are_named_where_they_are_found(tmp_path):
    for name, values in (("ints", [2**64 - 1, 5, -1, 7]), ("floats", [0.5, 1, 2**53 + 1, 2])):
        path = tmp_path / f"{name}.jinx"
        with jinx.Writer(path) as writer:
            writer.write_many({"v": value} for value in values)
        with pytest.raises(jinx.MismatchError, match=r"sample 2, column 'v': ") as raised:
            jinx.open(path).to_arrow()
        assert (raised.value.sample, raised.value.column) == (2, "v")
        with pytest.raises(jinx.MismatchError, match="column 'v': "):
            jinx.convert(path, tmp_path / "out.parquet")
    with jinx.Writer(tmp_path / "late.jinx") as writer:
        writer.write_many({"v": value} for value in (2**63, -1, 0.5))
    assert jinx.open(tmp_path / "late.jinx").to_arrow()["v"].to_pylist() == [2.0**63, -1.0, 0.5]
