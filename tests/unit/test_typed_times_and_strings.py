"""Own columns of saved views that are times, or strings with codes."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import jinx
from jinx._reference.reader import open_pairs

COUNT = 12
HOURS = np.datetime64("2024-02-28T22:00:00.250", "ms") + np.arange(COUNT) * np.timedelta64(1, "h")
TEXTS = [f"{text}" for text in HOURS]
LABELS = ["cat", "dog", None, "", "é", "cat", "cat", "dog", None, "bird", "cat", "é"]


@pytest.fixture
def base(tmp_path: Path) -> jinx.Dataset:
    with jinx.Writer(tmp_path / "base.jinx") as writer:
        writer.write_many({"n": i, "image": bytes([i]) * 90} for i in range(COUNT))
    return jinx.open(tmp_path / "base.jinx")


def footer_of(path: Path) -> dict:
    data = path.read_bytes()
    return json.loads(data[int(data.split()[-1]) :].split(b"\n")[0])


def saved(dataset: jinx.Dataset, path: Path, **columns: object) -> jinx.Dataset:
    dataset.with_columns(columns).save(path, overwrite=True)
    assert jinx.verify(path) == []
    return jinx.open(path)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_time_keeps_its_unit(base, tmp_path, unit):
    times = HOURS.astype(f"M8[{unit}]")
    view = saved(base, tmp_path / "view.jinx", at=times)
    assert footer_of(tmp_path / "view.jinx")["own"][0]["dtype"] == f"datetime64[{unit}]"
    assert view.column("at").dtype == times.dtype
    assert (view.column("at") == times).all()
    expected = [str(time) for time in times]
    assert [sample["at"] for sample in view] == expected
    assert [sample["at"] for sample in base.with_columns({"at": times})] == expected
    assert [sample["at"] for sample in open_pairs(tmp_path / "view.jinx")[0]] == expected


def test_times_without_a_value(base, tmp_path):
    times = HOURS.copy()
    times[3] = np.datetime64("NaT")
    view = saved(base, tmp_path / "view.jinx", at=times)
    assert view[3]["at"] is None
    column = view.column("at")
    assert column.mask.tolist() == [i == 3 for i in range(COUNT)]
    assert np.isnat(column.data[3])
    assert len(view.filter("at is None")) == 1


def test_days_become_seconds_and_other_times_are_no_typed_column(base, tmp_path):
    days = np.datetime64("1999-12-31") + np.arange(COUNT)
    view = saved(base, tmp_path / "view.jinx", at=days)
    assert view[1]["at"] == "2000-01-01T00:00:00"
    with pytest.raises(jinx.errors.InvalidError, match="at"):
        base.with_columns({"at": days.astype("M8[M]")}).save(tmp_path / "odd.jinx")


def test_times_are_mapped_and_not_copied(base, tmp_path):
    base.concat([base] * 400).with_columns({"at": np.resize(HOURS, 400 * COUNT)}).save(tmp_path / "view.jinx")
    view = jinx.open(tmp_path / "view.jinx")
    assert view.column("at").ctypes.data == view.column("at").ctypes.data
    assert not view.column("at").flags.writeable


def test_times_are_filtered_and_sorted_as_their_text(base, tmp_path):
    order = np.roll(np.arange(COUNT), 5)
    view = saved(base, tmp_path / "view.jinx", at=HOURS[order])
    for dataset in (view, base.with_columns({"at": HOURS[order]})):
        later = dataset.filter("at >= '2024-02-29'")
        assert sorted(sample["at"] for sample in later) == [text for text in TEXTS if text >= "2024-02-29"]
        assert [sample["at"] for sample in dataset.sort("at")] == TEXTS
        assert [sample["at"] for sample in dataset.sort("at", reverse=True)] == TEXTS[::-1]
    joined = view.concat([view, base.with_columns({"at": HOURS.astype("M8[s]")})])
    assert joined.sort("at")[0]["at"] == "2024-02-28T22:00:00"


def test_instants_of_arrow_and_pandas(base, tmp_path):
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    ticks = HOURS.astype("M8[us]").astype(np.int64).tolist()
    for zone, end, hours in (("UTC", "Z", 0), ("+05:30", "+05:30", 5.5), ("Europe/Berlin", "Z", 0)):
        values = pa.array([*ticks[:-1], None], pa.timestamp("us", zone))
        view = saved(base, tmp_path / "view.jinx", at=values)
        local = HOURS.astype("M8[us]") + np.timedelta64(int(hours * 60), "m")
        assert [sample["at"] for sample in view] == [*(f"{text}{end}" for text in local[:-1]), None]
        assert footer_of(tmp_path / "view.jinx")["own"][0]["zone"] == zone
        table = view.to_arrow(["at"])
        assert table.schema.field("at").type == values.type
        assert table["at"].to_pylist() == values.to_pylist()
        with jinx.Writer(tmp_path / "copy.jinx", overwrite=True) as writer:
            writer.copy(view)
        assert jinx.open(tmp_path / "copy.jinx")[1]["at"] == view[1]["at"]
    series = pd.Series(HOURS.astype("M8[ns]")).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    view = saved(base, tmp_path / "pandas.jinx", at=series)
    assert view[0]["at"] == "2024-02-28T22:00:00.250000000Z"
    assert footer_of(tmp_path / "pandas.jinx")["own"][0]["zone"] == "Asia/Tokyo"


def columns_of_strings() -> dict[str, object]:
    columns: dict[str, object] = {}
    try:
        import pyarrow as pa

        columns["arrow"] = pa.array(LABELS).dictionary_encode()
        columns["chunks"] = pa.chunked_array([pa.array(LABELS[:5]), pa.array(LABELS[5:])]).dictionary_encode()
    except ImportError:
        pass
    try:
        import pandas as pd

        columns["categorical"] = pd.Categorical(LABELS)
        columns["series"] = pd.Series(LABELS, dtype="category")
    except ImportError:
        pass
    try:
        import polars as pl

        columns["polars"] = pl.Series(LABELS, dtype=pl.Categorical)
    except ImportError:
        pass
    return columns


@pytest.mark.parametrize("name", ["arrow", "chunks", "categorical", "series", "polars"])
def test_strings_with_codes(base, tmp_path, name):
    values = columns_of_strings().get(name)
    if values is None:
        pytest.skip("the library is not there")
    view = saved(base, tmp_path / "view.jinx", label=values)
    own = footer_of(tmp_path / "view.jinx")["own"][0]
    assert (own["dtype"], own["entries"], own["nulls"]) == ("utf8", 5, 2)
    assert [sample["label"] for sample in view] == LABELS
    assert [sample["label"] for sample in base.with_columns({"label": values})] == LABELS
    assert view.column("label") == LABELS
    assert [sample["label"] for sample in open_pairs(tmp_path / "view.jinx")[0]] == LABELS
    assert view.schema["label"] == "str or None"
    assert pickle.loads(pickle.dumps(base.with_columns({"label": values}))).column("label") == LABELS


def test_what_reads_strings_reads_those_with_codes(base, tmp_path):
    pa = pytest.importorskip("pyarrow")
    view = saved(base, tmp_path / "view.jinx", label=pa.array(LABELS).dictionary_encode())
    assert view.filter("label == 'cat'").column("n").tolist() == [0, 5, 6, 10]
    assert view.filter("label in ('bird', 'é') and n > 4").column("n").tolist() == [9, 11]
    assert view.filter("len(label) == 3").column("n").tolist() == [0, 1, 5, 6, 7, 10]
    assert view.filter("label is None").column("n").tolist() == [2, 8]
    in_order = sorted(text for text in LABELS if text is not None)
    assert [sample["label"] for sample in view.sort("label")][: len(in_order)] == in_order
    assert view[::-1].column("label") == LABELS[::-1]
    part = view.select([9, 2, 9])
    part.save(tmp_path / "part.jinx")
    assert jinx.open(tmp_path / "part.jinx").column("label") == ["bird", None, "bird"]
    assert jinx.verify(tmp_path / "part.jinx") == []
    both = view + part
    assert both.column("label") == [*LABELS, "bird", None, "bird"]
    jinx.convert(tmp_path / "view.jinx", tmp_path / "copy.jinx")
    assert jinx.open(tmp_path / "copy.jinx").column("label") == LABELS
    view.with_columns({"at": HOURS}).save(tmp_path / "views", shard_size=100)
    view.with_columns({"at": HOURS}).save(tmp_path / "both.jinx")
    shards = jinx.open(tmp_path / "views")
    assert len(list((tmp_path / "views").glob("*.jinx"))) > 1
    assert (shards.column("label"), [sample["at"] for sample in shards]) == (LABELS, TEXTS)
    command = [sys.executable, "-m", "jinx", "cat", str(tmp_path / "both.jinx"), "--columns", "label,at"]
    lines = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    assert json.loads(lines[4]) == {"label": "é", "at": TEXTS[4]}


def test_arrow_has_a_dictionary(base, tmp_path):
    pa = pytest.importorskip("pyarrow")
    view = saved(base, tmp_path / "view.jinx", label=pa.array(LABELS).dictionary_encode())
    table = view.to_arrow()
    assert table.schema.field("label").type == pa.dictionary(pa.int8(), pa.string())
    assert table["label"].to_pylist() == LABELS
    assert table["n"].to_pylist() == list(range(COUNT))
    assert view[::2].to_arrow()["label"].to_pylist() == LABELS[::2]
    assert pa.table(view).to_pandas()["label"].astype(object).where(lambda x: x.notna(), None).tolist() == LABELS


def test_codes_of_more_strings_than_a_byte_tells_apart(base, tmp_path):
    pa = pytest.importorskip("pyarrow")
    many = base.concat([base] * 40)
    names = [f"name {i % 200}" for i in range(len(many))]
    view = saved(many, tmp_path / "view.jinx", name=pa.array(names).dictionary_encode())
    assert view.column("name") == names
    assert view.to_arrow(["name"]).schema.field("name").type == pa.dictionary(pa.int16(), pa.string())
    assert view.filter("name == 'name 199'").column("name") == ["name 199"] * 2


def test_a_dictionary_without_rows(tmp_path):
    pa = pytest.importorskip("pyarrow")
    with jinx.Writer(tmp_path / "none.jinx"):
        pass
    none = jinx.open(tmp_path / "none.jinx")
    for values in (
        pa.array([], pa.string()).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), pa.array(["a"])),
    ):
        added = none.with_columns({"x": values})
        assert list(added.column("x")) == []
        assert list(added.schema) == ["x"]
        added.save(tmp_path / "view.jinx", overwrite=True)
        assert list(jinx.open(tmp_path / "view.jinx").column("x")) == []


def test_a_dictionary_of_numbers_is_numbers(base, tmp_path):
    pa = pytest.importorskip("pyarrow")
    values = pa.array([1.5, None, 1.5] * 4).dictionary_encode()
    view = saved(base, tmp_path / "view.jinx", q=values)
    assert view.column("q").filled(0).tolist() == [1.5, 0.0, 1.5] * 4


def test_fixed_size_lists_of_arrow_are_vectors(base, tmp_path):
    pa = pytest.importorskip("pyarrow")
    numbers = np.arange((COUNT + 1) * 3, dtype=np.float32)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(numbers), 3)[1:]
    view = saved(base, tmp_path / "view.jinx", emb=lists)
    assert (view.column("emb") == numbers.reshape(-1, 3)[1:]).all()
    rows = [None if i == 2 else [i, i + 1] for i in range(COUNT)]
    view = saved(base, tmp_path / "null.jinx", emb=pa.array(rows, pa.list_(pa.int16(), 2)))
    assert view[2]["emb"] is None
    assert view[3]["emb"].tolist() == [3, 4]
    assert footer_of(tmp_path / "null.jinx")["own"][0]["width"] == 2
