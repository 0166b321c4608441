"""The types of files that are read as one: those that hold the values of all."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest

import jinx

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ZONED = datetime(2024, 2, 29, 12, 30, 1, 250_000, tzinfo=UTC)
TIME = ZONED.replace(tzinfo=None)
CASES = [
    (pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("us"), TIME),
    (pa.timestamp("ns", "UTC"), pa.timestamp("ms", "UTC"), pa.timestamp("ns", "UTC"), ZONED),
    (pa.decimal128(10, 2), pa.decimal128(10, 4), pa.decimal128(12, 4), Decimal("-345678.25")),
    (pa.decimal128(38, 0), pa.decimal128(38, 20), pa.decimal256(58, 20), Decimal(10**17)),
]


@pytest.fixture(params=CASES, ids=lambda case: str(case[2]))
def case(request):
    return request.param


@pytest.mark.parametrize("suffix", ["jinx", "parquet"])
def test_units_and_decimals_join_without_loss(tmp_path, case, suffix):
    first, second, common, value = case
    files = [tmp_path / f"{number}.{suffix}" for number in range(2)]
    for file, kind in zip(files, (first, second), strict=True):
        jinx.convert(pa.table({"v": pa.array([value, None], kind)}), file)
    for order in (files, files[::-1]):
        jinx.convert(order, tmp_path / "joined.parquet", overwrite=True)
        joined = pq.read_table(tmp_path / "joined.parquet")["v"]
        assert joined.type == common
        assert joined.to_pylist() == pa.array([value, None] * 2, common).to_pylist()
    if suffix == "jinx":
        assert jinx.concat(map(jinx.open, files)).to_arrow()["v"].type == common


def test_a_time_beyond_a_finer_unit_is_an_error(tmp_path):
    far = ZONED.replace(year=9996)  # a leap year, too
    jinx.convert(pa.table({"v": pa.array([far], pa.timestamp("ms", "UTC"))}), tmp_path / "far.jinx")
    jinx.convert(pa.table({"v": pa.array([ZONED], pa.timestamp("ns", "UTC"))}), tmp_path / "near.jinx")
    with pytest.raises(jinx.MismatchError, match="'v'"):
        jinx.concat([jinx.open(tmp_path / "far.jinx"), jinx.open(tmp_path / "near.jinx")]).to_arrow()


def test_durations_of_two_units_are_refused_because_files_hold_their_numbers(tmp_path):
    files = [tmp_path / f"{unit}.jinx" for unit in ("s", "ns")]
    for file in files:
        jinx.convert(pa.table({"v": pa.array([5], pa.duration(file.stem))}), file)
    refused = pytest.raises(jinx.MismatchError, match=r"Duration\(ns\) here, and Duration\(s\) in the files before it")
    with refused:
        jinx.open(files).to_arrow()
    with refused:
        (jinx.open(files[0]) + jinx.open(files[1])).to_arrow()
    with refused:
        jinx.convert(files, tmp_path / "joined.parquet")
    assert not (tmp_path / "joined.parquet").exists()
    jinx.convert(jinx.open(files[0]), tmp_path / "more.jinx")
    joined = jinx.open([files[0], tmp_path / "more.jinx"]).to_arrow()
    assert joined["v"].type == pa.duration("s")


def test_class_labels_of_other_names_are_refused(tmp_path):
    names = {"a": ["no", "yes"], "b": ["yes", "no"], "c": ["no", "yes"]}
    for stem, labels in names.items():
        features = {"features": {"c": {"names": labels, "_type": "ClassLabel"}}}
        table = pa.table({"c": pa.array([0, 1])}).replace_schema_metadata(
            {"huggingface": json.dumps({"info": features})}
        )
        pq.write_table(table, tmp_path / f"{stem}.parquet")
        jinx.convert(tmp_path / f"{stem}.parquet", tmp_path / f"{stem}.jinx")
    with pytest.raises(jinx.MismatchError, match=r"b\.parquet.*'c'.*class labels \[\"yes\",\"no\"\] here"):
        jinx.convert([tmp_path / "a.parquet", tmp_path / "b.parquet"], tmp_path / "out.jinx")
    # Of JINX files, the numbers are kept, without names.
    joined = jinx.open([tmp_path / "a.jinx", tmp_path / "b.jinx"])
    assert b"huggingface" not in (joined.to_arrow().schema.metadata or {})
    equal = jinx.open([tmp_path / "a.jinx", tmp_path / "c.jinx"])
    assert b"huggingface" in equal.to_arrow().schema.metadata
