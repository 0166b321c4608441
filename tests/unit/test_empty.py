"""Datasets without samples, and samples without columns: both keep what they are through every step."""

import json

import numpy as np
import pytest

import jinx
from jinx._cli.program import run

# Not `jinx.open`: with `--remote`, saved views would name a URL, which conversions do not open.
from jinx._open import open as open_here
from jinx.errors import UnsupportedError


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"id": i, "s": str(i)}) + "\n" for i in range(5)))
    return path


@pytest.fixture
def pair(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        for i in range(5):
            writer.write({"id": i, "s": str(i), "data": bytes(100)})
    return tmp_path / "in.jinx"


@pytest.mark.parametrize("out", ["out.jinx", "out"])
def test_an_empty_selection_of_json_lines_is_sorted_and_shuffled(lines, tmp_path, out):
    none = jinx.open(lines).filter("id > 100")
    assert none.schema == {"id": "int", "s": "str"}
    orders = (
        lambda: jinx.sort(none, tmp_path / out, by="id"),
        lambda: jinx.sort(lines, tmp_path / out, by=["s", "-id"], where="id > 100", overwrite=True),
        lambda: jinx.sort(none, tmp_path / out, by=lambda sample: sample["id"], overwrite=True),
        lambda: jinx.shuffle(none, tmp_path / out, seed=1, overwrite=True),
    )
    for order in orders:
        assert order().samples == 0
        assert jinx.open(tmp_path / out).column_names == ["id", "s"]


@pytest.mark.parametrize("out", ["out.jinx", "out"])
@pytest.mark.parametrize("command", [["sort", "--by", "id"], ["sort", "--by", "-s,id"], ["shuffle", "--seed", "1"]])
def test_commands_order_an_empty_selection_of_json_lines(lines, tmp_path, out, command):
    assert run([*command, "--where", "id > 100", str(lines), str(tmp_path / out)]) == 0
    assert (len(jinx.open(tmp_path / out)), jinx.open(tmp_path / out).column_names) == (0, ["id", "s"])


def nothing_shown(pair, lines, tmp_path):
    jinx.open(pair).select_columns([]).save(tmp_path / "view.jinx")
    jinx.open(lines).drop_columns(["id", "s"]).save(tmp_path / "lines view.jinx")
    yield jinx.open(pair).select_columns([])
    yield jinx.open(lines).drop_columns(["id", "s"])
    yield jinx.open(pair, columns=[])
    yield jinx.open(tmp_path / "view.jinx")
    yield jinx.open(tmp_path / "lines view.jinx")
    yield jinx.open(tmp_path / "view.jinx")[::-1]
    yield jinx.open(tmp_path / "view.jinx") + jinx.open(tmp_path / "lines view.jinx")


def test_what_shows_no_column_hides_every_one(pair, lines, tmp_path):
    for none in nothing_shown(pair, lines, tmp_path):
        assert none.column_names == []
        assert dict(none[0]) == {}
        asked = (
            lambda none=none: none["id"],
            lambda none=none: none.column("id"),
            lambda none=none: none.lengths("s"),
            lambda none=none: none.filter("id > 2"),
            lambda none=none: none.sort("id"),
            lambda none=none: none.select_columns(["id"]),
            lambda none=none: none.take([0], ["id"]),
            lambda none=none: jinx.sort(none, tmp_path / "sorted.jinx", by="id"),
        )
        for ask in asked:
            with pytest.raises(KeyError, match="no column"):
                ask()


def test_samples_without_columns_are_still_counted(pair, lines, tmp_path):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for none in nothing_shown(pair, lines, tmp_path):
        assert none.to_pandas().shape == (len(none), 0)
        assert none.to_arrow().shape == (len(none), 0)


def test_columns_added_to_what_shows_none_are_shown(pair, lines, tmp_path):
    for none in nothing_shown(pair, lines, tmp_path):
        more = none.with_columns({"n": np.arange(len(none))})
        assert more.column_names == ["n"]
        assert more["n"].tolist() == list(range(len(none)))


def test_an_empty_view_keeps_its_columns_when_it_is_saved(pair, tmp_path):
    pytest.importorskip("pyarrow")
    none = jinx.open(pair).filter("id > 100")
    more = none.with_columns({"n": np.zeros(0, dtype=np.int64), "x": np.zeros(0)})
    for view in (none, more):
        view.save(tmp_path / "view.jinx", overwrite=True)
        saved = jinx.open(tmp_path / "view.jinx")
        assert saved.column_names == view.column_names
        assert saved.to_arrow().schema == view.to_arrow().schema
        assert {"id", "s", "data"} <= set(saved.to_arrow().schema.names)
        # And again.
        saved.save(tmp_path / "again.jinx", overwrite=True)
        assert jinx.open(tmp_path / "again.jinx").column_names == view.column_names
        jinx.verify(tmp_path / "view.jinx")
    assert str(more.to_arrow().schema.field("n").type) == "int64"
    assert str(more.to_arrow().schema.field("x").type) == "double"


def test_a_saved_empty_view_passes_every_step(pair, tmp_path):
    pytest.importorskip("pyarrow")
    open_here(pair).filter("id > 100").save(tmp_path / "view.jinx")
    saved = jinx.open(tmp_path / "view.jinx")
    assert saved.select_columns(["s"]).to_arrow().schema.names == ["s"]
    assert saved.drop_columns(["s"]).to_arrow().schema.names == ["id", "data"]
    for number, (source, kept) in enumerate([(saved, {}), (tmp_path / "view.jinx", {}), (saved, {"drop": ["s"]})]):
        out = tmp_path / f"copy-{number}.jinx"
        assert jinx.convert(source, out, **kept).samples == 0
        names = ["id", "data"] if kept else ["id", "s", "data"]
        assert jinx.open(out).to_arrow().schema == saved.select_columns(names).to_arrow().schema


def test_an_empty_copy_keeps_its_columns(pair, tmp_path):
    pytest.importorskip("pyarrow")
    none = jinx.open(pair).filter("id > 100")
    schema = none.to_arrow().schema
    jinx.convert(none, tmp_path / "converted.jinx")
    jinx.select(pair, tmp_path / "selected.jinx", where="id > 100")
    jinx.shuffle(none, tmp_path / "shuffled.jinx", seed=1)
    for name in ("converted.jinx", "selected.jinx", "shuffled.jinx"):
        copy = jinx.open(tmp_path / name)
        assert (len(copy), copy.column_names) == (0, ["id", "s", "data"])
        assert copy.to_arrow().schema == schema
    jinx.convert(none, tmp_path / "dropped.jinx", drop=["data"])
    assert jinx.open(tmp_path / "dropped.jinx").column_names == ["id", "s"]


def test_a_dataset_without_samples_and_columns_passes_every_step(tmp_path):
    pytest.importorskip("tokenizers")
    with jinx.Writer(tmp_path / "empty.jinx"):
        pass
    empty = jinx.open(tmp_path / "empty.jinx")
    assert len(empty.filter("score > 1").sort("score")) == 0
    assert len(empty["score"]) == 0
    done = jinx.annotate(empty, tmp_path / "lengths.jinx", function=lambda _: 1)
    lengths = jinx.open(tmp_path / "lengths.jinx")
    assert done.samples == 0
    assert lengths.column_names == ["num_tokens"]
    for one in (empty, lengths):
        assert len(jinx.pack(one, 100)) == 0


def test_an_empty_shard_does_not_break_a_chain(pair, tmp_path):
    with jinx.Writer(tmp_path / "empty.jinx"):
        pass
    for number, source in enumerate([pair, tmp_path / "empty.jinx", pair]):
        jinx.annotate(source, tmp_path / f"lengths-{number}.jinx", function=lambda _: 10)
    parts = [jinx.open(tmp_path / f"lengths-{number}.jinx") for number in range(3)]
    whole = jinx.concat(parts)
    assert whole["num_tokens"].tolist() == [10] * 10
    assert len(whole.filter("num_tokens > 5").sort("-id")) == 10
    assert jinx.pack(whole, 100).stats().samples == 10
    assert jinx.pack([parts[1], parts[0]], 100).stats().samples == 5


@pytest.mark.parametrize("samples", [0, 5])
def test_a_saved_view_of_nothing_is_copied_with_its_columns(tmp_path, samples):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"id": i} for i in range(samples))
    view = jinx.open(tmp_path / "in.jinx").with_columns({"own": [1.5] * samples})[:0]
    view.save(tmp_path / "view.jinx")
    saved = jinx.open(tmp_path / "view.jinx")
    names = saved.column_names
    assert names == (["id", "own"] if samples else ["own"])
    assert saved.select_columns(names).to_arrow().column_names == names
    steps = (
        lambda out: jinx.convert(saved, out),
        lambda out: jinx.convert(view, out, overwrite=True),
        lambda out: jinx.select(saved, out, [], overwrite=True),
        lambda out: jinx.dedup(saved, out, overwrite=True),
    )
    for step in steps:
        assert step(tmp_path / "out.jinx").samples == 0
        assert jinx.open(tmp_path / "out.jinx").column_names == names
    assert jinx.split(saved, tmp_path / "parts", count=2).samples == 0


