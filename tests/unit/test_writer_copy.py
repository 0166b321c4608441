"""`Writer.copy`: samples as they are stored."""

import datetime as dt
import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jinx
import jinx.mds
import samples

COUNT = 30
ONE_0 = Path(__file__).resolve().parents[2] / "spec" / "vectors" / "1_0"


@pytest.fixture
def ds(tmp_path: Path) -> jinx.Dataset:
    return jinx.open(samples.write(tmp_path / "source.jinx", COUNT))


def plain(samples_: Any) -> list[Any]:
    return [samples.plain(dict(sample)) for sample in samples_]


def copied(
    out: Path, ds: jinx.Dataset, *arguments: Any, options: dict[str, Any] | None = None, **more: Any
) -> jinx.Dataset:
    with jinx.Writer(out, **(options or {})) as writer:
        writer.copy(ds, *arguments, **more)
    assert jinx.verify(out) == []
    return jinx.open(out)


def rewritten(out: Path, rows: Any, **options: Any) -> jinx.Dataset:
    with jinx.Writer(out, **options) as writer:
        writer.write_many(rows)
    return jinx.open(out)


def same_files(one: Path, other: Path) -> None:
    """Both pairs, byte for byte; they have one name in two directories."""
    assert one.read_bytes() == other.read_bytes()
    sidecars = [path.with_suffix(".binx") for path in (one, other)]
    assert sidecars[0].exists() == sidecars[1].exists()
    if sidecars[0].exists():
        assert sidecars[0].read_bytes() == sidecars[1].read_bytes()


def some_positions(total: int = COUNT) -> list[int]:
    """In no order, some again and some not at all."""
    choice = random.Random(total)
    return [choice.randrange(total) for _ in range(total)]


OPTIONS: list[dict[str, Any]] = [
    {},
    {"compression": None},
    {"sidecar": False},
    {"sidecar": False, "compression": None},
    {"compression": "zstd:9"},
    {"binary_threshold": 400},
    {"compress_threshold": 0, "compress_ratio": 1.5},
    {"string_threshold": 2},
    {"uncompressed": ["array"]},
    {"indexed": ["id", "meta.width"]},
    {"only_indexed": ["n"]},
    {"shard_size": "3kB"},
]


def name_of(options: dict[str, Any]) -> str:
    return ",".join(f"{name}={value}" for name, value in options.items()) or "as it is"


@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
@pytest.mark.parametrize("positions", [None, some_positions(), []], ids=["all", "some", "none"])
def test_a_copy_is_what_writing_the_samples_again_gives(positions, options, ds, tmp_path):
    """Values that are stored need not be compressed again, so their bytes are compared where the form is the same."""
    out = "set" if "shard_size" in options else "set.jinx"
    for name in ("copied", "written"):
        (tmp_path / name).mkdir()
    chosen = range(COUNT) if positions is None else positions
    copy = copied(tmp_path / "copied" / out, ds, positions, options=options)
    again = rewritten(tmp_path / "written" / out, [samples.sample(n) for n in chosen], **options)
    assert plain(copy) == plain(again) == plain(samples.sample(n) for n in chosen)
    assert copy.info().indexed == again.info().indexed
    assert copy.schema == again.schema
    if options in ({}, {"indexed": ["id", "meta.width"]}, {"only_indexed": ["n"]}):
        same_files(tmp_path / "copied" / out, tmp_path / "written" / out)


@pytest.mark.parametrize(
    "stored", [{}, {"sidecar": False}, {"compression": None}, {"binary_threshold": 400}], ids=name_of
)
@pytest.mark.parametrize(
    "wanted", [{}, {"sidecar": False}, {"compression": None}, {"binary_threshold": 400}], ids=name_of
)
def test_from_one_form_to_another(stored, wanted, tmp_path):
    source = jinx.open(samples.write(tmp_path / "source.jinx", COUNT, **stored))
    copy = copied(tmp_path / "copy.jinx", source, some_positions(), options=wanted)
    assert plain(copy) == plain(samples.sample(n) for n in some_positions())
    assert (tmp_path / "copy.binx").exists() is ("sidecar" not in wanted)


@pytest.mark.parametrize("name", sorted(path.name for path in ONE_0.iterdir() if path.suffix == ".jinx"))
def test_files_of_1_0(name, tmp_path):
    source = jinx.open(ONE_0 / name)
    positions = some_positions(len(source)) if len(source) else []
    copy = copied(tmp_path / "copy.jinx", source, positions)
    # A float64 of 1.0 is a float of 1.1, also when it is written sample by sample.
    assert repr(plain(copy)) == repr(plain(rewritten(tmp_path / "again.jinx", source[positions])))  # NaN
    assert copy.info().version == "1.1"


