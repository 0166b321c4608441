"""One column of all samples, and batches."""

import numpy as np
import pytest

import jinx
import samples

ALL = list(range(samples.COUNT))
ROWS = [samples.sample(index) for index in ALL]


@pytest.fixture(scope="module")
def ds(tmp_path_factory) -> jinx.Dataset:
    return jinx.open(samples.write(tmp_path_factory.mktemp("columns") / "a.jinx", indexed=["id", "meta.width"]))


def test_numbers_are_arrays(ds):
    assert isinstance(ds["n"], np.ndarray)
    assert ds["n"].tolist() == ALL
    assert ds["flag"].dtype == np.bool_
    assert ds["meta.width"].tolist() == [2 * n for n in ALL]
    ds["n"][0] = 5  # an own copy
    assert ds["n"][0] == 0


def test_arithmetic_does_not_overflow(tmp_path):
    sizes = [(300, 500), (40, 7), (32_000, 32_000)]
    jinx.convert([{"width": width, "height": height, "small": 200} for width, height in sizes], tmp_path / "a.jinx")
    ds = jinx.open(tmp_path / "a.jinx")
    assert ds["width"].dtype == ds["small"].dtype == np.int64
    assert (ds["width"] * ds["height"]).tolist() == [width * height for width, height in sizes]
    assert (ds["small"] * 2).tolist() == [400] * 3
    assert len(ds.filter(ds["width"] * ds["height"] > 100_000)) == 2
    areas = ds.with_columns({"area": ds["width"] * ds["height"]})
    assert [one["area"] for one in areas] == [150_000, 280, 1_024_000_000]


def test_unsigned_integers_of_64_bits(tmp_path):
    jinx.convert([{"n": 2**63}, {"n": 1}], tmp_path / "a.jinx")
    assert jinx.open(tmp_path / "a.jinx")["n"].tolist() == [2**63, 1]


def test_missing_values_are_masked(ds):
    scores = ds["score"]
    assert isinstance(scores, np.ma.MaskedArray)
    assert scores.dtype == np.float64
    assert scores.tolist() == [row["score"] for row in ROWS]
    assert np.isnan(scores.data[scores.mask]).all()
    assert ds.column("score").tolist() == scores.tolist()
    complete = ds[[4]]["score"]  # the files decide, not the view
    assert isinstance(complete, np.ma.MaskedArray)
    assert complete.tolist() == [ROWS[4]["score"]]


@pytest.mark.parametrize("name", ["id", "messages", "image", "meta", "meta.source"])
def test_everything_else_is_a_list(ds, name):
    first, _, second = name.partition(".")
    assert ds[name] == [row[first][second] if second else row[first] for row in ROWS]


def test_array_columns(ds):
    assert [samples.plain(array) for array in ds["array"][:3]] == [samples.plain(row["array"]) for row in ROWS[:3]]


def test_columns_follow_the_view(ds):
    assert ds[::-3]["n"].tolist() == ALL[::-3]
    assert ds[[5, 1]]["id"] == ["s005", "s001"]
    assert ds[[4, 3]]["score"].tolist() == [ROWS[4]["score"], None]


def test_columns_of_files_that_lack_them(tmp_path):
    path = samples.write(tmp_path / "bare.jinx", only_indexed=[])
    ds = jinx.open(path)
    assert ds.info().indexed == []
    assert ds["n"].tolist() == ALL
    assert isinstance(ds["score"], np.ma.MaskedArray)
    assert ds["score"].tolist() == [row["score"] for row in ROWS]
    assert ds[[4, 3]]["score"].tolist() == [ROWS[4]["score"], None]
    assert ds["meta.width"].tolist() == [2 * n for n in ALL]
    assert ds.lengths("messages").tolist() == [len(row["messages"]) for row in ROWS]


@pytest.mark.parametrize("name", ["messages", "id", "image"])
def test_lengths(ds, name):
    lengths = ds.lengths(name)
    assert lengths.dtype == np.int64
    assert lengths.tolist() == [len(row[name]) for row in ROWS]
    assert ds[7].length(name) == len(ROWS[7][name])