def test_samples_without_columns_are_not_lost_in_other_libraries(pair):
    pytest.importorskip("datasets")
    with pytest.raises(UnsupportedError, match="without columns has no rows"):
        jinx.open(pair).select_columns([]).to_hf()


@pytest.mark.parametrize("how", [{"where": "id > 100"}, {"limit": 0}, {"limit": 0, "rename": {"s": "t"}, "drop": "id"}])
@pytest.mark.parametrize("source", ["in.jinx", "in.jsonl", "in.msgpack", "in.tar"])
def test_a_conversion_that_selects_nothing_keeps_the_columns(pair, tmp_path, source, how):
    pq = pytest.importorskip("pyarrow.parquet")
    if source != "in.jinx":
        jinx.convert(pair, tmp_path / source)
    names = ["t", "data"] if "rename" in how else ["id", "s", "data"]
    for out in ("out.jinx", "out"):
        assert jinx.convert(tmp_path / source, tmp_path / out, **how).samples == 0
        assert set(jinx.open(tmp_path / out).column_names) == set(names)
    jinx.convert(tmp_path / source, tmp_path / "out.parquet", **how)
    assert set(pq.read_schema(tmp_path / "out.parquet").names) == set(names)


@pytest.mark.parametrize("out", ["out.jinx", "out", "out.parquet"])
@pytest.mark.parametrize("rows", [0, 1])
def test_no_sample_with_a_file_to_embed_keeps_the_columns(tmp_path, out, rows):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"id": [1], "image": ["missing.png"], "s": ["a"]})[:rows]
    pq.write_table(table, tmp_path / "in.parquet")
    done = jinx.convert(tmp_path / "in.parquet", tmp_path / out, embed=["image"], missing="skip")
    assert (done.samples, done.skipped) == (0, rows)
    if out.endswith(".parquet"):
        jinx.convert(tmp_path / out, tmp_path / "back.jinx")
        out = "back.jinx"
    assert jinx.open(tmp_path / out).column_names == ["id", "image", "s"]