def test_lines_and_mds(tmp_path):
    text = ['{"a":1, "b":[1.50, 1e3, {"c":"\\u00e9"}]}', '{"a":12345678901234567890, "b":null}', '{"a":-0.0}']
    (tmp_path / "a.jsonl").write_text("\n".join(text) + "\n", "utf-8")
    lines = jinx.open(tmp_path / "a.jsonl")
    copy = copied(tmp_path / "lines.jinx", lines, [2, 0, 1, 1])
    assert plain(copy) == plain(lines[[2, 0, 1, 1]])
    columns = {"id": "str", "n": "int", "array": "ndarray", "data": "bytes", "more": "json"}
    with jinx.mds.MDSWriter(out=str(tmp_path / "mds"), columns=columns, size_limit=900) as writer:
        for n in range(20):
            writer.write(
                {"id": f"{n}", "n": n, "array": np.arange(n + 1), "data": bytes(n * 9), "more": {"a": [n, None]}}
            )
    source = jinx.open(tmp_path / "mds")
    assert plain(copied(tmp_path / "from_mds.jinx", source, some_positions(20))) == plain(source[some_positions(20)])


def test_several_sources_one_after_another(ds, tmp_path):
    other = jinx.open(samples.write(tmp_path / "other", 10, shard_size="1kB"))
    with jinx.Writer(tmp_path / "copy.jinx") as writer:
        writer.copy(ds, [3])
        writer.write({"id": "between"})
        writer.copy(other[::-1])
        writer.copy(ds, [])
        assert writer.samples == 12
    assert [sample["id"] for sample in jinx.open(tmp_path / "copy.jinx")] == [
        "s003",
        "between",
        *(f"s{n:03d}" for n in reversed(range(10))),
    ]


def test_positions_of_every_form_and_of_views(ds, tmp_path):
    view = ds[::-1][5:15]
    for number, positions in enumerate(
        [[0, -1], slice(0, 10, 9), np.array([0, 9]), range(0, 10, 9), np.arange(10) % 9 == 0]
    ):
        copy = copied(tmp_path / f"{number}.jinx", view, positions)
        assert [sample["n"] for sample in copy] == [24, 15]


# Columns.


def test_replaced_and_dropped_columns(ds, tmp_path):
    values = {
        "score": [n / 8 for n in range(4)],
        "ints": np.arange(4, dtype=np.uint8),
        "masked": np.ma.MaskedArray(np.arange(4.0), mask=[True, False, True, False]),
        "rows": np.arange(8, dtype=np.int16).reshape(4, 2),
        "image": [b"x" * 500] * 4,
        "nested": [{"a": [n, b"bytes"]} for n in range(4)],
        "arrow": pa.array(["a", None, "c", "d"]),
        "chunked": pa.chunked_array([[[1]], [[2], None, []]]),
    }
    copy = copied(tmp_path / "copy.jinx", ds, [5, 1, 1, 8], replace=values, drop=["messages", "flag"])
    kept = [name for name in samples.sample(0) if name not in {"messages", "flag", "score", "image"}]
    assert set(copy.column_names) == {*kept, *values}
    assert list(copy[0])[: len(kept)] == kept
    expected = {
        **values,
        "ints": [0, 1, 2, 3],
        "masked": [None, 1.0, None, 3.0],
        "rows": list(values["rows"]),
        "arrow": ["a", None, "c", "d"],
        "chunked": [[1], [2], None, []],
    }
    for place, (n, sample) in enumerate(zip([5, 1, 1, 8], copy, strict=True)):
        assert samples.plain({name: sample[name] for name in kept}) == samples.plain(
            {name: samples.sample(n)[name] for name in kept}
        )
        for name, column in expected.items():
            assert samples.plain(sample[name]) == samples.plain(column[place]), name
    assert {"ints", "score", "masked"} <= {one.path for one in copy.info().indexed}
    assert copied(tmp_path / "b.jinx", ds, drop="image").column_names == [n for n in ds.column_names if n != "image"]


def test_replaced_columns_are_written_as_any_other(ds, tmp_path):
    for name in ("copied", "written"):
        (tmp_path / name).mkdir()
    scores = [n * 1.25 for n in range(COUNT)]
    copied(tmp_path / "copied" / "a.jinx", ds, replace={"score": scores}, drop=["flag"])
    rows = [
        {name: value for name, value in samples.sample(n).items() if name not in {"score", "flag"}}
        for n in range(COUNT)
    ]
    rewritten(
        tmp_path / "written" / "a.jinx", [{**row, "score": score} for row, score in zip(rows, scores, strict=True)]
    )
    same_files(tmp_path / "copied" / "a.jinx", tmp_path / "written" / "a.jinx")


def test_chosen_columns_and_those_of_views(ds, tmp_path):
    view = ds.with_columns({"twice": lambda sample: sample["n"] * 2, "score": range(COUNT)}).select_columns(
        ["score", "twice", "id"]
    )
    copy = copied(tmp_path / "copy.jinx", view[3:5])
    assert plain(copy) == [{"id": f"s{n:03d}", "twice": 2 * n, "score": n} for n in (3, 4)]


