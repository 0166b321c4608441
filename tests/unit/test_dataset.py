"""Opening and indexing."""

import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import jinx
import samples
from jinx._suggest import FROM_ELSEWHERE


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return samples.write(tmp_path_factory.mktemp("dataset") / "a.jinx")


@pytest.fixture
def ds(path: Path) -> jinx.Dataset:
    return jinx.open(path)


@pytest.mark.parametrize("io", ["auto", "mmap", "pread"])
@pytest.mark.parametrize("verify", ["none", "rows", "full"])
def test_every_sample_comes_back(path, io, verify):
    ds = jinx.open(path, io=io, verify=verify)
    assert len(ds) == samples.COUNT
    assert [samples.plain(sample) for sample in ds] == [
        samples.plain(samples.sample(index)) for index in range(samples.COUNT)
    ]


def test_indexing_from_either_end(ds):
    assert ds[0]["n"] == 0
    assert ds[-1]["n"] == samples.COUNT - 1
    assert ds[np.int64(7)]["n"] == 7
    for index in (samples.COUNT, -samples.COUNT - 1):
        with pytest.raises(IndexError):
            ds[index]


def test_eager_samples_are_dicts(path):
    sample = jinx.open(path, lazy=False)[4]
    assert type(sample) is dict
    assert samples.plain(sample) == samples.plain(samples.sample(4))


def test_take_keeps_the_callers_order(ds):
    taken = ds.take([5, 3, 5, -1], columns=["n", "image"])
    assert [sample["n"] for sample in taken] == [5, 3, 5, samples.COUNT - 1]
    assert taken[1]["image"] == samples.sample(3)["image"]
    assert [sample["n"] for sample in ds.__getitems__([2, 1])] == [2, 1]


def test_writing_to_an_array_changes_no_other_sample(ds):
    array = ds[1]["array"]
    assert array.flags.writeable
    array[0, 0] = 99
    assert ds[1]["array"][0, 0] == 1


def test_unknown_keys_are_named_errors(ds):
    with pytest.raises(KeyError, match="did you mean 'score'"):
        ds["scroe"]
    with pytest.raises(TypeError, match="indexed by"):
        ds[1.5]
    with pytest.raises(TypeError, match="indexed by"):
        ds[None]


def test_columns_of_the_view_only(path):
    ds = jinx.open(path, columns=["n", "id"])
    assert ds.column_names == ["n", "id"]
    assert set(ds[0]) == {"n", "id"}
    with pytest.raises(KeyError, match="no column 'nn'"):
        jinx.open(path, columns=["nn"])


def test_a_list_a_directory_and_a_pattern(tmp_path):
    for number, count in ((2, 3), (10, 4)):
        samples.write(tmp_path / f"part-{number}.jinx", count)
    files = [tmp_path / "part-2.jinx", tmp_path / "part-10.jinx"]
    for source in (files, str(tmp_path / "part-*.jinx")):
        assert jinx.open(source)["n"].tolist() == [0, 1, 2, 0, 1, 2, 3]


def test_a_directory_of_shards(tmp_path):
    samples.write(tmp_path / "shards", shard_size=4000)
    ds = jinx.open(tmp_path / "shards")
    assert ds.info().shards > 1
    assert ds["n"].tolist() == list(range(samples.COUNT))
    assert "shards)" in repr(ds)


def test_plain_json_lines(tmp_path):
    path = tmp_path / "plain.jsonl"
    path.write_text('{"a": 1, "b.raw": "x"}\n{"a": 2}\n\n{"a": [3]}', "utf-8")
    ds = jinx.open(path)
    assert [dict(sample) for sample in ds][:2] == [{"a": 1, "b.raw": "x"}, {"a": 2}]
    assert ds["a"] == [1, 2, [3]]
    assert ds.column_names[0] == "a"


def test_a_missing_file_names_the_nearest(path):
    with pytest.raises(FileNotFoundError, match=r"did you mean 'a\.jinx'"):
        jinx.open(path.with_name("b.jinx"))
    with pytest.raises(FileNotFoundError, match="does not exist either"):
        jinx.open(path.parent / "nowhere" / "a.jinx")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        jinx.open(str(path.parent / "z*.jinx"))


