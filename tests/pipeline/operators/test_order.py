"""sort and shuffle as operators: the orders of jinx.sort and jinx.shuffle."""

import random

import numpy as np
import pyarrow as pa
import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.operators.order import sort_keys
from jinx_pipeline.operators.order.ranked import Ranked
from jinx_pipeline.operators.order.sort_keys import Edges

RNG = random.Random(7)
SAMPLES = [
    {
        "id": at,
        "number": RNG.choice([None, RNG.randrange(-5, 5), RNG.random(), 2**63 + RNG.randrange(3), -(2**62) - at % 3]),
        "text": RNG.choice([None, "", "\0", "é", "a" * RNG.randrange(12), f"prefixed {RNG.randrange(20)}", "😀"]),
        "deep": {"n": at % 7} if at % 5 else None,
    }
    for at in range(400)
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "in.jinx"
    with jinx.Writer(path) as writer:
        for sample in SAMPLES:
            writer.write(sample)
    return path


def ids(samples) -> list[int]:
    return [sample["id"] for sample in samples]


def found(operator, tables, ranges, folder):
    """As the engine runs it: each range by itself, from tables that blocks have written."""
    most = -(-sum(map(len, tables)) // ranges)
    return operator.decided(tables, str(folder), memory=256 * most).order.array().tolist()


@pytest.mark.parametrize("by", ["number", "-number", "text", "-text", "deep.n", "len(text)", ["text", "-number"]])
@pytest.mark.parametrize("missing", ["last", "drop"])
def test_the_order_of_jinx_sort(data, tmp_path, by, missing):
    jinx.sort(data, tmp_path / "sorted.jinx", by=by, missing=missing)
    expected = ids(jinx.open(tmp_path / "sorted.jinx"))
    operator = jp.ops.Sort(by=by, missing=missing)
    assert ids(operator(SAMPLES)) == expected
    assert ids(operator(jinx.open(data))) == expected
    for source in (SAMPLES, jinx.open(data)):
        tables = [operator.signatures(part, jp.Context()) for part in jp.Batch(source).slices(37)]
        for ranges in (1, 2, 5):
            assert found(operator, tables, ranges, tmp_path) == expected


def test_descending_reverses_all_keys(data, tmp_path):
    jinx.sort(data, tmp_path / "sorted.jinx", by=["deep.n", "-text"], descending=True)
    assert ids(jp.ops.Sort(by=["deep.n", "-text"], descending=True)(SAMPLES)) == ids(
        jinx.open(tmp_path / "sorted.jinx")
    )


def test_many_samples_are_divided(monkeypatch):
    looks = []
    look = Ranked.look
    monkeypatch.setattr(Ranked, "most_keys", 30)
    monkeypatch.setattr(Ranked, "look", lambda *given: looks.append(given) or look(*given))
    assert jp.ops.Sort(by="text")(SAMPLES) == sorted(
        SAMPLES, key=lambda sample: (sample["text"] is None, sample["text"] or "")
    )
    assert len(looks) == 14


@pytest.mark.parametrize("ranges", [1, 4])
def test_numbers_and_strings_have_no_order(tmp_path, ranges):
    operator = jp.ops.Sort(by="x")
    samples = [{"x": None}, {"x": 1}, {"x": 2}, {"x": "a"}, {"x": 2.5}]
    tables = [operator.signatures(part, jp.Context()) for part in jp.Batch(samples).slices(2)]
    with pytest.raises(ValueError, match="'x' is a number in sample 1 and a string in sample 3"):
        found(operator, tables, ranges, tmp_path)


def sampled(table):
    """The keys of a block by which ranges are chosen."""
    return jp.ops.Sort(by="x").sample(table)


@pytest.mark.parametrize(
    "shape", ["https://example.org/a/b/{}", "{}", "x" * 40 + "{}", "{}" + "y" * 9, "é" * 7 + "{}\0"]
)
def test_strings_are_divided_evenly_and_in_order_however_they_begin(shape):
    texts = [shape.format(RNG.choice(["", "a", "ab", "\0", f"{RNG.randrange(10**9):09}"])) for _ in range(1000)]
    texts += [shape.format(f"{RNG.randrange(10**9):09}") for _ in range(3000)]
    RNG.shuffle(texts)
    table = pa.table({"number_0": pa.nulls(4000, pa.float64()), "text_0": pa.array(texts, pa.large_string())})
    tables = [table.slice(start, 100) for start in range(0, 4000, 100)]
    edges = Edges.of(map(sampled, tables), 10, is_descending=False)
    ranges = np.concatenate([edges.range_of(table) for table in tables])
    in_order = ranges[np.argsort(np.array([text.encode() for text in texts], object), kind="stable")]
    assert (np.diff(in_order) >= 0).all()
    assert np.bincount(ranges, minlength=10).max() < 1200  # of 4000, among which many are equal


def test_long_strings_are_divided_by_their_first_characters():
    texts = [RNG.choice("aé😀") * RNG.randrange(200) + RNG.choice("bé😀") * 5000 for _ in range(400)]
    table = pa.table({"number_0": pa.nulls(400, pa.float64()), "text_0": pa.array(texts, pa.large_string())})
    tables = [table.slice(start, 50) for start in range(0, 400, 50)]
    edges = Edges.of(map(sampled, tables), 8, is_descending=False)
    assert max(map(len, edges.texts.to_pylist())) == 256
    ranges = np.concatenate([edges.range_of(table) for table in tables])
    assert (np.diff(ranges[np.argsort(np.array([text.encode() for text in texts], object))]) >= 0).all()
    assert np.bincount(ranges, minlength=8).max() < 100


def test_strings_are_compared_with_an_edge_until_they_differ(monkeypatch):
    compared = []
    words = sort_keys._words
    monkeypatch.setattr(sort_keys, "_words", lambda *given: compared.append(given) or words(*given))
    table = pa.table({"number_0": pa.nulls(3, pa.float64()), "text_0": pa.array(["b", "y", "z"], pa.large_string())})
    edges = Edges(2, np.empty(0), pa.array(["x" * 256], pa.large_string()), is_descending=False)
    assert edges.range_of(table).tolist() == [0, 1, 1]
    assert len(compared) == 2


@pytest.mark.parametrize("ranges", [1, 3])
def test_integers_of_any_size(tmp_path, ranges):
    values = [1 << 64, 1.5, -(1 << 70), 1e300, 10**400, -(10**400), (1 << 64) + 1, 2.0**64, True, 1 << 63]
    values += [10**400 + 1, float("-inf"), -1, float("inf"), (1 << 53) + 1, (1 << 53) - 1]
    samples = [{"id": at, "x": value} for at, value in enumerate(values)]
    for by in ("x", "-x"):
        operator = jp.ops.Sort(by=by)
        tables = [operator.signatures(part, jp.Context()) for part in jp.Batch(samples).slices(4)]
        expected = sorted(range(len(values)), key=values.__getitem__, reverse=by == "-x")
        assert found(operator, tables, ranges, tmp_path) == expected
    largest = jp.create("topk_specified_field_selector", field_key="x", topk=2)
    assert ids(largest(samples)) == [10, 13]
    assert ids(largest(list(reversed(samples)))) == [13, 10]


def test_what_is_no_key():
    for value in ([1], {"a": 1}, b"a"):
        with pytest.raises(TypeError, match="x: a sort key is a number or a string, not "):
            jp.ops.Sort(by="x")([{"x": 1.5}, {"x": value}])
    with pytest.raises(TypeError, match="x: int has no length"):
        jp.ops.Sort(by="len(x)")([{"x": 1}])
    with pytest.raises(ValueError, match="2 of 3 samples lack a key"):
        jp.ops.Sort(by="x", missing="fail")([{"x": 1}, {"x": None}, {"x": float("nan")}])
    for by in ([], [""], "-", "len()"):
        with pytest.raises(jp.ParameterError, match="by is empty"):
            jp.ops.Sort(by=by)
    assert jp.ops.Sort(by="x")([]) == []


def test_shuffle_is_that_of_jinx(data, tmp_path):
    jinx.shuffle(data, tmp_path / "shuffled.jinx", seed=5)
    expected = ids(jinx.open(tmp_path / "shuffled.jinx"))
    assert ids(jp.ops.Shuffle(seed=5)(SAMPLES)) == expected
    assert ids(jp.create("shuffle")(SAMPLES, ctx=jp.Context(seed=5))) == expected
    assert sorted(expected) == list(range(400))
    with pytest.raises(jp.ParameterError, match="seed is -1"):
        jp.ops.Shuffle(seed=-1)
