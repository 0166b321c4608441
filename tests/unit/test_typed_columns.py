"""Own columns of saved views that are typed arrays: numbers, bools and vectors."""

import json
import math
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import jinx
from jinx._open import open as open_here
from jinx._reference.reader import UnsupportedError, open_pairs, parse_table
from jinx.errors import CorruptFileError, MismatchError

COUNT = 40
DTYPES = [
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    "float16",
    "float32",
    "float64",
]


@pytest.fixture
def base(tmp_path: Path) -> jinx.Dataset:
    with jinx.Writer(tmp_path / "base.jinx") as writer:
        writer.write_many({"n": i, "image": bytes([i]) * 90} for i in range(COUNT))
    # Not `jinx.open`: with `--remote`, saved views would name a URL, which commands and the second reader do not open.
    return open_here(tmp_path / "base.jinx")


def footer_of(path: Path) -> dict:
    data = path.read_bytes()
    return json.loads(data[int(data.split()[-1]) :].split(b"\n")[0])


def saved(dataset: jinx.Dataset, path: Path, **columns: object) -> jinx.Dataset:
    dataset.with_columns(columns).save(path)
    return jinx.open(path)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_number_keeps_its_type(base, tmp_path, dtype):
    values = (np.arange(COUNT) % 2 if dtype == "bool" else np.arange(COUNT)).astype(dtype)
    view = saved(base, tmp_path / "view.jinx", q=values)
    column = view.column("q")
    assert column.dtype == values.dtype
    assert (column == values).all()
    assert view[7]["q"] == values[7].item()
    assert type(view[7]["q"]) is type(values[7].item())
    footer = footer_of(tmp_path / "view.jinx")
    assert footer["features_required"] == ["view", "own_columns"]
    assert (footer["rows"], footer["own"][0]["dtype"]) == (0, dtype)
    assert [sample["q"] for sample in open_pairs(tmp_path / "view.jinx")[0]] == values.tolist()
    assert jinx.verify(tmp_path / "view.jinx") == []


def test_other_views_are_as_before(base, tmp_path):
    base[1:].save(tmp_path / "plain.jinx")
    saved(base, tmp_path / "rows.jinx", q=[1] * COUNT)
    for name in ("plain", "rows"):
        footer = footer_of(tmp_path / f"{name}.jinx")
        assert footer["features_required"] == ["view"]
        assert "own" not in footer


def test_missing_values(base, tmp_path):
    mask = np.arange(COUNT) % 3 == 0
    view = saved(base, tmp_path / "view.jinx", q=np.ma.MaskedArray(np.arange(COUNT, dtype=np.float32), mask=mask))
    assert view[3]["q"] is None
    assert view[4]["q"] == 4.0
    column = view.column("q")
    assert column.dtype == np.float32
    assert (column.mask == mask).all()
    assert len(view.filter("q is None")) == mask.sum()
    assert footer_of(tmp_path / "view.jinx")["own"][0]["nulls"] == mask.sum()
    assert jinx.verify(tmp_path / "view.jinx") == []


def test_odd_floats_are_kept_bit_by_bit(base, tmp_path):
    values = np.resize(np.array([np.nan, -0.0, np.inf, -np.inf, 1e-45], dtype=np.float32), COUNT)
    view = saved(base, tmp_path / "view.jinx", q=values)
    assert view.column("q").tobytes() == values.tobytes()
    assert math.isnan(view[0]["q"])
    assert math.copysign(1, view[1]["q"]) == -1
    assert view[3]["q"] == -math.inf


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint16"])
def test_vectors(base, tmp_path, dtype):
    values = np.arange(COUNT * 6).reshape(COUNT, 6).astype(dtype)
    view = saved(base.select(range(COUNT)[::-1]), tmp_path / "view.jinx", emb=values)
    column = view.column("emb")
    assert (column.dtype, column.shape) == (values.dtype, values.shape)
    assert (column == values).all()
    assert (view[5]["emb"] == values[5]).all()
    assert view[5]["emb"].dtype == values.dtype
    assert (open_pairs(tmp_path / "view.jinx")[0][5]["emb"] == values[5]).all()
    assert (view.select([8, 2]).column("emb") == values[[8, 2]]).all()
    open_here(tmp_path / "view.jinx").select([8, 2]).save(tmp_path / "part.jinx")
    assert (jinx.open(tmp_path / "part.jinx").column("emb") == values[[8, 2]]).all()
    assert jinx.verify(tmp_path / "part.jinx") == []


