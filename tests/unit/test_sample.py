"""A sample where a dict is expected: keys, views, cycles, lengths, and written back."""

import copy
import json

import msgpack
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

import jinx
import samples


@pytest.fixture
def ds(tmp_path) -> jinx.Dataset:
    return jinx.open(samples.write(tmp_path / "a.jinx", 8))


def test_views_run_backwards(ds):
    sample, expected = ds[3], samples.sample(3)
    assert list(reversed(sample.keys())) == list(reversed(expected))
    assert [name for name, _ in reversed(sample.items())] == list(reversed(expected))
    assert next(reversed(sample.values())) == expected["meta"]
    assert sample.keys() & {"n", "x"} == {"n"}


def test_a_missing_key_is_the_only_argument(ds):
    for key in ("nope", 3, ("a", "b"), "\ud800"):
        for look_up in (ds[3].__getitem__, ds[3].__delitem__, ds[3].pop):
            with pytest.raises(KeyError) as caught:
                look_up(key)
            assert caught.value.args == (key,)
    assert "\ud800" not in ds[3]
    assert ds[3].get("\ud800", 7) == 7
    with pytest.raises(KeyError):
        ds[3].length("\ud800")


def test_a_sample_that_holds_itself(ds, tmp_path):
    sample = ds[3]
    sample["self"] = sample
    assert "<LazyDict of 9>" in repr(sample)
    copied = copy.deepcopy(sample)
    assert copied["self"] is copied
    assert copied["messages"] is not sample["messages"]
    with jinx.Writer(tmp_path / "b.jinx") as writer, pytest.raises(jinx.LimitError):
        writer.write(sample)


def test_a_nested_sample_counts_as_depth(ds, tmp_path):
    value = ds[3]
    for _ in range(300):
        value = {"inner": value}
    with jinx.Writer(tmp_path / "b.jinx") as writer, pytest.raises(jinx.LimitError):
        writer.write(value)


@pytest.mark.parametrize("value", [1, 1.5, True, None, np.float64(2), np.int8(3), np.array(5.0), torch.tensor(3)])
def test_what_has_no_length_is_a_type_error(tmp_path, value):
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write({"x": value})
    sample = jinx.open(tmp_path / "a.jinx")[0]
    with pytest.raises(TypeError):
        sample.length("x")
    sample["x"]
    with pytest.raises(TypeError):
        sample.length("x")


def test_a_tensor_has_a_length(tmp_path):
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write({"x": torch.zeros(3, 4)})
    ds = jinx.open(tmp_path / "a.jinx")
    assert ds[0].length("x") == 3
    assert ds.lengths("x").tolist() == [3]


def test_repr_never_takes_stored_bytes_for_the_value(tmp_path):
    with jinx.Writer(tmp_path / "a.jinx", sidecar=False) as writer:
        writer.write({"zeros": bytes(100_000), "all": bytes(range(200)), "meta": {"big": b"x" * 5000}})
    sample = jinx.open(tmp_path / "a.jinx")[0]
    assert "'all': <bytes, 200 bytes>" in repr(sample)
    assert "bytes stored>" in repr(sample)
    sample.materialize()
    assert "'zeros': <bytes, 100000 bytes>" in repr(sample)
    assert "'meta': <dict of 1>" in repr(sample)


def test_notebooks_show_a_table(ds):
    assert ds[4]._repr_html_().startswith("<table ")


def file_names(path, index: int) -> list[str | None]:
    row = json.loads(jinx.open(path)[index].raw())
    return [value.get("path") for name, value in row.items() if name.startswith("image")]


def test_media_keep_their_file_names_when_other_columns_change(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    features = {"image": {"_type": "Image"}, "n": {"dtype": "int64", "_type": "Value"}}
    table = pa.table({"image": [{"bytes": bytes(range(250)) * 2, "path": "cat.jpg"}], "n": [1]})
    table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    pq.write_table(table, tmp_path / "in.parquet")
    jinx.convert(tmp_path / "in.parquet", tmp_path / "a.jinx")
    source = jinx.open(tmp_path / "a.jinx")
    touched, edited, both, other = source[0], source[0], source[0], source[0]
    touched["image"]
    edited["n"] = 2
    both["n"] = 2
    both["image"]
    other["image"] = b"another picture" * 20
    with jinx.Writer(tmp_path / "b.jinx", media={"image": "Image"}) as writer:
        writer.write_many([source[0], touched, edited, both, other])
    names = [file_names(tmp_path / "b.jinx", index) for index in range(5)]
    assert names == [["cat.jpg"]] * 4 + [[None]]
    assert jinx.open(tmp_path / "b.jinx")["n"].tolist() == [1, 1, 2, 2, 1]
    assert jinx.open(tmp_path / "b.jinx")[4]["image"] == b"another picture" * 20


def test_changes_in_place_are_written(ds, tmp_path):
    sample = ds[3]
    sample["meta"]["width"] = 99
    sample["messages"].append("new")
    sample["array"][:] = 0
    sample["n"] = 5
    with jinx.Writer(tmp_path / "b.jinx") as writer:
        writer.write(sample)
    again = jinx.open(tmp_path / "b.jinx")[0]
    assert samples.plain(again) == samples.plain(sample)
    assert again["meta"]["width"] == 99


def test_other_libraries_take_samples_as_dicts(tmp_path):
    rows = [{"n": 1, "meta": {"width": 3}, "tags": ["a"]}, {"n": 2, "meta": {"width": 4}, "tags": []}]
    jinx.convert(rows, tmp_path / "a.jinx")
    ds = jinx.open(tmp_path / "a.jinx")
    assert json.loads(json.dumps(ds[0].to_dict())) == json.loads(json.dumps(list(ds), default=dict))[0] == rows[0]
    assert msgpack.unpackb(msgpack.packb(ds[0], default=dict)) == rows[0]
    assert list(pd.json_normalize(ds.to_list())["meta.width"]) == [3, 4]
    assert pa.array(ds.to_list()).to_pylist() == rows
    assert pd.DataFrame(list(ds))["n"].tolist() == pa.Table.from_pylist(list(ds))["n"].to_pylist() == [1, 2]