def test_rows_that_were_not_selected_are_no_error_of_those_that_were(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"id": 1}\n{"id": "one"}\n', "utf-8")
    assert jinx.convert(tmp_path / "in.jsonl", tmp_path / "out.jinx", limit=0).samples == 0
    (tmp_path / "in.jsonl").write_text('{"id": 1}\nnot JSON\n', "utf-8")
    assert jinx.convert(tmp_path / "in.jsonl", tmp_path / "more.jinx", limit=0).samples == 0


@pytest.mark.parametrize("copy", [False, True])
def test_joins_of_empty_parts_have_the_columns_and_types_of_all(pair, tmp_path, copy):
    pytest.importorskip("pyarrow")
    with jinx.Writer(tmp_path / "more.jinx") as writer:
        writer.write({"id": 1, "x": 1.5})
    for name, source in (("a", pair), ("b", tmp_path / "more.jinx")):
        none = open_here(source)[:0]
        jinx.convert(none, tmp_path / f"{name}.jinx") if copy else none.save(tmp_path / f"{name}.jinx")
    parts = [tmp_path / "a.jinx", tmp_path / "b.jinx"]
    jinx.concat(parts, tmp_path / "view.jinx", view=True)
    jinx.concat(parts, tmp_path / "copy.jinx")
    joined = jinx.open(parts[0]) + jinx.open(parts[1])
    for one in (joined, jinx.open(tmp_path / "view.jinx"), jinx.open(tmp_path / "copy.jinx")):
        assert one.column_names == ["id", "s", "data", "x"]
        types = one.to_arrow().schema
        assert [str(types.field(name).type) for name in ("id", "s", "x")] == ["int64", "string", "double"]
    # An empty part says nothing about the samples of others.
    some = jinx.open(parts[0]) + jinx.open(tmp_path / "more.jinx")
    assert some.to_arrow().to_pylist() == [{"id": 1, "x": 1.5}]