def test_vectors_are_mapped_and_not_copied(base, tmp_path):
    values = np.arange(COUNT * 600, dtype=np.float32).reshape(COUNT, 600)
    view = saved(base, tmp_path / "view.jinx", emb=values)
    first, second = view.column("emb"), view.column("emb")
    assert not first.flags.owndata
    assert not first.flags.writeable
    assert first.ctypes.data == second.ctypes.data
    del view, second
    assert (first == values).all()


def test_missing_vectors(base, tmp_path):
    values = np.ma.MaskedArray(np.ones((COUNT, 3), dtype=np.float16))
    values[5] = np.ma.masked
    view = saved(base, tmp_path / "view.jinx", emb=values)
    assert view[5]["emb"] is None
    assert view.column("emb").mask[5].all()
    assert not view.column("emb").mask[4].any()


def test_typed_columns_next_to_rows(base, tmp_path):
    columns = {"caption": [f"c{i}" for i in range(COUNT)], "q": np.arange(COUNT, dtype=np.float32)}
    view = saved(base, tmp_path / "view.jinx", **columns)
    assert footer_of(tmp_path / "view.jinx")["rows"] == COUNT
    assert view.column_names == ["n", "image", "caption", "q"]
    assert view[3].to_dict() == {"n": 3, "image": bytes([3]) * 90, "caption": "c3", "q": 3.0}
    assert view.filter("q > 37 and caption != 'c39'").column("n").tolist() == [38]
    again = saved(
        open_here(tmp_path / "view.jinx")[::2], tmp_path / "again.jinx", r=np.arange(COUNT // 2, dtype=np.int8)
    )
    assert again[2].to_dict() == {"n": 4, "image": bytes([4]) * 90, "caption": "c4", "q": 4.0, "r": 2}
    assert again.column("q").dtype == np.float32
    assert jinx.verify(tmp_path / "again.jinx") == []


def test_everything_that_reads_columns(base, tmp_path):
    values = np.roll(np.arange(COUNT, dtype=np.float32), 7)
    view = saved(base, tmp_path / "view.jinx", q=values, k=np.arange(COUNT, dtype=np.int16))
    assert view.sort("q").column("q").tolist() == sorted(values.tolist())
    assert len(view.filter("q >= 30")) == 10
    assert len(view.filter("q >= 30 and n < 10")) == sum(values[:10] >= 30)
    assert view.schema["q"] == "float"
    assert view.shuffle(seed=1)[:5].column("q").tolist() == [s["q"] for s in view.shuffle(seed=1)[:5]]
    clone = pickle.loads(pickle.dumps(view))
    assert clone.column("q").tobytes() == values.tobytes()
    jinx.convert(tmp_path / "view.jinx", tmp_path / "copy.jinx")
    assert jinx.open(tmp_path / "copy.jinx").column("q").tolist() == values.tolist()
    jinx.sort(tmp_path / "view.jinx", tmp_path / "sorted.jinx", by="q", view=True)
    assert jinx.open(tmp_path / "sorted.jinx").column("q").tolist() == sorted(values.tolist())


def test_arrow_has_the_types(base, tmp_path):
    pa = pytest.importorskip("pyarrow")
    emb = np.arange(COUNT * 4, dtype=np.float16).reshape(COUNT, 4)
    view = saved(base, tmp_path / "view.jinx", q=np.arange(COUNT, dtype=np.float32), emb=emb)
    table = pa.table(view.select_columns(["q", "emb"]))
    assert table.schema.field("q").type == pa.float32()
    assert table.schema.field("emb").type == pa.list_(pa.float16(), 4)
    assert table["emb"].combine_chunks().flatten().to_numpy().tolist() == emb.ravel().tolist()


def address(array, buffer=1):
    return array.buffers()[buffer].address + array.offset * (array.type.bit_width // 8)


def test_arrow_shares_the_mapped_bytes(base, tmp_path):
    pa = pytest.importorskip("pyarrow")
    many = base.concat([base] * 100)
    count = len(many)
    columns = {
        "q": np.arange(count, dtype=np.float32),
        "at": np.arange(count).astype("M8[us]"),
        "emb": np.arange(count * 8, dtype=np.float16).reshape(count, 8),
    }
    view = saved(many, tmp_path / "view.jinx", **columns)
    for consumed in (view.to_arrow(["q", "at", "emb"]), pa.table(view.select_columns(["q", "at", "emb"]))):
        assert [column.num_chunks for column in consumed.columns] == [1, 1, 1]
        for name in ("q", "at"):
            chunk = consumed[name].chunk(0)
            assert address(chunk) == view.column(name).ctypes.data
            assert (chunk.to_numpy() == columns[name]).all()
        lists = consumed["emb"].chunk(0)
        assert address(lists.values) == view.column("emb").ctypes.data
        assert (lists.values.to_numpy().reshape(count, 8) == columns["emb"]).all()
    mixed = view.to_arrow(["n", "q"])
    assert address(mixed["q"].chunk(1)) == view.column("q").ctypes.data + 4 * len(mixed["q"].chunk(0))
    assert mixed["n"].to_pylist() == list(range(COUNT)) * 100
    assert mixed["q"].to_pylist() == columns["q"].tolist()
    part = view[5:900:7].to_arrow(["emb", "q"])
    assert part["q"].to_pylist() == columns["q"][5:900:7].tolist()
    assert part["emb"].to_pylist() == columns["emb"][5:900:7].tolist()


def test_arrow_of_columns_with_missing_values(base, tmp_path):
    pytest.importorskip("pyarrow")
    mask = np.arange(COUNT) % 3 == 0
    vectors = np.ma.MaskedArray(np.ones((COUNT, 3), dtype=np.float32), mask=np.repeat(mask[:, None], 3, axis=1))
    flags = np.ma.MaskedArray(np.arange(COUNT) % 2 == 0, mask=mask)
    view = saved(base, tmp_path / "view.jinx", emb=vectors, flag=flags)
    for order in (slice(None), slice(3, 30), slice(None, None, -1)):
        table, shown = view[order].to_arrow(), np.arange(COUNT)[order]
        assert table["flag"].to_pylist() == [None if i % 3 == 0 else i % 2 == 0 for i in shown]
        assert table["emb"].to_pylist() == [None if i % 3 == 0 else [1.0] * 3 for i in shown]
        assert table["n"].to_pylist() == shown.tolist()


def test_torch_shares_the_mapped_bytes(base, tmp_path):
    torch = pytest.importorskip("torch")
    values = np.arange(COUNT * 8, dtype=np.float32).reshape(COUNT, 8)
    column = saved(base, tmp_path / "view.jinx", emb=values).column("emb")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the array is read-only
        tensor = torch.from_numpy(column)
    assert tensor.data_ptr() == column.ctypes.data
    assert (tensor.numpy() == values).all()


def test_other_libraries_see_typed_columns(base, tmp_path):
    values = np.arange(COUNT, dtype=np.float32)
    view = saved(base, tmp_path / "view.jinx", q=values, seen=np.arange(COUNT).astype("M8[s]"))
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    found = duckdb.sql("select count(*), max(seen) from view where q >= 30").fetchall()[0]
    assert found[0] == 10
    assert found[1].isoformat() == "1970-01-01T00:00:39"
    frame = polars.DataFrame(view)
    assert frame["q"].dtype == polars.Float32
    assert frame["q"].to_list() == values.tolist()
    assert frame["seen"].dtype == polars.Datetime("ms")
    pandas = view.to_pandas()
    assert pandas["q"].tolist() == values.tolist()
    assert pandas["seen"][1] == "1970-01-01T00:00:01"


def test_a_reader_without_the_feature_refuses_it_by_name(base, tmp_path):
    saved(base, tmp_path / "view.jinx", q=np.arange(COUNT, dtype=np.float32))
    data = (tmp_path / "view.jinx").read_bytes()
    footer = data[int(data.split()[-1]) :].split(b"\n")[0]
    with pytest.raises(UnsupportedError, match="own_columns"):
        parse_table(footer, "view")
    assert parse_table(footer, "view", "own_columns")[1]


def test_a_directory_of_views(base, tmp_path):
    values = np.arange(COUNT * 8, dtype=np.float32).reshape(COUNT, 8)
    base.with_columns({"emb": values}).save(tmp_path / "views", shard_size=400)
    assert len(list((tmp_path / "views").glob("*.jinx"))) > 2
    view = jinx.open(tmp_path / "views")
    assert (view.column("emb") == values).all()
    assert jinx.verify(tmp_path / "views") == []


def test_the_command_line(base, tmp_path):
    saved(base, tmp_path / "view.jinx", q=np.arange(COUNT, dtype=np.float32))
    command = [sys.executable, "-m", "jinx", "cat", str(tmp_path / "view.jinx"), "--columns", "n,q"]
    lines = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    assert json.loads(lines[4]) == {"n": 4, "q": 4.0}


def test_damage_is_found_where_it_is(base, tmp_path):
    values = np.arange(COUNT * 40_000, dtype=np.float32).reshape(COUNT, 40_000)
    saved(base, tmp_path / "view.jinx", emb=values)
    sidecar = tmp_path / "view.binx"
    data = bytearray(sidecar.read_bytes())
    data[-5] ^= 1
    sidecar.write_bytes(data)
    view = jinx.open(tmp_path / "view.jinx")
    assert (view[0]["emb"] == values[0]).all()
    with pytest.raises(CorruptFileError, match="emb"):
        view[COUNT - 1]["emb"]
    with pytest.raises(CorruptFileError, match="emb"):
        view.column("emb")
    assert jinx.verify(tmp_path / "view.jinx")


def test_a_vector_of_another_length_in_one_row_stays_a_value_of_its_row(base, tmp_path):
    vectors = [np.arange(3, dtype=np.float32) + i for i in range(COUNT)]
    vectors[7] = np.arange(5, dtype=np.float32)
    view = saved(base, tmp_path / "v.jinx", emb=vectors)
    assert "own_columns" not in footer_of(tmp_path / "v.jinx")["features_required"]
    assert [value.tolist() for value in view.column("emb")] == [value.tolist() for value in vectors]
    with pytest.raises(TypeError, match="'emb' does not hold vectors of one length"):
        view.nearest([1, 2, 3], "emb")
    with pytest.raises(TypeError, match="not stored as one array"):
        view.make_vector_index("emb")


@pytest.mark.local
def test_a_base_that_changed_is_refused(base, tmp_path):
    view = saved(base, tmp_path / "v.jinx", emb=np.eye(COUNT, dtype=np.float16), score=np.arange(COUNT))
    view.make_vector_index("emb")
    with jinx.Writer(tmp_path / "base.jinx", overwrite=True) as writer:
        writer.write_many({"n": i + 1, "image": bytes([i]) * 90} for i in range(COUNT))
    with pytest.raises(MismatchError, match=r"v\.jinx: .*base\.jinx is not the dataset"):
        jinx.open(tmp_path / "v.jinx")