def typed(path: Path, **columns: Any) -> jinx.Dataset:
    """A dataset with an Arrow schema."""
    pq.write_table(pa.table(columns), path.with_suffix(".parquet"))
    jinx.convert(path.with_suffix(".parquet"), path)
    return jinx.open(path)


def test_arrow_types_are_kept_and_added(tmp_path):
    when = [dt.datetime(2020, 1, day, tzinfo=dt.UTC) for day in (1, 2, 3)]
    source = typed(tmp_path / "a.jinx", a=pa.array([1, 2, 3], pa.int8()), b=pa.array(["x", "y", "z"]), t=pa.array(when))
    table = copied(tmp_path / "b.jinx", source, [2, 0]).to_arrow()
    assert table.schema.equals(source.to_arrow().schema)
    assert table["t"].to_pylist() == [when[2], when[0]]
    new = pa.array([dt.timedelta(seconds=n) for n in range(3)], pa.duration("ms"))
    copy = copied(
        tmp_path / "c.jinx", source, replace={"a": pa.array([1.5, None, 3], pa.float32()), "d": new}, drop=["b"]
    )
    table = copy.to_arrow()
    assert {field.name: field.type for field in table.schema} == {
        "t": source.to_arrow().schema.field("t").type,
        "a": pa.float32(),
        "d": pa.duration("ms"),
    }
    assert table["a"].to_pylist() == [1.5, None, 3.0]
    assert table["d"].to_pylist() == new.to_pylist()


def test_what_a_list_holds_has_no_arrow_type(tmp_path):
    source = typed(tmp_path / "a.jinx", a=pa.array([1, 2], pa.int8()))
    copy = copied(tmp_path / "b.jinx", source, replace={"b": [1, 2]})
    assert copy.to_arrow().schema.field("b").type == pa.int64()
    assert not copy.info().has_arrow_schema


def test_sources_that_disagree_about_types_say_so(tmp_path):
    one = typed(tmp_path / "a.jinx", a=pa.array([1, 2], pa.int8()))
    other = typed(tmp_path / "b.jinx", a=pa.array([1, 2], pa.int16()))
    with jinx.Writer(tmp_path / "c.jinx") as writer:
        writer.copy(one)
        with pytest.warns(UserWarning, match="different Arrow schemas") as seen:
            writer.copy(other)
    assert Path(seen[0].filename) == Path(__file__)
    copy = jinx.open(tmp_path / "c.jinx")
    assert not copy.info().has_arrow_schema
    assert copy["a"].tolist() == [1, 2, 1, 2]


def test_media_split_and_meta_come_along(tmp_path):
    image, file = pytest.importorskip("PIL.Image"), io.BytesIO()
    image.new("RGB", (3, 2)).save(file, "PNG")
    with jinx.Writer(tmp_path / "a.jinx", media={"image": "Image"}, split="train", meta={"by": "me", "n": 1}) as writer:
        writer.write_many({"n": n, "image": file.getvalue()} for n in range(3))
    source = jinx.open(tmp_path / "a.jinx")
    info = copied(tmp_path / "b.jinx", source, [1]).info()
    assert (info.split, info.meta) == ("train", {"by": "me", "n": 1})
    assert jinx.open(tmp_path / "b.jinx", decode=True)[0]["image"].size == (3, 2)
    info = copied(tmp_path / "c.jinx", source, options={"split": "test", "meta": {"mine": True}}).info()
    assert (info.split, info.meta) == ("test", {"mine": True})
    with jinx.Writer(tmp_path / "d.jinx", meta={"by": "me", "n": 2}) as writer:
        writer.write({"n": 9})
    with jinx.Writer(tmp_path / "e.jinx") as writer:
        writer.copy(source)
        writer.copy(jinx.open(tmp_path / "d.jinx"))
    info = jinx.open(tmp_path / "e.jinx").info()
    assert (info.split, info.meta) == (None, {"by": "me"})


def test_short_media_stay_as_they_are(tmp_path):
    """They lie in the row, not in the sidecar."""
    source = rewritten(tmp_path / "a.jinx", [{"image": b"abc"}], media={"image": "Image"})
    copy = copied(tmp_path / "b.jinx", source)
    assert copy[0].raw() == source[0].raw()
    assert copy.info().ids == source.info().ids


def test_a_whole_pair_keeps_its_id_and_a_part_does_not(ds, tmp_path):
    identity = ds.info().ids
    assert copied(tmp_path / "a.jinx", ds).info().ids == identity
    assert copied(tmp_path / "b.jinx", ds, range(COUNT - 1)).info().ids != identity
    assert copied(tmp_path / "c.jinx", ds[::-1]).info().ids != identity
    assert copied(tmp_path / "d.jinx", ds, drop=["n"]).info().ids != identity


