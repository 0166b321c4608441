"""Columns that a view adds to its samples."""

import gc
import pickle
import warnings
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import jinx
import samples

COUNT = 12


@pytest.fixture
def ds(tmp_path: Path) -> jinx.Dataset:
    return jinx.open(samples.write(tmp_path / "a.jinx", COUNT))


def upper(sample: Any) -> str:
    return sample["id"].upper()


def given() -> dict[str, Any]:
    """A column of every kind, and what it holds."""
    masked = np.ma.MaskedArray(np.arange(COUNT, dtype=np.float32), mask=[n % 3 == 0 for n in range(COUNT)])
    texts = [f"t{n}" if n % 4 else None for n in range(COUNT)]
    none_at_3 = [None if n % 3 == 0 else n for n in range(COUNT)]
    return {
        "ints": (np.arange(COUNT, dtype=np.int16), list(range(COUNT)), "int"),
        "big_endian": (np.arange(COUNT, dtype=">i4"), list(range(COUNT)), "int"),
        "bools": (np.arange(COUNT) % 2 == 0, [n % 2 == 0 for n in range(COUNT)], "bool"),
        "masked": (masked, [None if n % 3 == 0 else float(n) for n in range(COUNT)], "float or None"),
        "strings": (np.array(["a", "bc"] * 6), ["a", "bc"] * 6, "str"),
        "objects": (np.array(texts, dtype=object), texts, "str or None"),
        "rows": (np.arange(24).reshape(COUNT, 2), [np.array([2 * n, 2 * n + 1]) for n in range(COUNT)], "ndarray"),
        "list": (texts, texts, "str or None"),
        "tuple": (tuple(range(COUNT)), list(range(COUNT)), "int"),
        "range": (range(COUNT), list(range(COUNT)), "int"),
        "mixed": ([1, "a", [2.5]] * 4, [1, "a", [2.5]] * 4, "int or list or str"),
        "nested": ([{"a": [n]} for n in range(COUNT)], [{"a": [n]} for n in range(COUNT)], "dict"),
        "bytes": ([b"x" * n for n in range(COUNT)], [b"x" * n for n in range(COUNT)], "bytes"),
        "arrow": (pa.array(none_at_3), none_at_3, "int or None"),
        "chunked": (pa.chunked_array([list(range(5)), list(range(7))]), [*range(5), *range(7)], "int"),
        "arrow_bools": (pa.array([True, None] * 6), [True, None] * 6, "bool or None"),
        "structs": (pa.array([{"a": n} for n in range(COUNT)]), [{"a": n} for n in range(COUNT)], "dict"),
        "lists": (pa.array([[n] for n in range(COUNT)]), [[n] for n in range(COUNT)], "list"),
        "nulls": (pa.nulls(COUNT), [None] * COUNT, "None"),
        "function": (upper, [f"S{n:03d}" for n in range(COUNT)], "function"),
    }


@pytest.mark.parametrize("name", given())
def test_columns_of_every_kind(name, ds, tmp_path):
    values, expected, kind = given()[name]
    view = ds.with_columns({"new": values})
    assert view.schema == {**ds.schema, "new": kind}
    assert view.column_names == [*ds.column_names, "new"]
    assert samples.plain([sample["new"] for sample in view]) == samples.plain(expected)
    order = [7, 3, 3, 0]
    assert samples.plain([sample["new"] for sample in view[order]]) == samples.plain([expected[i] for i in order])
    column = view["new"]
    is_scalar = isinstance(column, np.ndarray) and column.ndim == 1
    assert samples.plain(column.tolist() if is_scalar else list(column)) == samples.plain(expected)
    view[order].save(tmp_path / "v.jinx")
    saved = jinx.open(tmp_path / "v.jinx")
    assert samples.plain(saved.to_list()) == samples.plain(view[order].to_list())


def test_columns_of_other_libraries(ds):
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    torch = pytest.importorskip("torch", exc_type=ImportError)
    numbers = list(range(COUNT))
    view = ds.with_columns(
        {"polars": polars.Series(numbers), "pandas": pandas.Series(numbers), "torch": torch.arange(COUNT)}
    )
    for name in ("polars", "pandas", "torch"):
        assert view[name].tolist() == numbers
        assert view.schema[name] == "int"


