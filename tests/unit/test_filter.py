"""Filters by expression."""

import json
import math
import threading

import numpy as np
import pytest

import jinx
import jinx.mds
from jinx.errors import CorruptFileError, InvalidError, LimitError, MismatchError

ROWS = [
    {
        "id": index,
        "score": None if index % 5 == 4 else index / 10,
        "source": ["web", "book", "Code"][index % 3],
        "messages": [{"role": "user"}] * (index % 4),
        "meta": {"width": index * 2, "a.b": str(index)},
        "my col": index,
        "ok": index % 2 == 0,
    }
    for index in range(100)
]


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    directory = tmp_path_factory.mktemp("filter")
    with jinx.Writer(directory / "a.jinx", indexed=["meta.width", "source"]) as writer:
        writer.write_many(ROWS)
    with jinx.Writer(directory / "bare.jinx", only_indexed=[]) as writer:
        writer.write_many(ROWS)
    with jinx.Writer(directory / "shards", shard_size=500) as writer:
        writer.write_many(ROWS)
    (directory / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    columns = {"id": "int", "score": "json", "source": "str", "messages": "json", "meta": "json", "ok": "json"}
    with jinx.mds.MDSWriter(
        columns={**columns, "my col": "int64"}, out=str(directory / "mds"), size_limit=900
    ) as writer:
        for row in ROWS:
            writer.write({**row, "my col": np.int64(row["my col"])})
    return directory


@pytest.fixture(scope="module", params=["a.jinx", "bare.jinx", "shards", "a.jsonl", "mds"])
def ds(request, paths):
    return jinx.open(paths / request.param)


@pytest.fixture(scope="module")
def pair(paths):
    return jinx.open(paths / "a.jinx")


def ids(dataset):
    return [sample["id"] for sample in dataset]


@pytest.mark.parametrize(
    ("expression", "keep"),
    [
        ("score > 5 and len(messages) > 2", lambda row: (row["score"] or 0) > 5 and len(row["messages"]) > 2),
        ("source in ('web', 'book')", lambda row: row["source"] in {"web", "book"}),
        ("not score > 5", lambda row: row["score"] is not None and not row["score"] > 5),
        ("score is None", lambda row: row["score"] is None),
        ("meta.width >= 150", lambda row: row["meta"]["width"] >= 150),
        ('meta."a.b" == \'7\' or "my col" == 9', lambda row: row["id"] in {7, 9}),
        ("ok and id % 7 == 0", lambda row: row["ok"] and row["id"] % 7 == 0),
        ("startswith(lower(source), 'c')", lambda row: row["source"] == "Code"),
        ("contains(source, 'oo') and 10 < id <= 20", lambda row: row["source"] == "book" and 10 < row["id"] <= 20),
        ("len(source) == 3 or meta.width == 2", lambda row: row["source"] == "web" or row["id"] == 1),
        ("len(meta) == 2 and id < 5", lambda row: row["id"] < 5),
        ("id > 1000", lambda row: False),
        ("True", lambda row: True),
    ],
)
def test_selected_are_those_that_pass(ds, expression, keep):
    assert ids(ds.filter(expression)) == [row["id"] for row in ROWS if keep(row)]


def test_views_keep_their_order_and_repetitions(ds):
    view = ds[[90, 3, 3, 60, 5, 90, 61]]
    assert ids(view.filter("id >= 60 and meta.width > 120")) == [90, 90, 61]
    assert ids(ds.sort("id", reverse=True).filter("id < 3")) == [2, 1, 0]
    chain = ds.filter("id < 50").shuffle(seed=1).filter("not ok").sort("id").filter("id > 40")
    assert ids(chain) == [41, 43, 45, 47, 49]


def test_an_empty_dataset_has_no_wrong_columns(tmp_path):
    (tmp_path / "a.jsonl").write_text("")
    assert len(jinx.open(tmp_path / "a.jsonl").filter("x > 1")) == 0
    assert len(jinx.open(tmp_path / "a.jsonl").filter("meta.x > 1")) == 0


def test_unknown_paths_name_the_nearest(ds):
    with pytest.raises(KeyError, match="no column 'scor'; did you mean 'score'"):
        ds.filter("scor > 1")
    with pytest.raises(KeyError, match=r"no column 'meta.widht'; did you mean 'meta.width'"):
        ds.filter("meta.widht > 1")
    with pytest.raises(KeyError, match="a string is written "):
        ds.filter('source == "web"')
    with pytest.raises(KeyError, match="no column 'score'"):
        ds.select_columns(["id"]).filter("score > 1")


def test_a_path_that_nothing_depends_on_is_not_looked_for(pair):
    assert len(pair.filter("id < 0 and meta.widht > 1")) == 0


def test_a_place_that_does_not_parse_is_shown(ds):
    with pytest.raises(InvalidError, match=r"^column 7 of the expression, at '= 3': write == in place of =$"):
        ds.filter("score = 3")
    with pytest.raises(LimitError, match="inside each other"):
        ds.filter("(" * 1000)


def test_strings_are_not_compared_with_numbers(ds):
    with pytest.raises(InvalidError, match=r"'source': a string cannot be compared with a number, in: source > 3"):
        ds.filter("id >= 0 and source > 3")
    with pytest.raises((InvalidError, MismatchError), match=r"'id': .* no length"):
        ds.filter("len(id) > 3")


def test_kinds_that_files_tell_are_checked_before_a_sample_is_read(paths, tmp_path):
    broken = tmp_path / "a.jinx"
    data = (paths / "a.jinx").read_bytes()
    broken.write_bytes(data.replace(b'"id":0', b'"id";0', 1))
    for part in paths.glob("a.binx"):
        (tmp_path / "a.binx").write_bytes(part.read_bytes())
    ds = jinx.open(broken)
    for wrong in ("source > 3", "meta.width == 'x'", "messages == 3", "lower(score) == 'x'", "id"):
        with pytest.raises(InvalidError) as caught:
            ds.filter(wrong)
        assert caught.value.sample is None
    # Indexed columns answer without the rows, one of which is damaged.
    assert len(ds.filter("meta.width < 10 and id > 1 and score is not None and len(messages) > 0")) == 2
    with pytest.raises(CorruptFileError):
        ds.filter("meta.\"a.b\" == '0'")
    assert len(ds.filter("id > 0 and meta.\"a.b\" == '1'")) == 1


def test_values_of_mixed_kinds_are_an_error_at_their_sample(tmp_path):
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write_many([{"n": 1, "x": 1}, {"n": 2, "x": "one"}, {"n": 3, "x": None}, {"n": 4}])
    ds = jinx.open(tmp_path / "a.jinx")
    with pytest.raises(InvalidError, match="a string cannot be compared with a number") as caught:
        ds.filter("x > 0")
    assert (caught.value.sample, caught.value.column) == (1, "x")
    # Where the answer is known without it, it is not an error.
    assert len(ds.filter("x > 0 and n != 2")) == 1
    assert len(ds.filter("n != 2 and x > 0")) == 1
    assert len(ds.filter("n > 0 or x > 0")) == 4


def test_integers_are_exact(tmp_path):
    numbers = [2**53, 2**53 + 1, -(2**63), 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(10**30), 10**60]
    for name, group in {"i": numbers[:4], "u": numbers[4:6], "big": numbers}.items():
        with jinx.Writer(tmp_path / f"{name}.jinx") as writer:
            writer.write_many([{"n": number} for number in group])
        ds = jinx.open(tmp_path / f"{name}.jinx")
        for number in [*numbers, float(2**53), 2.0**63, 1e30, 0]:
            for sign, keep in {
                "==": lambda n, number=number: n == number,
                "<": lambda n, number=number: n < number,
                ">=": lambda n, number=number: n >= number,
            }.items():
                found = [sample["n"] for sample in ds.filter(f"n {sign} {number}")]
                assert found == [n for n in group if keep(n)], (sign, number)


def test_nan_is_a_value_and_equal_to_nothing(tmp_path):
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write_many([{"n": 0, "x": math.nan}, {"n": 1, "x": None}, {"n": 2, "x": math.inf}, {"n": 3, "x": 0.5}])
    for ds in (jinx.open(tmp_path / "a.jinx"), jinx.open(tmp_path / "a.jinx").select_columns(["n", "x"])):
        for expression, expected in {
            "x < 1 or x >= 1": [2, 3],
            "not x < 1": [0, 2],
            "x == x": [2, 3],
            "x != 1": [0, 2, 3],
            "x is None": [1],
        }.items():
            assert [sample["n"] for sample in ds.filter(expression)] == expected, expression


def test_a_top_level_name_with_dots_beats_a_path(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"n":0,"a.b":1,"a":{"b":2}}\n')
    ds = jinx.open(tmp_path / "a.jsonl")
    assert len(ds.filter("a.b == 1")) == 1
    assert len(ds.filter('"a"."b" == 2 and "a.b" == 1')) == 1


def test_what_a_function_made_is_filtered_by_a_function(pair):
    for changed in (pair.map(lambda sample: {"x": 1}), pair.with_transform(dict)):
        with pytest.raises(InvalidError, match="filter first, or give filter a function"):
            changed.filter("id > 1")
    assert ids(pair.filter("id < 2").map(lambda sample: {"x": 1})) == [0, 1]


def test_lengths_are_those_of_stored_values(tmp_path):
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        for index in range(5):
            writer.write({"n": index, "blob": bytes(index * 1000), "array": np.zeros((index, 2)), "text": "é" * index})
    ds = jinx.open(tmp_path / "a.jinx")
    assert [s["n"] for s in ds.filter("len(blob) > 1500 and len(array) < 4 and len(text) == 3")] == [3]
    with pytest.raises(InvalidError, match="binary value cannot be compared"):
        ds.filter("blob == 'x'")
    assert len(ds.filter("blob is not None and array is not None")) == 5


def test_markers_in_json_lines_are_read(tmp_path):
    lines = ['{"$jinx":1,"x":{"$float":"nan"},"m":{"$dict":{"$float":3}}}', '{"x":{"$float":"nan"},"m":{"y":3}}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    ds = jinx.open(tmp_path / "a.jsonl")
    assert [dict(s)["m"] for s in ds.filter("x is not None and m.y == 3")] == [{"y": 3}]
    assert len(ds[:1].filter("x != x")) == 1


def test_filters_run_in_threads(pair):
    results: list[list[int]] = []

    def run():
        results.append(ids(pair.filter("id % 10 == 3 and meta.width > 50")))

    threads = [threading.Thread(target=run) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert results == [[33, 43, 53, 63, 73, 83, 93]] * 8


def test_masks_and_functions_stay(pair):
    assert ids(pair.filter(pair["id"] < 3)) == ids(pair.filter(lambda sample: sample["id"] < 3)) == [0, 1, 2]
    with pytest.raises(TypeError, match="filter takes an expression, a function or a boolean mask"):
        pair.filter([1, 2])


def test_numpy_scalars_are_numbers(tmp_path):
    values = [np.float64(0.5), np.float16(1.5), np.bool_(True), np.int16(-3), np.float32(2.5), np.uint64(2**64 - 1)]
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write_many([{"n": index, "x": value} for index, value in enumerate(values)])
    ds = jinx.open(tmp_path / "a.jinx")
    assert [sample["n"] for sample in ds.filter("x >= 1")] == [1, 2, 4, 5]
    columns = {"n": "int", "x": "float64", "h": "float16", "u": "uint8"}
    with jinx.mds.MDSWriter(columns=columns, out=str(tmp_path / "mds")) as mds:
        for index in range(5):
            mds.write({"n": index, "x": np.float64(index / 2), "h": np.float16(index), "u": np.uint8(index)})
    assert ids_of(jinx.open(tmp_path / "mds").filter("x >= 1 and h < 4 and u != 2"), "n") == [3]


def ids_of(dataset, name):
    return [int(sample[name]) for sample in dataset]


@pytest.mark.parametrize("suffix", ["jinx", "jsonl"])
def test_views_over_some_samples_are_filtered_as_their_samples(tmp_path, suffix):
    rows = [{"a": i % 7, "b": f"b{i}", "hidden": i} for i in range(50)]
    jinx.convert(rows, tmp_path / f"base.{suffix}")
    order = [3, 3, 49, 10, 3, 0, 17, 10, 24, 31, 10]
    view = jinx.open(tmp_path / f"base.{suffix}").drop_columns("hidden").select(order)
    view = view.with_columns({"own": list(range(len(order))), "a": [rows[i]["a"] * 2 for i in order]})
    view.save(tmp_path / "view.jinx")
    shown = [{"b": rows[i]["b"], "own": n, "a": rows[i]["a"] * 2} for n, i in enumerate(order)]
    for ds in (view, jinx.open(tmp_path / "view.jinx")):
        for places in (range(len(order)), [8, 1, 1, 0, 10, 3]):
            part = ds.select(list(places))
            expected = [shown[i] for i in places]
            for expression, holds in {
                "own > 3": lambda row: row["own"] > 3,
                "a == 6 or a == 0": lambda row: row["a"] in (0, 6),
                "startswith(b, 'b3') or b == 'b10'": lambda row: row["b"].startswith("b3") or row["b"] == "b10",
                "b == 'b3' and own != 1": lambda row: row["b"] == "b3" and row["own"] != 1,
            }.items():
                found = [row.to_dict() for row in part.filter(expression)]
                assert [{**row, "a": int(row["a"])} for row in found] == [row for row in expected if holds(row)]
                assert len(part.filter(expression).filter(expression)) == len(found)
        with pytest.raises(KeyError, match="hidden"):
            ds.filter("hidden > 3")


def test_integers_between_floats_are_computed_as_integers(tmp_path):
    rows = [{"a": 1, "w": 2**53}, {"a": 2.5, "w": 0}, {"a": 1.0, "w": 2**53}, {"a": None, "w": 1}]
    jinx.convert(rows, tmp_path / "in.jinx")
    dataset = jinx.open(tmp_path / "in.jinx")
    for expression, expected in {
        f"a + w == {2**53 + 1}": [0],
        f"a * {2**53 + 1} == {2**53 + 1}": [0],
        f"a + w == {2**53}": [2],
        "a + 1 > 3": [1],
        "a >= 2": [1],
    }.items():
        chosen = dataset.filter(expression)
        assert chosen.to_list() == [rows[at] for at in expected], expression
        assert list(jinx.stream(tmp_path / "in.jinx", where=expression)) == chosen.to_list()
