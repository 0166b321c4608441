"""What users give by mistake, or a little differently: refused by name, or understood."""

import collections
import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import jinx
import samples
from jinx._dataset.decode_media import MediaDecoder

THREADS = Path("/proc/self/task")


@pytest.fixture
def ds(tmp_path) -> jinx.Dataset:
    return jinx.open(samples.write(tmp_path / "a.jinx", 8))


@pytest.mark.parametrize("index", [8, -9, 10**30, -(10**30), np.uint64(2**63 + 5)])
def test_no_such_sample(ds, index):
    with pytest.raises(IndexError):
        ds[index]


def test_take_refuses_a_mask_and_unknown_columns(ds):
    with pytest.raises(TypeError, match="mask"):
        ds.take([True, False])
    with pytest.raises(KeyError, match="did you mean 'image'"):
        ds.take([1], columns=["imag"])
    assert [sample["n"] for sample in ds.take([2, -1], columns="n")] == [2, 7]


def test_sort_says_what_a_key_is(ds):
    with pytest.raises(TypeError, match=r"not by ndarray.*select\(positions\)"):
        ds.sort(np.arange(8))


def test_a_column_that_one_sample_lacks_may_be_taken(tmp_path):
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write_many([{"a": 1}, {"a": 2, "b": 3}])
    assert [dict(sample) for sample in jinx.open(tmp_path / "a.jinx").take([0, 1], columns=["b"])][1]["b"] == 3


def test_map_to_something_else_than_dicts(ds):
    numbers = ds.with_transform(len)
    assert list(numbers) == [8] * 8
    assert numbers.column_names == []
    assert numbers.schema == {}
    assert "8 samples" in repr(numbers)


def test_a_column_named_twice_is_one(ds):
    assert ds.select_columns(["n", "n"]).column_names == ["n"]


def test_integers_are_never_made_floats(tmp_path):
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write_many([{"n": -1}, {"n": 2**63}])
    assert jinx.open(tmp_path / "a.jinx")["n"] == [-1, 2**63]


def test_lengths_of_numbers_are_an_error(ds):
    for view in (ds, ds.with_transform(dict)):
        with pytest.raises(TypeError):
            view.lengths("n")


def test_lengths_of_decoded_media_are_those_of_the_bytes(tmp_path):
    with jinx.Writer(tmp_path / "a.jinx", media={"image": "Image"}) as writer:
        writer.write({"image": samples.PNG})
    assert jinx.open(tmp_path / "a.jinx", decode=True).lengths("image").tolist() == [len(samples.PNG)]


@pytest.mark.parametrize("path", [None, 5, object()])
def test_open_names_what_it_wants(path):
    with pytest.raises(TypeError, match="path or a list of paths"):
        jinx.open(path)


def test_open_refuses_an_open_file(ds):
    with open(ds.path, "rb") as file, pytest.raises(TypeError, match="a list of paths, not BufferedReader"):  # noqa: PTH123
        jinx.open(file)


def test_paths_may_be_bytes(tmp_path):
    path = os.fsencode(tmp_path / "a.jinx")
    with jinx.Writer(path) as writer:
        writer.write({"a": 1})
    assert jinx.open(path)["a"].tolist() == jinx.open([path])["a"].tolist() == [1]
    assert jinx.verify(path) == []
    assert jinx.repair(path, os.fsencode(tmp_path / "again.jinx"), dry_run=True).kept == 1
    assert list(jinx.stream(path)) == list(jinx.stream([path])) == [{"a": 1}]
    lines = os.fsencode(tmp_path / "a.jsonl")
    assert jinx.convert(os.fsdecode(path), lines).samples == 1  # as a source, bytes are data, and no dicts
    with pytest.raises(ValueError, match="empty path"):
        jinx.Writer("")


@pytest.mark.parametrize("spec", ["pil", 3, ["image"]])
def test_decode_names_what_it_wants(ds, spec):
    with pytest.raises(TypeError, match="decode="):
        ds.decode(spec)


def test_an_image_bomb_is_an_error_of_ours():
    with pytest.raises(jinx.LimitError, match="too large"):
        MediaDecoder("image", "pil")(b"P6 200000 200000 255\n" + bytes(40))