def test_the_dataset_does_not_change(ds):
    before = ds.column_names
    ds.with_columns({"new": range(COUNT)})
    assert ds.column_names == before
    assert "new" not in ds[0]


def test_a_list_that_changes_later_does_not_change_the_view(ds):
    values = list(range(COUNT))
    view = ds.with_columns({"new": values})
    values.clear()
    assert view["new"].tolist() == list(range(COUNT))


NESTED = {
    "list": lambda values: values,
    "array": lambda values: np.array([*values, None], dtype=object)[:-1],
    "join": None,
}


@pytest.mark.parametrize("kind", NESTED)
def test_a_sample_that_changes_its_value_does_not_change_the_column(kind, ds, tmp_path):
    """A `map` that appends to a list of messages appended to the column, once more in each epoch."""
    values = [[{"role": "user"}, np.zeros(2)] for _ in range(COUNT)]
    if kind == "join":
        view = ds.with_columns({"id": ds["id"], "new": values}, on="id")
    else:
        view = ds.with_columns({"new": NESTED[kind](values)})

    def change(sample):
        sample["new"].append("more")
        sample["new"][0]["role"] = "other"
        sample["new"][1][:] = 9

    for _ in range(2):
        change(view[0])
        change(view.take([0])[0])
        change(next(iter(view)))
        change({"new": view["new"][0]})
        view.map(change).to_list()
    view.save(tmp_path / "view.jinx")
    for shown in (view, jinx.open(tmp_path / "view.jinx")):
        message, array = shown[0]["new"]
        assert message == {"role": "user"}
        assert array.tolist() == [0, 0]


@pytest.mark.parametrize(
    "values", [np.zeros((COUNT, 2, 2)), np.zeros((COUNT, 3), dtype=bool), np.ma.zeros((COUNT, 3, 1))]
)
def test_a_sample_that_changes_its_array_does_not_change_the_column(values, ds):
    view = ds.with_columns({"new": values})
    for sample in (view[0], view.take([0])[0], next(iter(view))):
        sample["new"][:] = 1
    assert not view[0]["new"].any()
    assert not values.any()


def test_new_columns_hide_stored_ones(ds):
    view = ds.with_columns({"score": range(COUNT), "image": lambda sample: len(sample["image"])})
    assert view.column_names == [
        *(name for name in ds.column_names if name not in {"score", "image"}),
        "score",
        "image",
    ]
    assert list(view[4]) == view.column_names
    assert view[4]["score"] == 4
    assert view[4]["image"] == len(ds[4]["image"])
    assert view["score"].tolist() == list(range(COUNT))
    assert view.sort("-score")[0]["n"] == COUNT - 1
    assert ds[4]["score"] == samples.sample(4)["score"]


def test_columns_over_columns(ds):
    one = ds.with_columns({"a": range(COUNT)})
    two = one[::2].with_columns({"b": lambda sample: sample["a"] + 1, "a": lambda sample: -sample["a"]})
    assert [(sample["a"], sample["b"]) for sample in two] == [(-n, n + 1) for n in range(0, COUNT, 2)]
    assert two.drop_columns("a").column_names == [name for name in two.column_names if name != "a"]


def test_a_view_stays_aligned(ds):
    view = ds.with_columns({"new": range(COUNT)})
    for one in (view.shuffle(3), view.sort("-n"), view.filter(view["new"] > 4), view.split(0.5, seed=1)[0], view[::-2]):
        assert [sample["new"] for sample in one] == [sample["n"] for sample in one]
        assert one["new"].tolist() == one["n"].tolist()


def test_functions_are_called_when_they_are_touched(ds):
    calls: list[int] = []

    def note(sample: Any) -> int:
        calls.append(sample["n"])
        return sample["n"]

    view = ds.with_columns({"new": note})[5:]
    assert calls == []
    sample = view[0]
    assert "new" in sample
    assert calls == []
    assert sample["new"] == sample["new"] == 5
    assert calls == [5]
    repr(view)
    assert view.schema["new"] == "function"
    assert calls == [5]


