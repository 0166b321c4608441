"""Views: what is picked, in which order, and that views of views are views."""

import re

import numpy as np
import pytest

import jinx
import samples


@pytest.fixture(scope="module")
def ds(tmp_path_factory) -> jinx.Dataset:
    return jinx.open(samples.write(tmp_path_factory.mktemp("views") / "a.jinx"))


def numbers(view: jinx.Dataset) -> list[int]:
    return [sample["n"] for sample in view]


ALL = list(range(samples.COUNT))


@pytest.mark.parametrize("part", [slice(10, 20), slice(None, None, -1), slice(-5, None), slice(40, 2, -7), slice(9, 3)])
def test_slices_are_views(ds, part):
    view = ds[part]
    assert isinstance(view, jinx.Dataset)
    assert numbers(view) == ALL[part]
    assert view["n"].tolist() == ALL[part]


@pytest.mark.parametrize(
    "picked",
    [
        [3, 1, 2],
        (3, -1),
        range(5, 0, -2),
        np.array([4, 4], dtype=np.uint8),
        [],
        iter([7]),
    ],
)
def test_indices_are_views(ds, picked):
    positions = list(picked)
    given = iter(positions) if len(positions) == 1 else picked
    assert numbers(ds[given]) == [ALL[index] for index in positions]


def test_torch_indices(ds):
    torch = pytest.importorskip("torch")
    assert numbers(ds[torch.tensor([2, 0])]) == [2, 0]
    assert ds[torch.tensor(2)]["n"] == 2
    assert numbers(ds[torch.tensor([2])]) == [2]


def test_masks(ds):
    mask = np.array(ALL) % 7 == 0
    assert numbers(ds[mask]) == numbers(ds[mask.tolist()]) == numbers(ds.filter(mask)) == ALL[::7]
    with pytest.raises(IndexError, match="the mask has 3 elements"):
        ds[[True, False, True]]
    with pytest.raises(TypeError, match="boolean mask"):
        ds.filter([1, 2, 3])


def test_bad_indices_are_named(ds):
    with pytest.raises(IndexError, match="index 50 is out of range for 50 samples"):
        ds[[0, 50]]
    with pytest.raises(IndexError, match="index -51"):
        ds.select([-51])
    with pytest.raises(TypeError, match="float64"):
        ds[[0.5]]
    with pytest.raises(TypeError, match="one-dimensional"):
        ds[np.zeros((2, 2), dtype=int)]


def test_views_of_views(ds):
    view = ds[10:40][::-1][[0, 5, -1]]
    assert numbers(view) == [39, 34, 10]
    assert view["id"] == ["s039", "s034", "s010"]
    assert [sample["n"] for sample in view.take([2, 0])] == [10, 39]
    assert numbers(view.select_columns(["n"])[1:]) == [34, 10]


def test_shuffle_is_a_permutation_that_the_seed_decides(ds):
    order = numbers(ds.shuffle(7))
    assert sorted(order) == ALL
    assert order != ALL
    assert numbers(ds.shuffle(seed=7)) == order
    assert numbers(ds.shuffle(8)) != order


def sort_key(sample):
    return sample["n"] % 3


def test_sort_is_stable_and_missing_comes_last(ds):
    rows = [samples.sample(index) for index in ALL]
    there = [row["n"] for row in rows if row["score"] is not None]
    missing = [row["n"] for row in rows if row["score"] is None]
    up = sorted(there, key=lambda n: rows[n]["score"])
    down = sorted(there, key=lambda n: rows[n]["score"], reverse=True)
    assert numbers(ds.sort("score")) == up + missing
    assert numbers(ds.sort("-score")) == numbers(ds.sort("score", reverse=True)) == down + missing
    assert numbers(ds.sort("-score", reverse=True)) == up + missing
    assert numbers(ds[::-1].sort("n")) == ALL


def test_sort_keys(ds):
    rows = [samples.sample(index) for index in ALL]
    assert numbers(ds.sort("len(messages)")) == sorted(ALL, key=lambda n: len(rows[n]["messages"]))
    assert numbers(ds.sort("-len(messages)")) == sorted(ALL, key=lambda n: len(rows[n]["messages"]), reverse=True)
    assert numbers(ds.sort("meta.source")) == sorted(ALL, key=lambda n: rows[n]["meta"]["source"])
    assert numbers(ds.sort("-id")) == ALL[::-1]
    assert numbers(ds.sort(sort_key)) == sorted(ALL, key=lambda n: n % 3)
    assert numbers(ds.sort("flag")) == sorted(ALL, key=lambda n: n % 2 == 0)
    with pytest.raises(KeyError, match="no column 'scores'"):
        ds.sort("scores")


def test_sort_by_an_odd_name(tmp_path):
    with jinx.Writer(tmp_path / "odd.jinx") as writer:
        writer.write_many([{"-a": 2, "len(a)": 1, "a.b": 5}, {"-a": 1, "len(a)": 3, "a.b": 4, "a": {"b": 9}}])
    ds = jinx.open(tmp_path / "odd.jinx")
    assert ds.sort("-a")["-a"].tolist() == [1, 2]
    assert ds.sort("len(a)")["len(a)"].tolist() == [1, 3]
    assert ds["a.b"].tolist() == [5, 4]