def test_a_saved_empty_view_has_the_types_of_its_base(pair, tmp_path):
    none = jinx.open(pair)[:0]
    none.save(tmp_path / "view.jinx")
    saved = jinx.open(tmp_path / "view.jinx")
    assert saved.schema == none.schema == {"id": "int", "s": "str", "data": "bytes"}
    assert [one.type for one in saved.info().columns] == ["int", "str", "bytes"]


def test_a_copy_of_an_empty_dataset_shows_the_types_of_its_columns(pair, tmp_path):
    types = {"id": "int", "s": "str", "data": "bytes"}
    jinx.convert(jinx.open(pair)[:0], tmp_path / "a.jinx")
    jinx.convert(tmp_path / "a.jinx", tmp_path / "b.jinx")
    open_here(tmp_path / "b.jinx").save(tmp_path / "view.jinx")
    jinx.convert(tmp_path / "view.jinx", tmp_path / "c.jinx")
    for name in ("a", "b", "view", "c"):
        opened = jinx.open(tmp_path / f"{name}.jinx")
        assert opened.schema == types, name
        assert [one.type for one in opened.info().columns] == list(types.values()), name
    with jinx.Writer(tmp_path / "none.jinx"):
        pass
    assert jinx.open(tmp_path / "none.jinx").schema == {}


@pytest.mark.parametrize("text", ["", "\n", " \r\n\t\n"])
@pytest.mark.parametrize("suffix", ["jsonl", "ndjson"])
def test_json_lines_without_a_line_are_intact(tmp_path, suffix, text):
    for name, problems in ((f"none.{suffix}", 0), ("none.jinx", 1)):
        (tmp_path / name).write_text(text)
        assert len(jinx.verify(tmp_path / name)) == problems


def test_an_empty_selection_is_saved_if_a_column_has_no_arrow_type(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"id": i, "array": np.zeros(2, dtype)} for i, dtype in enumerate(["i4", "f8"]))
    none = jinx.open(tmp_path / "in.jinx").filter("id > 100")
    jinx.select(none, tmp_path / "selected.jinx")
    jinx.select(none, tmp_path / "shards", shard_size=100)
    jinx.shuffle(none, tmp_path / "shuffled.jinx", seed=1)
    for out in ("selected.jinx", "shards", "shuffled.jinx"):
        # No schema can hold arrays of several types.
        assert jinx.open(tmp_path / out).column_names == ["id"]
    none.save(tmp_path / "view.jinx")
    assert set(jinx.open(tmp_path / "view.jinx").column_names) == {"id", "array"}
    result = jinx.split(tmp_path / "in.jinx", tmp_path / "parts", fractions={"none": 0.01, "all": 0.99})
    assert [part.samples for part in result.parts] == [0, 2]