def test_an_undecodable_image_is_located(tmp_path):
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write_many([{"x": b"no picture" * 20}] * 3)
    sample = jinx.open(tmp_path / "a.jinx", decode={"x": "pil"})[2]
    with pytest.raises(jinx.CorruptFileError, match=r"a\.jinx: sample 2, column 'x': 200 bytes") as caught:
        sample["x"]
    assert (caught.value.sample, caught.value.column) == (2, "x")


def test_one_name_is_a_list_of_one(tmp_path):
    with jinx.Writer(tmp_path / "a.jinx", indexed="id", uncompressed="data") as writer:
        writer.write({"id": "x", "data": bytes(50_000)})
    assert (tmp_path / "a.binx").stat().st_size > 50_000
    columns = json.loads(jinx.open(tmp_path / "a.jinx")._footer(0))["columns"]
    assert (["id"], "value") in [(column["path"], column["kind"]) for column in columns]


def test_an_aborted_writer_leaves_its_block_quietly(tmp_path):
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write({"a": 1})
        writer.abort()
    assert list(tmp_path.iterdir()) == []


def test_a_writer_that_failed_at_the_end_leaves_nothing(tmp_path):
    too_deep: Any = bytes(1000)
    for _ in range(255):
        too_deep = {"d": too_deep}
    with pytest.raises(jinx.LimitError, match="sample 0") as caught, jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write({"d": too_deep})
    assert list(tmp_path.iterdir()) == []
    samples.write(tmp_path / "a.jinx", 1)
    assert caught.value.sample == 0


@pytest.mark.skipif(not THREADS.exists(), reason="needs /proc")
def test_absurd_numbers_of_threads_start_few(tmp_path):
    before = len(list(THREADS.iterdir()))
    with jinx.Writer(tmp_path / "a.jinx", threads=10**9) as writer:
        writer.write({"a": 1})
        assert len(list(THREADS.iterdir())) < before + 1000
    assert dict(jinx.open(tmp_path / "a.jinx")[0]) == {"a": 1}


STRUCTURED = np.zeros(2, [("a", "<i4"), ("b", "<f8")])


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (STRUCTURED, "dtype"),
        (STRUCTURED[0], "dtype"),
        (np.array([b"abc"], "V3"), "dtype"),
        (np.arange(2, dtype=np.longdouble), "dtype"),
        (np.longdouble(1), "dtype"),
        (np.ma.array([1, 2], mask=[0, 1]), "masked"),
        (torch.empty(3, device="meta"), "tensor"),
        (collections.deque([1]), "deque"),
    ],
)
def test_what_cannot_be_stored_is_named_at_once(tmp_path, value, what):
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        with pytest.raises(jinx.InvalidError, match=what) as caught:
            writer.write({"a": {"b": [0, value]}})
        assert caught.value.column == "a.b[1]"
        writer.write({"a": 1})
    assert len(jinx.open(tmp_path / "a.jinx")) == 1


def test_pickling_opens_no_shard_whose_entry_is_known(tmp_path):
    directory = samples.write(tmp_path / "out", 20, shard_size=3000)
    ds = jinx.open(directory)
    first, second = sorted(directory.glob("*.jinx"))[:2]
    second.unlink()
    again = pickle.loads(pickle.dumps(ds))
    assert len(again) == 20
    assert samples.plain(again[0]) == samples.plain(samples.sample(0))
    assert first.exists()


@pytest.mark.parametrize("option", ["limit", "threads"])
@pytest.mark.parametrize("number", [-1, 2**63, 2**70])
def test_counts_that_no_machine_has_are_named(ds, tmp_path, option, number):
    with pytest.raises(ValueError, match=f"^{option}={number} is out of range"):
        jinx.convert(ds, tmp_path / "out.jsonl", **{option: number})