def test_nan_sorts_last_both_ways(tmp_path):
    with jinx.Writer(tmp_path / "nan.jinx") as writer:
        writer.write_many({"n": i, "x": x} for i, x in enumerate([2.0, float("nan"), 1.0, float("inf"), None]))
    ds = jinx.open(tmp_path / "nan.jinx")
    assert [sample["n"] for sample in ds.sort("x")] == [2, 0, 3, 1, 4]
    assert [sample["n"] for sample in ds.sort("-x")] == [3, 0, 2, 1, 4]


def test_sort_by_a_column_that_is_not_indexed_keeps_every_sample(tmp_path):
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"n": 0, "x": 2.5}\n{"n": 1}\n{"n": 2, "x": null}\n{"n": 3, "x": 0.5}\n', "utf-8")
    ds = jinx.open(lines)
    assert numbers(ds.sort("x")) == [3, 0, 1, 2]
    assert numbers(ds.sort("-x")) == [0, 3, 1, 2]


def test_values_without_an_order_are_an_error(tmp_path):
    with jinx.Writer(tmp_path / "mixed.jinx") as writer:
        writer.write_many([{"x": 1}, {"x": "a"}])
    with pytest.raises(TypeError, match="int, str have no order"):
        jinx.open(tmp_path / "mixed.jinx").sort("x")


def test_filter(ds):
    assert numbers(ds.filter(lambda sample: sample["n"] % 9 == 0)) == ALL[::9]
    assert numbers(ds.filter(ds["n"] > 45)) == ALL[46:]
    assert numbers(ds[::-1].filter(ds[::-1]["n"] > 45)) == ALL[:45:-1]


def double(sample):
    return {**sample, "n": sample["n"] * 2}


def test_map_is_kept_by_views(ds):
    mapped = ds.with_transform(double)
    assert mapped[3]["n"] == 6
    assert numbers(mapped[5:8]) == [10, 12, 14]
    assert [sample["n"] for sample in mapped.take([1])] == [2]
    assert [sample["n"] for sample in mapped.__getitems__([4])] == [8]
    assert mapped["n"].tolist() == [2 * n for n in ALL]
    assert numbers(mapped.sort("-n"))[0] == 98
    assert numbers(mapped.with_transform(double)[1:2]) == [4]
    assert mapped.select_columns(["n"])[2] == {"n": 4}
    assert mapped.column_names == list(samples.sample(0))


@pytest.mark.parametrize("parts", [1, 3, 7, 60])
def test_shards_cover_everything_once(ds, parts):
    pieces = [numbers(ds.shard(num_shards=parts, index=index)) for index in range(parts)]
    assert [n for piece in pieces for n in piece] == ALL
    sizes = {len(piece) for piece in pieces}
    assert max(sizes) - min(sizes) <= 1


def test_even_shards_have_one_size(ds):
    dropped = [numbers(ds.shard(num_shards=7, index=index, remainder="drop")) for index in range(7)]
    padded = [numbers(ds.shard(num_shards=7, index=index, remainder="pad")) for index in range(7)]
    assert {len(piece) for piece in dropped} == {7}
    assert {len(piece) for piece in padded} == {8}
    assert {n for piece in padded for n in piece} == set(ALL)
    assert len(ds[:0].shard(num_shards=3, index=0, remainder="pad")) == 0
    with pytest.raises(ValueError, match="shards count from 0"):
        ds.shard(num_shards=3, index=3)
    with pytest.raises(ValueError, match="'drop', 'pad'"):
        ds.shard(num_shards=3, index=0, remainder="both")


def test_split(ds):
    train, rest = ds.split(0.9)
    assert (numbers(train), numbers(rest)) == (ALL[:45], ALL[45:])
    train, rest = ds.split(0.8, seed=1)
    assert sorted(numbers(train) + numbers(rest)) == ALL
    assert numbers(train) == sorted(numbers(train)) != ALL[:40]
    assert numbers(ds.split(0.8, seed=1)[0]) == numbers(train)
    with pytest.raises(ValueError, match="between 0 and 1"):
        ds.split(90)


def test_select_and_drop_columns(ds):
    view = ds.select_columns(["n", "id"])
    assert view.column_names == ["n", "id"]
    assert set(view[0]) == {"n", "id"}
    assert set(ds[["id"]][0]) == {"id"}
    assert "image" not in ds.drop_columns(["image"])[0]
    with pytest.raises(KeyError):
        view["image"]
    with pytest.raises(KeyError, match="did you mean 'image'"):
        ds.drop_columns("images")


