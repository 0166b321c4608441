"""Parts without samples say nothing about those of others, and conversions of nothing are not refused."""

import numpy as np
import pytest

import jinx

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

TYPES = {"i": "int32", "f": "float", "t": "timestamp[ms]"}


@pytest.fixture
def typed(tmp_path):
    time = np.datetime64("2024-02-29", "ms")
    columns = {"i": pa.array([1, 2], pa.int32()), "f": pa.array([0.5, 1], pa.float32())}
    table = pa.table({**columns, "t": pa.array([time, None], pa.timestamp("ms"))})
    jinx.convert(table, tmp_path / "typed.jinx", meta={"made": "by hand"})
    return tmp_path / "typed.jinx"


def types(schema):
    return {field.name: str(field.type) for field in schema}


@pytest.mark.parametrize("is_first", [False, True])
def test_a_file_without_samples_changes_no_type_of_others(typed, tmp_path, *, is_first):
    jinx.convert([], tmp_path / "empty.jinx")
    parts = [typed, tmp_path / "empty.jinx"][:: -1 if is_first else 1]
    jinx.concat(parts, tmp_path / "joined.jinx")
    joined = jinx.open(tmp_path / "joined.jinx")
    assert types(joined.to_arrow().schema) == TYPES
    assert joined.info().meta == {"made": "by hand"}
    jinx.convert(parts, tmp_path / "joined.parquet")
    assert types(pq.read_schema(tmp_path / "joined.parquet")) == TYPES


@pytest.mark.parametrize("is_first", [False, True])
def test_an_empty_saved_view_makes_no_column_of_others_its_own(typed, tmp_path, *, is_first):
    jinx.open(typed)[:0].save(tmp_path / "none.jinx")
    parts = [typed, tmp_path / "none.jinx"][:: -1 if is_first else 1]
    jinx.concat(parts, tmp_path / "joined.jinx", view=True)
    joined = jinx.open(tmp_path / "joined.jinx")
    assert joined.info().own_columns == []
    assert types(joined.to_arrow().schema) == TYPES
    assert joined.to_list() == jinx.open(typed).to_list()


def test_an_empty_view_without_a_column_hides_none_of_others(typed, tmp_path):
    jinx.open(typed).drop_columns("t")[:0].save(tmp_path / "none.jinx")
    (jinx.open(typed) + jinx.open(tmp_path / "none.jinx")).save(tmp_path / "joined.jinx")
    joined = jinx.open(tmp_path / "joined.jinx")
    assert joined.info().own_columns == []
    assert types(joined.to_arrow().schema) == TYPES


def test_a_part_with_one_more_column_changes_no_other_type(typed, tmp_path):
    plain = jinx.open(typed)
    more = plain.with_columns({"rank": np.array([3, 4], np.int16)})
    more.save(tmp_path / "more.jinx")
    jinx.convert(more, tmp_path / "copy.jinx")
    expected = {**TYPES, "rank": "int16"}
    values = [{**row, "rank": rank} for row, rank in zip(plain.to_list() * 2, (None, None, 3, 4), strict=True)]
    for name in ("more.jinx", "copy.jinx"):
        joined = plain + jinx.open(tmp_path / name)
        assert types(joined.to_arrow().schema) == expected
        assert joined.to_arrow()["rank"].to_pylist() == [row["rank"] for row in values]
        jinx.convert([typed, tmp_path / name], tmp_path / "joined.parquet", overwrite=True)
        table = pq.read_table(tmp_path / "joined.parquet")
        assert types(table.schema) == expected
        assert table["rank"].to_pylist() == [None, None, 3, 4]
        assert table["t"].to_pylist() == plain.to_arrow()["t"].to_pylist() * 2


def test_integers_of_two_widths_join_as_the_wider(typed, tmp_path):
    jinx.convert(pa.table({"i": pa.array([2**40], pa.int64())}), tmp_path / "wide.jinx")
    joined = jinx.open(typed) + jinx.open(tmp_path / "wide.jinx")
    assert types(joined.to_arrow().schema) == {**TYPES, "i": "int64"}
    assert joined.to_arrow()["i"].to_pylist() == [1, 2, 2**40]


def test_types_with_nothing_in_common_are_found_in_the_values(typed, tmp_path):
    jinx.convert(pa.table({"t": pa.array([1], pa.int8())}), tmp_path / "other.jinx")
    joined = jinx.open(typed) + jinx.open(tmp_path / "other.jinx")
    assert types(joined.drop_columns("t").to_arrow().schema)["i"] in {"int32", "int64"}
    with pytest.raises(jinx.MismatchError, match="t"):
        joined.to_arrow()


@pytest.mark.parametrize("option", ["where", "columns", "drop", "rename", "indexed"])
@pytest.mark.parametrize("source", ["copy.jinx", "shards", "nothing.jinx", "mds"])
def test_options_may_name_columns_of_a_dataset_without_samples(typed, tmp_path, source, option):
    none = jinx.open(typed)[:0]
    jinx.convert(none, tmp_path / "copy.jinx")
    jinx.convert(none, tmp_path / "shards")
    jinx.convert([], tmp_path / "nothing.jinx")
    jinx.convert(none, tmp_path / "mds", output_format="mds")
    options = {"where": "i > 1", "columns": ["i"], "drop": ["i"], "rename": {"i": "j"}, "indexed": ["i"]}
    assert jinx.convert(tmp_path / source, tmp_path / "out.jinx", **{option: options[option]}).samples == 0
    assert len(jinx.open(tmp_path / "out.jinx")) == 0


def test_names_are_checked_if_another_file_has_samples(typed, tmp_path):
    jinx.convert([], tmp_path / "empty.jinx")
    with pytest.raises(jinx.InvalidError, match="no row has a column 'x'"):
        jinx.convert([tmp_path / "empty.jinx", typed], tmp_path / "out.jinx", columns=["x"])