def test_a_directory_whose_manifest_lists_no_shards_is_an_empty_dataset(tmp_path, lines, vectors):
    empty = vectors / "1_1" / "folder_empty"
    assert jinx.open(empty).info().shards == 0
    assert list(jinx.stream(empty)) == []
    assert jinx.shuffle(empty, tmp_path / "shuffled", seed=1).samples == 0
    assert jinx.select(empty, tmp_path / "selected.jinx").samples == 0
    assert jinx.split(empty, tmp_path / "parts", count=2).samples == 0
    assert jinx.concat([empty, lines], tmp_path / "joined.jinx").samples == 5


def test_an_empty_dataset_passes_filters_whose_columns_it_may_not_know(tmp_path):
    arrays = [{"id": 0, "emb": np.zeros(2, np.float32)}, {"id": 1, "emb": np.zeros(2, np.int64)}]
    jinx.convert(arrays, tmp_path / "in.jinx")
    jinx.convert(jinx.open(tmp_path / "in.jinx")[:0], tmp_path / "empty.jinx")
    empty = jinx.open(tmp_path / "empty.jinx")
    assert empty.column_names == ["id"]
    assert len(empty.filter("emb is not None")) == 0


MIXED = [{"id": 0, "x": "s"}, {"id": 1, "x": b"abc"}, {"id": 2, "x": 5}]


@pytest.mark.parametrize("name", ["a.jinx", "a.jsonl"])
def test_columns_without_a_type_are_left_out_of_an_empty_selection(tmp_path, name):
    pa = pytest.importorskip("pyarrow")
    jinx.convert(MIXED, tmp_path / name)
    dataset = jinx.open(tmp_path / name)
    dataset[:0].save(tmp_path / "view.jinx")
    view = jinx.open(tmp_path / "view.jinx")
    for none in (dataset[:0], view, dataset[:0].with_columns({"n": []}) + dataset[:0]):
        table = none.to_arrow()
        assert (len(table), table.schema.field("id").type) == (0, pa.int64())
        assert "x" not in table.column_names
    assert view.info().samples == 0
    for number, write in enumerate(
        [
            lambda out: jinx.convert(view, out),
            lambda out: jinx.sort(view, out, by="id"),
            lambda out: jinx.shuffle(view, out, seed=1),
            lambda out: jinx.select(view, out),
            lambda out: jinx.dedup(view, out),
            lambda out: jinx.concat([view, view], out),
        ]
    ):
        out = tmp_path / f"{number}.jinx"
        write(out)
        assert len(jinx.open(out)) == 0
        assert jinx.verify(out) == []
    jinx.concat([view, dataset], tmp_path / "all.jinx")
    assert jinx.open(tmp_path / "all.jinx").to_list() == dataset.to_list()
    with pytest.raises(jinx.MismatchError, match="bytes"):
        dataset.to_arrow()


@pytest.mark.local
def test_a_view_in_shards_joins_an_empty_dataset(tmp_path):
    jinx.convert([{"id": i} for i in range(4)], tmp_path / "a.jinx")
    jinx.convert([], tmp_path / "none.jinx")
    jinx.open(tmp_path / "a.jinx").save(tmp_path / "view")
    view, none = jinx.open(tmp_path / "view"), jinx.open(tmp_path / "none.jinx")
    for number, joined in enumerate((view + none, view[:0] + jinx.open(tmp_path / "a.jinx"))):
        out = tmp_path / f"{number}.jinx"
        joined.save(out)
        assert list(jinx.open(out)["id"]) == [0, 1, 2, 3]
    jinx.concat([tmp_path / "view", tmp_path / "none.jinx"], tmp_path / "joined.jinx", view=True)
    assert list(jinx.open(tmp_path / "joined.jinx")["id"]) == [0, 1, 2, 3]