def test_concat(ds, tmp_path):
    other = jinx.open(samples.write(tmp_path / "b.jinx", 3))
    joined = jinx.concat([ds[::25], other, ds])
    assert numbers(joined) == [0, 25, 0, 1, 2, *ALL]
    assert joined["n"].tolist() == numbers(joined)
    assert len(jinx.concat([ds, other])) == samples.COUNT + 3
    assert numbers(jinx.concat([ds.with_transform(double)[:2], ds.with_transform(double)[:2]])) == [0, 2, 0, 2]
    with pytest.raises(ValueError, match="no dataset"):
        jinx.concat([])
    with pytest.raises(ValueError, match="differ in map"):
        jinx.concat([ds, ds.with_transform(double)])


def test_a_drawn_seed_is_shown_and_repeats_the_order(ds):
    shuffled = ds.shuffle()
    seed = int(re.search(r"shuffled with seed=(\d+)", repr(shuffled))[1])
    assert numbers(ds.shuffle(seed)) == numbers(shuffled)


def test_what_map_returns_is_merged(ds):
    mapped = ds.map(lambda sample: {"twice": 2 * sample["n"]}, remove_columns="id")
    assert isinstance(mapped[3], jinx.LazyDict)
    assert mapped[3]["twice"] == 6
    assert "id" not in mapped[3]
    assert ds.map(lambda _: None)[1]["id"] == ds[1]["id"]
    assert ds.map(lambda _: {"n": -1})[2]["n"] == -1
    assert ds[2]["n"] == 2
    with pytest.raises(TypeError, match="returned int; return a dict"):
        ds.map(lambda _: 5)[0]
    with pytest.raises(KeyError, match="no column 'idd'; did you mean 'id'"):
        ds.map(dict, remove_columns=["idd"])
    with pytest.raises(KeyError, match="no column 'id'"):
        mapped["id"]


def test_an_error_in_a_function_is_not_hidden(ds):
    with pytest.raises(AttributeError, match="wdith"):
        ds.map(lambda sample: {"n": sample.wdith}).column_names  # noqa: B018 - a property


@pytest.mark.parametrize("kind", ["memory", "saved"])
def test_a_column_that_one_of_several_datasets_hides_is_missing_there(tmp_path, kind):
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write_many({"n": n, "x": n, "s": f"s{n}"} for n in range(4))
    whole = jinx.open(tmp_path / "a.jinx")
    parts = [whole.select([0, 1]).drop_columns(["x", "s"]), whole.select([2, 3]).with_columns({"x": [7, 8]})]
    if kind == "saved":
        for i, part in enumerate(parts):
            part.save(tmp_path / f"v{i}.jinx")
        parts = [jinx.open(tmp_path / f"v{i}.jinx") for i in range(2)]
    both = jinx.concat(parts)
    assert [dict(one) for one in both] == [{"n": 0}, {"n": 1}, {"n": 2, "s": "s2", "x": 7}, {"n": 3, "s": "s3", "x": 8}]
    assert list(both.column("s")) == [None, None, "s2", "s3"]
    assert np.ma.asarray(both.column("x")).tolist() == [None, None, 7, 8]
    assert list(both.filter("x >= 0").column("n")) == [2, 3]
    assert list(both.filter("len(s) > 0").column("n")) == [2, 3]
    assert [one["n"] for one in both.sort("x", reverse=True)][:2] == [3, 2]


@pytest.mark.parametrize("pick", ["select", "filter", "__getitem__"])
def test_an_empty_mask_is_for_a_dataset_without_samples(ds, pick):
    mask = np.zeros(0, dtype=bool)
    assert len(getattr(ds[:0], pick)(mask)) == 0
    with pytest.raises(IndexError, match="the mask has 0 elements"):
        getattr(ds, pick)(mask)


def test_filter_takes_the_mask_that_a_loop_over_no_samples_makes(ds):
    none = ds[:0]
    assert len(none.filter([sample["n"] > 1 for sample in none])) == 0
    with pytest.raises(IndexError, match="the mask has 0 elements"):
        ds.filter([])


@pytest.mark.parametrize(("parts", "index", "named"), [(1.5, 0, "num_shards=1.5"), (3, 0.5, "index=0.5")])
def test_parts_are_whole_numbers(ds, parts, index, named):
    with pytest.raises(TypeError, match=named):
        ds.shard(num_shards=parts, index=index)


@pytest.mark.parametrize("apply", ["map", "with_transform", "with_columns"])
def test_a_function_that_stops_an_iteration_leaves_out_no_sample(ds, tmp_path, apply):
    """Python takes a StopIteration for the end of the samples."""

    def stops(sample):
        return next(iter(()))

    if apply == "with_columns":
        view = jinx.open(ds.path, lazy=False).with_columns({"first": stops})
    else:
        view = getattr(ds, apply)(stops)
    for read in (list, lambda view: view[0]):
        with pytest.raises(RuntimeError, match="StopIteration"):
            read(view)
    with pytest.raises((RuntimeError, StopIteration)):
        jinx.convert(view, tmp_path / "out.jinx")
    assert not (tmp_path / "out.jinx").exists()
