"""Insight into filters, counts of strings and metrics of a run."""

from xml.etree import ElementTree as ET

import numpy as np
import pytest

from jinx_pipeline.model.receipt import BadRow
from jinx_pipeline.report.figures import OperatorTotals
from jinx_pipeline.report.insight import changes, cohens_d, incomplete_beta, ks_distance, ks_p, welch_p
from jinx_pipeline.report.metrics import metrics_text
from jinx_pipeline.report.run_result import OutputResult, RunResult
from jinx_pipeline.report.tags import bars, cloud, tag_counts


@pytest.mark.parametrize(
    ("t", "freedom", "p"), [(2.0, 10, 0.07338803), (0.5, 3, 0.65145), (3.0, 200, 0.0030414), (1.0, 1, 0.5)]
)
def test_probabilities_of_the_t_distribution(t, freedom, p):
    assert incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) == pytest.approx(p, rel=1e-3)


def test_probabilities_of_the_kolmogorov_distribution():
    # A tabulated value: the 5 percent point of the limit distribution is 1.358.
    large = 10**8
    assert ks_p(1.3581 / np.sqrt(large / 2), large, large) == pytest.approx(0.05, rel=0.01)
    assert ks_p(0.0, 10, 10) == 1.0


def test_equal_and_different_samples():
    first, second = np.arange(50.0), np.arange(50.0) + 100
    assert (welch_p(first, first), ks_distance(first, first), cohens_d(first, first)) == (1.0, 0.0, 0.0)
    assert welch_p(first, second) < 1e-9
    assert ks_distance(first, second) == 1.0
    assert cohens_d(second, first) > 5
    constant = np.ones(9)
    assert (welch_p(constant, constant), cohens_d(constant, constant)) == (1.0, 0.0)
    assert welch_p(constant, constant + 1) == 0.0


def test_a_filter_changes_what_depends_on_its_statistic_and_nothing_else():
    generator = np.random.default_rng(5)
    length = generator.normal(100, 20, 2000)
    columns = {
        "length": length,
        "words": length / 5 + generator.normal(0, 1, 2000),
        "noise": generator.normal(size=2000),
    }
    columns["noise"][::7] = np.nan
    found = changes(columns, [("long", length > 100), ("all", np.ones(2000, dtype=bool))])
    assert [change.operator for change in found] == ["long"] * 3
    by_name = {change.statistic: change for change in found}
    assert [change.statistic for change in found][-1] == "noise"
    assert by_name["words"].effect > 1
    assert by_name["words"].p_mean < 1e-6
    assert by_name["noise"].p_mean > 0.05
    assert by_name["noise"].kept + by_name["noise"].dropped == int(np.isfinite(columns["noise"]).sum())
    assert by_name["length"].mean_after > 100 > by_name["length"].mean_before - 5


def test_chance_is_corrected_for_the_number_of_comparisons():
    generator = np.random.default_rng(0)
    columns = {f"s{n}": generator.normal(size=400) for n in range(200)}
    found = changes(columns, [("half", generator.random(400) < 0.5)])
    assert len(found) == 200
    assert not [change for change in found if min(change.p_mean, change.p_shape) < 0.01]


def test_few_values_say_nothing():
    assert changes({"a": np.arange(10.0)}, [("f", np.arange(10) < 4)]) == []
    assert changes({}, []) == []


def test_strings_are_counted_and_drawn():
    tags = tag_counts([["b", "a"], "a", None, ["<x>"], "c" * 90])
    assert tags[0] == ("a", 2)
    for picture in (bars(tags), cloud(tags), bars([]), cloud([])):
        ET.fromstring(picture)
    assert "&lt;x&gt;" in cloud(tags)
    assert "c" * 30 not in bars(tags)


def test_metrics_are_in_the_format_of_prometheus():
    result = RunResult(
        "out.jinx",
        10,
        7,
        99,
        1.5,
        [BadRow(3, "a", "e")],
        [OperatorTotals(0, "text_length_filter", 10, 7, 1, 0.25, 0.2, 4096)],
        "w",
        outputs=[OutputResult('a "b"\\c', 7, 99)],
    )
    lines = metrics_text(result).splitlines()
    assert "# TYPE jinx_pipeline_rows_read_total counter" in lines
    assert "jinx_pipeline_rows_read_total 10" in lines
    assert "jinx_pipeline_ok 0" in lines
    assert 'jinx_pipeline_output_rows{path="a \\"b\\"\\\\c"} 7' in lines
    assert 'jinx_pipeline_operator_output_rows_total{operator="text_length_filter",place="0"} 7' in lines
    assert all(line.startswith(("#", "jinx_pipeline_")) for line in lines)