def test_lengths_of_missing_values_are_zero(tmp_path):
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write_many([{"x": "abc"}, {"x": None}, {}])
    assert jinx.open(tmp_path / "a.jinx").lengths("x").tolist() == [3, 0, 0]


def test_big_integers_stay_exact(tmp_path):
    values = [1 << 70, 3, -(1 << 63)]
    with jinx.Writer(tmp_path / "big.jinx") as writer:
        writer.write_many({"x": value} for value in values)
    ds = jinx.open(tmp_path / "big.jinx")
    assert [sample["x"] for sample in ds] == values
    assert list(ds["x"]) == values


def test_batches_of_dicts(ds):
    batches = list(ds.iter_batches(20))
    assert [len(batch) for batch in batches] == [20, 20, 10]
    assert [sample["n"] for batch in batches for sample in batch] == ALL
    assert [len(batch) for batch in ds.iter_batches(20, remainder="drop")] == [20, 20]


def test_batches_of_columns(ds):
    batch = next(ds.iter_batches(3, columns=["n", "id"], format="columns"))
    assert batch == {"n": [0, 1, 2], "id": ["s000", "s001", "s002"]}
    assert list(batch) == ["n", "id"]


def test_batches_of_arrays(ds):
    batch = next(ds.iter_batches(4, columns=["n", "array", "id", "messages"], format="numpy"))
    assert batch["n"].tolist() == [0, 1, 2, 3]
    assert batch["array"].shape == (4, 2, 3)
    assert batch["array"].dtype == np.int16
    assert batch["id"].dtype == object
    assert batch["messages"].shape == (4,)


def test_bad_batch_arguments_are_named(ds):
    with pytest.raises(ValueError, match="impossible"):
        ds.iter_batches(0)
    with pytest.raises(ValueError, match="'lists' is not known"):
        ds.iter_batches(2, format="lists")


def test_to_list_and_pandas(ds):
    assert [samples.plain(row) for row in ds[:3].to_list()] == [samples.plain(row) for row in ROWS[:3]]
    frame = ds.to_pandas(["n", "id", "image"])
    assert list(frame.columns) == ["n", "id", "image"]
    assert frame["n"].tolist() == ALL
    assert frame["image"].tolist() == [row["image"] for row in ROWS]


NESTED = [
    {"d": {"width": 1, "a.b": 10, "deep": {"x": None}}, "n": 1, "list": [{"a": 1}], "odd.name": {"x": 1}},
    {"d": {"width": 2, "a.b": 20, 'say "no".': 3}, "n": 2, "list": []},
]


@pytest.fixture(params=["jinx", "jsonl", "map"])
def nested(request, tmp_path) -> jinx.Dataset:
    """The same samples from a file that lists its columns, from one that does not, and through a function."""
    path = tmp_path / ("nested.jsonl" if request.param == "jsonl" else "nested.jinx")
    jinx.convert(NESTED, path)
    return jinx.open(path).with_transform(dict) if request.param == "map" else jinx.open(path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("d.widht", "no column 'd.widht'; did you mean 'd.width'?"),
        ("d.nothing", "no column 'd.nothing'; 'd' has: width, a.b, deep, say \"no\"."),
        ("d.deep.y", "no column 'd.deep.y'; 'd.deep' has: x"),
        ("d.width.x", "no column 'd.width.x'; 'd.width' is not a dict"),
        ("n.x", "no column 'n.x'; 'n' is not a dict"),
        ("list.a", "no column 'list.a'; 'list' is not a dict"),
        ("d.a.b", "no column 'd.a.b'; did you mean 'd.\"a.b\"'?"),
        ('d."x.y"', "no column 'd.\"x.y\"'; 'd' has: width, a.b, deep, say \"no\"."),
    ],
)
def test_a_path_that_no_sample_has_is_an_error(nested, name, message):
    ways = [nested.column, nested.lengths, nested.sort, lambda name: nested.sort(f"-{name}")]
    for read in [*ways, lambda name: nested.sort(f"len({name})"), lambda name: nested.filter(nested[name])]:
        with pytest.raises(KeyError) as caught:
            read(name)
        assert caught.value.args == (message,)


