"""Operators that look at all samples: selectors, groupers, aggregators."""

import pytest

import jinx
import jinx_pipeline as jp

SAMPLES = [
    {"id": 0, "lang": "en", "score": 3, "text": "a"},
    {"id": 1, "lang": "de", "score": 1, "text": "b"},
    {"id": 2, "lang": "en", "score": None, "text": "c"},
    {"id": 3, "score": 3, "text": "d"},
]


def ids(samples) -> list[int]:
    return [sample["id"] for sample in samples]


@pytest.mark.parametrize(
    ("parameters", "kept"),
    [
        ({"topk": 1}, [0]),
        ({"topk": 2}, [0, 3]),
        ({"topk": 2, "reverse": False}, [0, 1]),
        ({"top_ratio": 0.75}, [0, 1, 3]),
        ({"top_ratio": 0.99, "topk": 1}, [0]),
        ({"topk": 9}, [0, 1, 2, 3]),
        ({"topk": 0}, []),
    ],
)
def test_topk(parameters, kept):
    assert ids(jp.create("topk_specified_field_selector", field_key="score", **parameters)(SAMPLES)) == kept


def test_topk_of_a_statistic_and_of_a_view(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        for text in ("aa", "aaaa", "a"):
            writer.write({"text": text})
    marked = jp.create("text_length_filter", min_len=1).measure(jp.Batch(jinx.open(tmp_path / "in.jinx")), jp.Context())
    longest = jp.create("topk_specified_field_selector", field_key="__dj__stats__.text_len", topk=2)
    assert longest.run(marked, jp.Context()).text.to_pylist() == ["aa", "aaaa"]


def test_topk_needs_a_number():
    with pytest.raises(jp.ParameterError, match="give top_ratio or topk"):
        jp.create("topk_specified_field_selector", field_key="score")
    with pytest.raises(jp.ParameterError, match="the parameter 'field_key' is needed"):
        jp.create("topk_specified_field_selector", topk=1)
    with pytest.raises(jp.ParameterError, match="field_key is empty"):
        jp.create("topk_specified_field_selector", field_key="", topk=1)
    with pytest.raises(ValueError, match="'x' is a number in sample 0 and a string in sample 1"):
        jp.create("topk_specified_field_selector", field_key="x", topk=1)([{"x": 1}, {"x": "a"}])


def test_groups_in_the_order_of_their_first_samples():
    groups = jp.create("key_value_grouper", group_by_keys=["lang"])(SAMPLES)
    assert [group["id"] for group in groups] == [[0, 2], [1], [3]]
    assert groups[2]["lang"] == [None]
    mixed = [{"k": 1}, {"k": True}, {"k": 1.0}, {"k": [1]}, {"k": [1]}]
    assert [len(group["k"]) for group in jp.create("key_value_grouper", group_by_keys=["k"])(mixed)] == [2, 1, 2]


def test_a_group_becomes_a_sample():
    grouper = jp.create("key_value_grouper", group_by_keys=["lang"])
    rules = {"lang": "first:lang", "n": "count", "scored": "count:score", "sum": "sum:score", "mean": "mean:score"}
    aggregator = jp.create(
        "field_aggregator", columns={**rules, "text": "concat:text", "best": "max:score"}, separator="+"
    )
    made = [dict(aggregator.aggregate(group, jp.Context())) for group in grouper.groups(jp.Batch(SAMPLES))]
    assert made[0] == {"lang": "en", "n": 2, "scored": 1, "sum": 3, "mean": 3.0, "text": "a+c", "best": 3}
    assert made[2] == {"lang": None, "n": 1, "scored": 1, "sum": 3, "mean": 3.0, "text": "d", "best": 3}
    assert aggregator([]) == []
    assert aggregator(SAMPLES)[0]["n"] == 4


def test_rules_of_an_aggregator():
    with pytest.raises(jp.ParameterError, match="the column 'x' is 'median:score'; write one of count, sum"):
        jp.create("field_aggregator", columns={"x": "median:score"})
    with pytest.raises(TypeError, match="field_aggregator: sum:text"):
        jp.create("field_aggregator", columns={"x": "sum:text"})(SAMPLES)
    assert jp.create("field_aggregator", columns={"all": "concat:x"})([{"x": [1]}, {"x": [2, 3]}]) == [
        {"all": [1, 2, 3]}
    ]


def test_what_is_joined_of_a_group_without_values_is_missing():
    aggregator = jp.create("field_aggregator", columns={"all": "concat:x"})
    for samples in ([{"x": None}], [{"x": float("nan")}, {"x": None}]):
        assert aggregator(samples) == [{"all": None}]
    assert aggregator([{"x": None}, {"x": []}]) == [{"all": []}]
    assert aggregator([{"x": ""}]) == [{"all": ""}]