def test_an_error_of_a_function_comes_through(ds):
    view = ds.with_columns({"new": lambda sample: 1 // sample["n"]})
    assert view[1]["new"] == 1
    with pytest.raises(ZeroDivisionError):
        view[0]["new"]


def test_functions_get_transformed_samples(ds):
    view = ds.map(lambda sample: {"double": sample["n"] * 2}).with_columns({"new": lambda sample: sample["double"] + 1})
    assert view[3]["new"] == 7
    assert view[3]["double"] == 6


@pytest.mark.parametrize(
    ("values", "error", "says"),
    [
        ([1, 2], ValueError, "the column 'new' has 2 values for 12 samples"),
        (np.arange(13), ValueError, "has 13 values"),
        ("abc", TypeError, "the column 'new' is a list, an array or a function, not str"),
        (5, TypeError, "not int"),
        (None, TypeError, "not NoneType"),
        (iter([1]), TypeError, "not list_iterator"),
    ],
)
def test_wrong_columns(values, error, says, ds):
    with pytest.raises(error, match=says):
        ds.with_columns({"new": values})


def test_wrong_arguments(ds):
    with pytest.raises(TypeError, match="to join, give on="):
        ds.with_columns([("a", [1])])
    with pytest.raises(ValueError, match="missing='zero' is not known"):
        ds.with_columns({}, missing="zero")
    with pytest.raises(TypeError, match="name is a str, not int"):
        ds.with_columns({1: range(COUNT)})


# Joins.


def tables() -> dict[str, Any]:
    """Captions of all samples, in another order."""
    columns = {
        "id": [f"s{n:03d}" for n in reversed(range(COUNT))],
        "caption": [f"c{n}" for n in reversed(range(COUNT))],
    }
    return {"dict": columns, "arrow": pa.table(columns), "reader": pa.table(columns).to_reader(), "jinx": columns}


@pytest.mark.parametrize("kind", [*tables(), "polars", "pandas"])
def test_joins(kind, ds, tmp_path):
    is_foreign = kind in {"polars", "pandas"}
    table = pytest.importorskip(kind).DataFrame(tables()["dict"]) if is_foreign else tables()[kind]
    if kind == "jinx":
        with jinx.Writer(tmp_path / "captions.jinx") as writer:
            writer.write_many({"id": id, "caption": text} for id, text in zip(*table.values(), strict=True))
        table = jinx.open(tmp_path / "captions.jinx")
    view = ds.with_columns(table, on="id")
    assert [sample["caption"] for sample in view] == [f"c{n}" for n in range(COUNT)]
    assert view.schema["caption"] == "str"
    assert view.column_names == [*ds.column_names, "caption"]
    assert list(view.shuffle(1)["caption"]) == [f"c{n}" for n in view.shuffle(1)["n"]]
    view[3:5].save(tmp_path / "v.jinx")
    assert list(jinx.open(tmp_path / "v.jinx")["caption"]) == ["c3", "c4"]


def test_a_join_with_media_of_another_dataset(ds, tmp_path):
    with jinx.Writer(tmp_path / "thumbnails.jinx", media={"thumbnail": "Image"}) as writer:
        writer.write_many({"n": n, "thumbnail": samples.PNG + bytes(n * 100)} for n in range(0, COUNT, 2))
    other = jinx.open(tmp_path / "thumbnails.jinx")
    with pytest.warns(UserWarning, match="6 samples have a key in 'n' that the table lacks"):
        view = ds.with_columns(other, on="n")
    assert view[4]["thumbnail"] == other[2]["thumbnail"]
    assert view[5]["thumbnail"] is None
    assert view.schema["thumbnail"].endswith("or None")
    view.save(tmp_path / "v.jinx")
    saved = jinx.open(tmp_path / "v.jinx")
    assert saved[4]["thumbnail"] == other[2]["thumbnail"]
    assert saved[4]["image"] == ds[4]["image"]
    assert saved[5]["thumbnail"] is None


def part() -> dict[str, Any]:
    """Six known ids and one unknown."""
    return {"id": [*(f"s{n:03d}" for n in range(6)), "unknown"], "rank": range(7)}


def test_what_has_no_counterpart_is_none_and_named(ds):
    with pytest.warns(
        UserWarning, match="6 samples have a key in 'id'.*'s006'.*, ...\\); 1 rows of the table.*'unknown'"
    ) as seen:
        view = ds.with_columns(part(), on="id")
    assert Path(seen[0].filename) == Path(__file__)
    assert [sample["rank"] for sample in view] == [*range(6), *[None] * 6]
    assert len(view) == COUNT


def test_missing_drop(ds):
    with pytest.warns(UserWarning, match="6 samples"):
        view = ds[::-1].with_columns(part(), on="id", missing="drop")
    assert list(view["rank"]) == [5, 4, 3, 2, 1, 0]
    assert view["n"].tolist() == [5, 4, 3, 2, 1, 0]


def test_missing_fail(ds):
    with pytest.raises(KeyError, match=r"6 samples.*1 rows of the table"):
        ds.with_columns(part(), on="id", missing="fail")
    table = part() | {"id": [f"s{n:03d}" for n in range(7)]}
    with pytest.raises(KeyError, match="5 samples"):
        ds.with_columns(table, on="id", missing="fail")
    assert ds[:7].with_columns(table, on="id", missing="fail")["rank"].tolist() == list(range(7))


def test_a_complete_join_says_nothing(ds):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for missing in ("null", "drop", "fail"):
            ds.with_columns(tables()["dict"], on="id", missing=missing)


def test_duplicate_keys_of_samples_are_fine_and_of_the_table_are_refused(ds):
    view = ds[[1, 1, 2]].with_columns({"id": ["s001", "s002"], "x": [1, 2]}, on="id")
    assert list(view["x"]) == [1, 1, 2]
    with pytest.raises(ValueError, match="the key 's001' of 'id' appears twice in the table: rows 0 and 2"):
        ds.with_columns({"id": ["s001", "s002", "s001"], "x": [1, 2, 3]}, on="id")


def test_keys_of_other_types(ds):
    assert list(ds.with_columns({"n": np.arange(COUNT), "x": range(COUNT)}, on="n")["x"]) == list(range(COUNT))
    assert list(ds.with_columns({"n": np.arange(COUNT) * 1.0, "x": range(COUNT)}, on="n")["x"]) == list(range(COUNT))
    with pytest.raises(KeyError, match="12 samples"):
        ds.with_columns({"n": [str(n) for n in range(COUNT)], "x": range(COUNT)}, on="n", missing="fail")
    with pytest.raises(TypeError, match="a key of the table's column 'n' is of type list"):
        ds.with_columns({"n": [[1]], "x": [1]}, on="n")
    with pytest.raises(KeyError, match="12 samples"):  # a list cannot be looked up
        ds.with_columns({"messages": ["a"], "x": [1]}, on="messages", missing="fail")


def test_a_missing_key_matches_nothing(ds):
    """Not even 0, which lies under the mask, nor None."""
    table = {"score": [0.0, None], "x": ["zero", "none"]}
    with pytest.warns(UserWarning, match="samples"):
        view = ds.with_columns(table, on="score")
    assert ds[3]["score"] is None
    assert view[3]["x"] is None
    assert view[0]["x"] == "zero"


def test_joins_by_nested_paths(ds):
    view = ds.with_columns({"meta.width": range(0, 2 * COUNT, 2), "x": range(COUNT)}, on="meta.width")
    assert list(view["x"]) == list(range(COUNT))
    assert "meta.width" not in view.column_names


@pytest.mark.parametrize(
    ("table", "error", "says"),
    [
        ({"key": [1], "x": [1]}, KeyError, "no column 'id' to join by; it has key, x"),
        (pa.table({"key": [1]}), KeyError, "no column 'id' to join by; it has key"),
        ({"id": ["a"], "x": [1, 2]}, ValueError, "the table's column 'x' has 2 values for 1 keys"),
        ([{"id": 1}], TypeError, "a table to join is a dict of columns"),
    ],
)
def test_wrong_tables(table, error, says, ds):
    with pytest.raises(error, match=says):
        ds.with_columns(table, on="id")


def test_unknown_keys(ds):
    with pytest.raises(KeyError, match="idd"):
        ds.with_columns({"idd": [1]}, on="idd")


# The object.


def test_views_with_columns_pickle(ds):
    view = ds[[3, 1]].with_columns({"a": [1, 2], "b": np.array([3.5, 4.5]), "c": pa.array(["x", None]), "d": upper})
    again = pickle.loads(pickle.dumps(view))
    assert samples.plain(again.to_list()) == samples.plain(view.to_list())
    assert again.schema == view.schema


def test_views_over_lines_keep_their_columns(tmp_path):
    """JSON lines have no statistics that name the columns."""
    (tmp_path / "a.jsonl").write_text('{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n', "utf-8")
    view = jinx.open(tmp_path / "a.jsonl").with_columns({"c": [3.5, 4.5], "a": [True, False]})
    assert view.column_names == ["b", "c", "a"]
    assert view.schema == {"b": "str", "c": "float", "a": "bool"}
    assert view["b"] == ["x", "y"]
    assert view.drop_columns("b").column_names == ["c", "a"]


def test_concatenated_views_have_the_types_of_both(ds):
    both = ds.with_columns({"new": range(COUNT)}) + ds.with_columns({"new": ["a", None] * 6, "more": [0.5] * COUNT})
    assert both.schema["new"] == "int or str or None"
    assert both.schema["more"] == "float"
    assert both[COUNT]["new"] == "a"
    assert both[0].get("more") is None


def test_repr_shows_the_types_of_new_columns(ds):
    view = ds.with_columns({"quality": np.arange(COUNT) / 2, "caption": upper})
    lines = {line.split()[0]: line.split()[1:] for line in repr(view).splitlines()[1:]}
    assert lines["quality"] == ["float"]
    assert lines["caption"] == ["function"]
    assert ">function<" in view._repr_html_()


def test_info_of_a_view_in_memory(ds, tmp_path):
    other = jinx.open(samples.write(tmp_path / "b.jinx", 3))
    info = ds[:5].with_columns({"new": range(5)}).info()
    whole = ds.info()
    assert (info.path, info.samples, info.samples_in_files) == (whole.path, 5, COUNT)
    assert (info.bytes, info.sidecar_bytes, info.ids) == (whole.bytes, whole.sidecar_bytes, whole.ids)
    assert info.own_columns == ["new"]
    assert {column.name: column.type for column in info.columns}["new"] == "int"
    assert info.bases == []
    both = (ds[:5] + ds[5:] + other.with_columns({"new": [1, 2, 3]})).info()
    assert both.samples == COUNT + 3
    assert both.samples_in_files == COUNT * 2 + 3  # one part of files that are listed twice
    assert both.format == "jinx"


def test_closing_closes_the_files_beneath(ds):
    view = ds.with_columns({"new": range(COUNT)})
    sample = view[0]
    view.close()
    assert ds.closed
    assert "closed" in repr(view)
    with pytest.raises(ValueError, match="closed"):
        sample["image"]


class Annotator:
    """Holds the dataset whose columns it computes."""

    def __init__(self, ds: jinx.Dataset) -> None:
        self.ds = ds.with_columns({"new": self.compute})

    def compute(self, sample: Any) -> int:
        return sample["n"] + 1


@pytest.mark.xfail(reason="the core does not show Python's collector the columns that it holds", strict=True)
def test_a_function_column_in_a_cycle_is_collected(ds):
    """The cycle leads through the view's columns."""
    annotator = Annotator(ds)
    assert annotator.ds[2]["new"] == 3
    gone = weakref.ref(annotator)
    del annotator
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("kind", [set, frozenset, dict.fromkeys])
def test_columns_whose_order_or_values_are_a_guess_are_refused(ds, kind):
    with pytest.raises(TypeError, match="the column 'x' is a list, an array or a function, not"):
        ds.with_columns({"x": kind(range(COUNT))})


def test_a_warning_of_keys_stays_short(tmp_path):
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write({"image": bytes(100_000)})
    with pytest.warns(UserWarning, match="1 samples have a key in 'image'") as told:
        jinx.open(tmp_path / "a.jinx").with_columns({"image": [b"x" * 100_000], "y": [1]}, on="image")
    assert len(str(told[0].message)) < 500


def test_an_array_that_changes_later_does_not_change_its_column(tmp_path):
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write_many({"id": i} for i in range(4))
    scores = np.arange(4)
    view = jinx.open(tmp_path / "a.jinx").with_columns({"score": scores})
    scores[:] = 9
    for same in (view, pickle.loads(pickle.dumps(view)), jinx.concat([view])):
        assert [sample["score"] for sample in same] == same["score"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("expression", ["called > 3", "called in (1, 2)", "called is None"])
def test_the_error_of_a_function_comes_out_of_a_filter(tmp_path, expression):
    """It came as a KeyboardInterrupt."""
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write_many({"id": i} for i in range(4))

    def fails(sample: Any) -> int:
        raise ArithmeticError(f"sample {sample['id']}")

    view = jinx.open(tmp_path / "a.jinx").with_columns({"called": fails})
    with pytest.raises(ArithmeticError, match="sample 0"):
        view.filter(expression)