@pytest.mark.parametrize(
    ("command", "arguments", "said"),
    [
        ("sort", {"by": 3}, "by=3 is neither a string nor several"),
        ("sort", {"by": [3]}, r"by=\[3\] is neither a string nor several"),
        ("sort", {"by": "n", "memory": 1.5}, r"memory=1\.5 is of type float, not int | str"),
        ("sort", {"by": "n", "descending": ["no"]}, "an entry of descending='no' is of type str, not bool"),
        ("sort", {"by": "n", "descending": "no"}, "descending='no' is of type str, not bool"),
        ("sort", {"by": "n", "workers": "2"}, "workers='2' is of type str, not int"),
        ("sort", {"by": "n", "natural": "no"}, "natural='no' is of type str, not bool"),
        ("sort", {"code": 3}, "code=3 is of type int"),
        ("shuffle", {"seed": "7"}, "seed='7' is of type str, not int"),
        ("shuffle", {"overwrite": "no"}, "overwrite='no' is of type str, not bool"),
        ("shuffle", {"progress": 3}, "progress=3 is of type int, not a function"),
        ("shuffle", {"where": 3}, "where=3 is of type int"),
        ("split", {"count": 2, "seed": "a"}, "seed='a' is of type str, not int"),
        ("split", {"count": 2.0}, r"count=2\.0 is of type float, not int"),
        ("split", {"samples": "2"}, "samples='2' is of type str, not int"),
        ("split", {"size": 1.5}, r"size=1\.5 is of type float"),
        ("split", {"fractions": 0.9}, r"fractions=0\.9: give the shares as"),
        ("split", {"fractions": "train=0.5"}, "fractions='train=0.5': give the shares as"),
        ("split", {"fractions": {1: 1.0}}, "give the shares as"),
        ("split", {"by": ["n"]}, r"by=\['n'\] is of type list, not str"),
        ("split", {"count": 2, "prefix": 3}, "prefix=3 is of type int, not str"),
        ("split", {"count": 2, "view": "no"}, "view='no' is of type str, not bool"),
        ("dedup", {"by": [3]}, r"by=\[3\] is neither a string nor several"),
        ("dedup", {"removed": 3}, "an output is named by a path, not by 3"),
        ("dedup", {"progress": 3}, "progress=3 is of type int, not a function"),
        ("compact", {"shard_size": 1.5}, r"shard_size=1\.5 is of type float"),
        ("select", {"positions": 3}, r"not by 3; of one: \[3\]"),
    ],
)
def test_types_are_refused_by_the_name_of_the_argument(ds, tmp_path, command, arguments, said):
    with pytest.raises(TypeError, match=said):
        getattr(jinx, command)(ds, tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()


def test_counts_of_numpy_are_counts(ds, tmp_path):
    assert len(jinx.split(ds, tmp_path / "out", count=np.int64(2), seed=np.uint8(3)).parts) == 2


def test_samples_are_no_input_of_whole_dataset_commands(ds, tmp_path):
    for source in ([{"i": 1}], {"i": 1}, 3, [3]):
        with pytest.raises(TypeError, match=r"inputs are datasets and paths, not (dict|int)"):
            jinx.split(source, tmp_path / "out", count=2)


def test_options_that_would_change_nothing(ds, tmp_path):
    with pytest.raises(ValueError, match="workers has no meaning without code"):
        jinx.sort(ds, tmp_path / "out", by="n", workers=2)
    with pytest.raises(ValueError, match="missing='drop' has no meaning without by"):
        jinx.dedup(ds, tmp_path / "out", missing="drop")


def test_sort_takes_several_keys(ds):
    def ordered(*keys, **more):
        return ds.map(lambda row: {"m": row["n"] % 3}).sort(list(keys), **more)["n"]

    by_m = lambda row: row["m"]  # noqa: E731
    by_n = lambda row: -row["n"]  # noqa: E731
    assert list(ordered(by_m, by_n)) == [6, 3, 0, 7, 4, 1, 5, 2]
    assert list(ordered(by_m, by_n, reverse=True)) == [2, 5, 1, 4, 7, 0, 3, 6]
    assert list(ds.sort(["id", "-n"])["n"]) == list(ds.sort("id")["n"])
    with pytest.raises(TypeError, match="not by list"):
        ds.sort([])