def test_a_path_that_some_sample_has_is_none(nested):
    assert nested["d.deep.x"] == [None, None]
    assert nested.lengths("d.deep").tolist() == [1, 0]
    assert [sample["n"] for sample in nested.sort("d.deep.x")] == [1, 2]


def test_a_view_without_the_path_is_no_mistake(tmp_path):
    jinx.convert(NESTED, tmp_path / "a.jinx")
    ds = jinx.open(tmp_path / "a.jinx")
    assert ds[1:]["odd.name"] == ds[1:]["d.deep"] == [None]
    assert ds[:0]["d.deep"] == []
    with pytest.raises(KeyError):
        ds[:0].column("d.dep")


def test_names_with_dots_are_quoted(nested):
    assert nested['d."a.b"'].tolist() == [10, 20]
    assert nested['"d".width'].tolist() == [1, 2]
    assert nested['d."say ""no""."'].tolist() == [None, 3]
    assert nested['"odd.name".x'].tolist() == [1, None]
    assert [sample["n"] for sample in nested.sort('-d."a.b"')] == [2, 1]
    with pytest.raises(ValueError, match="quotes in the path"):
        nested.column('d."a.b')


def test_an_exact_name_wins_in_every_sample(tmp_path):
    jinx.convert([{"a.b": 1, "a": {"b": 5}}, {"a": {"b": 2}}], tmp_path / "a.jinx")
    ds = jinx.open(tmp_path / "a.jinx")
    assert ds["a.b"].tolist() == [1, None]
    assert ds['a."b"'].tolist() == [5, 2]


def test_a_quoted_name_may_be_a_stored_column(tmp_path):
    jinx.convert(NESTED, tmp_path / "a.jinx", indexed=['d."a.b"'])
    ds = jinx.open(tmp_path / "a.jinx")
    assert 'd."a.b"' in [column.path for column in ds.info().indexed]
    assert ds['d."a.b"'].dtype == np.int64


def test_pandas_gets_every_integer_as_it_is(tmp_path):
    pd = pytest.importorskip("pandas")
    large = 2**62 + 1
    samples = [
        {"one": large, "all": 2**64 - 1, "mixed": large, "beyond": 2**70 + 1, "small": 3, "whole": 2**53},
        {"one": None, "all": None, "mixed": 0.5, "beyond": None, "small": None, "whole": 0.5},
        {"one": -3, "all": 1, "mixed": None, "beyond": -1, "small": 5, "whole": None},
    ]
    jinx.convert(samples, tmp_path / "a.jsonl")
    frame = jinx.open(tmp_path / "a.jsonl").to_pandas()
    for name in samples[0]:
        cells = [None if pd.isna(cell) else cell for cell in frame[name]]
        assert cells == [sample[name] for sample in samples], name
    assert frame.dtypes.astype(str).tolist() == ["Int64", "UInt64", "object", "object", "float64", "float64"]


def test_a_name_that_a_dict_has_twice_counts_once(tmp_path):
    lines = ['{"id": 0, "m": {"c": 1, "c": 2}}', '{"id": 1, "m": {"c": 1, "\\u0063": 2, "d": 3}}', '{"id": 2, "m": {}}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    jinx.convert(tmp_path / "a.jsonl", tmp_path / "a.jinx")
    for name in ("a.jsonl", "a.jinx"):
        dataset = jinx.open(tmp_path / name)
        assert [len(sample["m"]) for sample in dataset] == [1, 2, 0]
        assert [sample.length("m") for sample in dataset] == [1, 2, 0]
        assert dataset.lengths("m").tolist() == [1, 2, 0]
        assert list(dataset.filter("len(m) == 1")["id"]) == [0]
        assert list(dataset.sort("-len(m)")["id"]) == [1, 0, 2]
        assert [sample["id"] for sample in jinx.stream(tmp_path / name, where="len(m) == 1")] == [0]
