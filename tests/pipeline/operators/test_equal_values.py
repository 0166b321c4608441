"""Operators agree about which values are equal, and about which are missing."""

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jinx
import jinx_pipeline as jp

NAN = float("nan")


def grouped(values: list[Any]) -> list[list[int]]:
    groups = jp.create("key_value_grouper", group_by_keys=["k"])([{"id": i, "k": v} for i, v in enumerate(values)])
    return [list(group["id"]) for group in groups]


def most_frequent(values: list[Any]) -> list[int]:
    operator = jp.create("frequency_specified_field_selector", field_key="k", topk=1)
    return [sample["id"] for sample in operator([{"id": i, "k": v} for i, v in enumerate(values)])]


def chosen(values: list[Any], target: list[Any]) -> list[int]:
    operator = jp.create("specified_field_filter", field_key="k", target_value=target)
    return [sample["id"] for sample in operator([{"id": i, "k": v} for i, v in enumerate(values)])]


@pytest.mark.parametrize(
    "equal",
    [
        (1, 1.0, np.float32(1), np.int8(1)),
        ([1, {"a": 2.0}], [1.0, {"a": 2}]),
        (0, -0.0),
        (NAN, np.float64("nan")),
        (2**53, float(2**53)),
    ],
)
def test_equal_numbers_are_one_value_for_groups_frequencies_and_filters(equal: tuple[Any, ...]):
    values = [True, "1", *equal, None]
    same = list(range(2, 2 + len(equal)))
    assert same in grouped(values)
    assert most_frequent(values) == same
    if not isinstance(equal[0], list):
        assert chosen(values, [equal[0]]) == same
        assert chosen(values, [equal[-1]]) == same


def test_true_is_not_one():
    values = [1, True, 1.0, [True], [1]]
    assert grouped(values) == [[0, 2], [1], [3], [4]]
    assert chosen(values, [True]) == [1, 3]
    assert chosen(values, [1]) == [0, 2, 4]


def test_large_arrays_that_differ_in_one_element_are_different():
    array = np.arange(3000)
    other = array.copy()
    other[1500] = 7
    assert grouped([array, other, array]) == [[0, 2], [1]]
    assert most_frequent([[other], [array], [array]]) == [1, 2]


def test_large_arrays_join_only_with_equal_ones(tmp_path: Path):
    array = np.arange(3000)
    other = array.copy()
    other[1500] = 7
    with jinx.Writer(tmp_path / "other.jinx") as writer:
        writer.write({"k": other, "name": "other"})
    join = jp.create("join", path=str(tmp_path / "other.jinx"), on="k", how="inner")
    assert [sample["id"] for sample in join([{"id": 0, "k": array}, {"id": 1, "k": other}])] == [1]


def test_aggregates_leave_nan_out_in_any_order():
    rules = {how: f"{how}:k" for how in ("min", "max", "sum", "mean", "count")}
    aggregator = jp.create("field_aggregator", columns=rules)
    for values in permutations([3, NAN, 1, None, np.float32("nan")]):
        (sample,) = aggregator([{"k": value} for value in values])
        assert dict(sample) == {"min": 1, "max": 3, "sum": 4, "mean": 2, "count": 2}
    (empty,) = jp.create("field_aggregator", columns={"low": "min:k", "one": "first:k"})([{"k": NAN}])
    assert dict(empty) == {"low": None, "one": None}