# Errors.


def test_wrong_arguments(ds, tmp_path):
    def refused(error: type[Exception], says: str, source: jinx.Dataset = ds, *arguments: Any, **options: Any) -> None:
        with pytest.raises(error, match=says), jinx.Writer(tmp_path / "a.jinx") as writer:
            writer.copy(source, *arguments, **options)
        assert not (tmp_path / "a.jinx").exists()

    refused(IndexError, f"index {COUNT} is out of range", ds, [0, COUNT])
    refused(IndexError, "mask has 3 elements", ds, [True, False, True])
    refused(KeyError, "no column 'imgae'; did you mean 'image'", ds, drop=["imgae"])
    refused(ValueError, "the column 'x' has 2 values for 3 samples", ds, [0, 1, 2], replace={"x": [1, 2]})
    refused(ValueError, "the column 'x' has 2 values for 3 samples", ds, [0, 1, 2], replace={"x": pa.array([1, 2])})
    refused(TypeError, "writer.write_many", ds.map(lambda sample: {"x": 1}))
    refused(TypeError, "writer.write_many", ds.with_transform(dict))
    refused(
        jinx.InvalidError, "column 'x': a value of type object cannot be stored", ds, [0], replace={"x": [object()]}
    )


def test_an_error_leaves_the_writer_usable(ds, tmp_path):
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.copy(ds, [1])
        with pytest.raises(IndexError):
            writer.copy(ds, [COUNT])
        with pytest.raises(ValueError, match="values"):
            writer.copy(ds, [1], replace={"x": []})
        writer.copy(ds, [2])
    assert [sample["n"] for sample in jinx.open(tmp_path / "a.jinx")] == [1, 2]


def test_a_damaged_value_is_not_copied(ds, tmp_path):
    data = bytearray((tmp_path / "source.binx").read_bytes())
    data[-20] ^= 1
    (tmp_path / "source.binx").write_bytes(data)
    with pytest.raises(jinx.CorruptFileError, match="source"), jinx.Writer(tmp_path / "copy.jinx") as writer:
        writer.copy(jinx.open(tmp_path / "source.jinx"))
    assert not (tmp_path / "copy.jinx").exists()
    loose = jinx.open(tmp_path / "source.jinx", verify="rows")
    with jinx.Writer(tmp_path / "copy.jinx") as writer:
        writer.copy(loose)
    assert jinx.verify(tmp_path / "copy.jinx") != []


def test_decoders_are_not_applied(ds, tmp_path):
    assert copied(tmp_path / "a.jinx", ds.decode({"image": "pil"}), [1])[0]["image"] == samples.sample(1)["image"]


def test_numbers_and_texts_keep_their_form(tmp_path):
    """A parser that reads and writes them would give others."""
    row = '{"big":123456789012345678901234567890,"float":1.0,"exponent":1e-7,"text":"\\u00e9\\n","nested":{"a":[1.50]}}'
    (tmp_path / "a.jsonl").write_text(row + "\n", "utf-8")
    once = copied(tmp_path / "a.jinx", jinx.open(tmp_path / "a.jsonl"))
    again = copied(tmp_path / "b.jinx", once)
    assert again[0].raw() == once[0].raw()
    assert json.loads(again[0].raw()) == json.loads(row)


def test_what_is_known_of_a_directory_need_not_be_read_from_its_shards(tmp_path: Path):
    table = pa.table({"n": range(900), "text": [f"the words of {n}" for n in range(900)]})
    pq.write_table(table, tmp_path / "in.parquet")
    jinx.convert(tmp_path / "in.parquet", tmp_path / "in", shard_size="1kb")
    facts = jinx.open(tmp_path / "in")._facts()
    assert facts is not None
    shards = sorted((tmp_path / "in").glob("*.jinx"))
    assert len(shards) > 16  # of fewer, all are opened at once
    whole = jinx.open(tmp_path / "in")
    with jinx.Writer(tmp_path / "expected.jinx") as writer:
        writer.copy(whole, [0, 1])
    for shard in shards[2:]:
        shard.write_bytes(bytes(shard.stat().st_size))
    opened = jinx.open(tmp_path / "in")
    opened._assume(facts)
    assert opened.column_names == ["n", "text"]
    assert opened.schema == whole.schema
    assert opened.select([0, 1]).column("text") == ["the words of 0", "the words of 1"]
    with jinx.Writer(tmp_path / "out.jinx") as writer:
        writer.copy(opened, [0, 1])
    assert (tmp_path / "out.jinx").read_bytes() == (tmp_path / "expected.jinx").read_bytes()
    with pytest.raises(jinx.JinxError, match="facts about a dataset"):
        opened._assume("{")