def test_what_is_no_jinx_file_is_answered_with_a_command(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(jinx.UnsupportedError, match="jinx convert"):
        jinx.open(tmp_path / "a.parquet")
    pointer = tmp_path / "lfs.jinx"
    pointer.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "utf-8")
    with pytest.raises(jinx.JinxError, match="Git LFS"):
        jinx.open(pointer)
    with pytest.raises(jinx.UnsupportedError, match=r"run: jinx convert ftp://host/a\.jinx out\.jinx"):
        jinx.open("ftp://host/a.jinx")
    (tmp_path / "empty.jinx").touch()
    with pytest.raises(jinx.JinxError):
        jinx.open(tmp_path / "empty.jinx")
    with pytest.raises(ValueError, match=r"jinx: empty.jinx and 1 more, parquet: a.parquet"):
        jinx.open(tmp_path)


def test_equality_is_identity(ds):
    assert ds == ds  # noqa: PLR0124
    assert ds != ds[:]
    assert len({ds, ds}) == 1


def test_it_is_a_context_manager(path):
    with jinx.open(path) as ds:
        assert len(ds) == samples.COUNT


def test_info(ds):
    info = ds.info()
    assert info.samples == samples.COUNT
    assert info.version == "1.1"
    assert {column.name for column in info.columns} == set(samples.sample(0))
    assert info.checksums == ["rows", "values", "columns", "index", "footer"]


def loaded_by(code: str) -> set[str]:
    words = [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}; print(*sys.modules)"]
    return set(subprocess.run(words, check=True, capture_output=True, text=True).stdout.split())


def test_import_is_light():
    found = loaded_by("import jinx")
    assert "jinx._core" in found
    assert not found & {"numpy", "json", "typing", "click"}


def test_opening_loads_what_it_needs(path):
    found = loaded_by(f"import jinx; jinx.open({str(path)!r})[0]['n']")
    assert "jinx._dataset.selection" in found
    later = {f"jinx._dataset.{name}" for name in ("decode_media", "display", "export", "summary", "transforms")}
    assert not found & {"numpy", "json", "glob", "dataclasses", *later}


def test_every_public_name_exists():
    for name in jinx.__all__:
        assert getattr(jinx, name) is not None
    assert set(jinx.__all__) <= set(dir(jinx))
    with pytest.raises(AttributeError, match="no attribute 'opne'"):
        _ = jinx.opne


def test_names_of_other_libraries_are_answered(tmp_path):
    ds = jinx.open(samples.write(tmp_path / "other.jinx", 3))
    for name, advice in FROM_ELSEWHERE.items():
        assert not hasattr(jinx.Dataset, name), "it is ours by now"
        with pytest.raises(AttributeError, match=re.escape(f"no attribute {name!r}; use {advice}")):
            getattr(ds, name)
    assert getattr(ds, "nonsense", 1) == 1
    assert not hasattr(ds, "__dataframe__")


def test_addition_concatenates(tmp_path, ds):
    other = jinx.open(samples.write(tmp_path / "other.jinx", 3))
    assert (ds[:2] + other)["n"].tolist() == [0, 1, 0, 1, 2]
    assert len(sum([other, other], start=other)) == 9
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = ds + 1
    chosen = ds[:1] + other.select_columns("n")
    assert (len(list(chosen[0])), [list(sample) for sample in chosen[1:]]) == (len(ds.column_names), [["n"]] * 3)
    with pytest.raises(ValueError, match="differ in map or with_transform"):
        _ = ds + other.map(dict)
    mixed = ds[:2] + other.select_columns("n")
    assert [list(sample) == ["n"] for sample in mixed] == [False, False, True, True, True]
    assert mixed.column_names == ds.column_names


def test_what_works_on_a_list_works_here(ds):
    assert next(reversed(ds))["n"] == samples.COUNT - 1
    assert random.Random(1).choice(ds)["n"] < samples.COUNT
    assert len(random.choices(ds, k=3)) == 3
    assert len(ds[random.sample(range(len(ds)), 4)]) == 4
    assert pl.DataFrame(ds.select_columns(["n", "id"])).height == samples.COUNT


def test_polars_reads_arrow_and_no_objects(ds, monkeypatch):
    """A dataset that counted as a `collections.abc.Sequence` would be read by polars sample by sample."""
    asked: list[object] = []
    whole = jinx.Dataset.__arrow_c_stream__
    monkeypatch.setattr(jinx.Dataset, "__arrow_c_stream__", lambda self, schema=None: asked.append(self) or whole(self))
    pl.DataFrame(ds.select_columns("n"))
    assert asked
