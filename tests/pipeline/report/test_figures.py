"""The figures of operators: what each of them read, made and failed on."""

from types import SimpleNamespace

import jinx
import jinx_pipeline as jp
from jinx_pipeline.operators import Resources
from jinx_pipeline.recipe.model import Recipe, Step
from jinx_pipeline.report.figures import totals

FUNCTIONS = """
def first(sample):
    if sample["n"] < 3:
        raise ValueError(sample["n"])
    return sample

def second(sample):
    if sample["n"] > 5:
        raise ValueError(sample["n"])
    return sample
"""


def test_rows_count_for_the_operator_that_failed_on_them_not_for_another_of_its_name(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"n": n} for n in range(10))
    file = tmp_path / "functions.py"
    file.write_text(FUNCTIONS)
    operators = [jp.create("python_file_mapper", file_path=file, function_name=name) for name in ("first", "second")]
    result = (
        jp.Dataset.load(tmp_path / "in.jinx")
        .process(operators)
        .export(tmp_path / "out.jinx", workers=1, max_bad_rows=7)
    )
    figures = [(totals.rows_in, totals.rows_out, totals.bad_rows) for totals in result.operators]
    assert figures == [(10, 7, 3), (7, 3, 4)]
    assert [(bad.row, bad.number) for bad in result.bad_rows] == [
        *((n, 0) for n in range(3)),
        *((n, 1) for n in range(6, 10)),
    ]


def test_the_time_of_workers_with_a_share_of_a_gpu_counts_for_gpus():
    steps = tuple(Step(jp.create("text_length_filter"), given_resources=Resources(gpus=gpus)) for gpus in (0.5, 0.0))
    done = SimpleNamespace(rows_in=9, rows_out=9, seconds=240.0, cpu_seconds=1.0, peak_bytes=0, counts={"hits": 3})
    receipt = SimpleNamespace(figures=[SimpleNamespace(number=number, **vars(done)) for number in (0, 1)], bad_rows=())
    ledger = SimpleNamespace(receipts=lambda: [receipt], decisions=list, bad_rows=list)
    on_gpu, on_cpu = totals(ledger, Recipe((), jp.Roles(), steps))
    assert on_gpu.details == ["2 min 0 s of GPUs", "3 hits"]
    assert on_cpu.details == ["3 hits"]


def test_an_aggregator_counts_groups_and_their_samples(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"n": n, "k": n % 4} for n in range(20))
    counted = jp.create("field_aggregator", columns={"n": "count"})
    grouper = jp.create("key_value_grouper", group_by_keys=["k"])
    expected = {"grouped": [(20, 4), (4, 4)], "whole": [(20, 1)]}
    for name, operators in {"grouped": [grouper, counted], "whole": [counted]}.items():
        result = jp.Dataset.load(tmp_path / "in.jinx").process(operators).export(tmp_path / name, workers=1)
        assert [(totals.rows_in, totals.rows_out) for totals in result.operators] == expected[name]
        assert all(totals.seconds > 0 for totals in result.operators)
