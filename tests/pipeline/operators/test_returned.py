"""What operators return is compared with the samples that they were given: another number would be other rows."""

from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.returned import ReturnedError, check_count
from jinx_pipeline.operators.api.sample_source import PRIVATE
from jinx_pipeline.plan.stage import Stage
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.worker.operator_chain import BatchError, Chain

SAMPLES = [{"n": n, "text": f"text {n}"} for n in range(4)]


def keeping(mask):
    class Keeping(jp.Filter):
        stats: ClassVar = {"x": "int64"}

        def compute_stats(self, batch, ctx):
            return {"x": batch.column("n")}

        def keep(self, stats):
            return mask

    return Keeping()


@pytest.mark.parametrize(
    ("mask", "error"),
    [
        (np.array([0, 1, 1, 0]), TypeError),  # would be positions: rows 0, 1, 1 and 0
        ([0, 1], ReturnedError),
        ([True], ReturnedError),
        (True, TypeError),
        ([None] * 4, TypeError),
        (np.full(4, np.nan), TypeError),
    ],
)
def test_a_filter_keeps_by_a_mask_alone(mask, error):
    with pytest.raises(error, match="keep returned"):
        keeping(mask)(SAMPLES)


@pytest.mark.parametrize(
    "mask", [np.array([True, False, False, True]), [True, False, False, True], pa.array([True, False, False, True])]
)
def test_masks_of_all_kinds_are_taken(mask):
    assert [sample["n"] for sample in keeping(mask)(SAMPLES)] == [0, 3]


def test_a_statistic_that_was_not_computed_is_named():
    class Forgetful(jp.Filter):
        stats: ClassVar = {"x": "int64", "y": "int64"}

        def compute_stats(self, batch, ctx):
            return {"x": batch.column("n")}

    with pytest.raises(ValueError, match="compute_stats did not return y"):
        Forgetful()(SAMPLES)


@pytest.mark.parametrize(
    "values", ["abcd", b"abcd", {1, 2, 3, 4}, dict.fromkeys("abcd"), 4, (n for n in range(4)), np.array(4)]
)
def test_what_is_no_column_is_refused(values):
    with pytest.raises(TypeError, match=r"is a .*; give a list or an array"):
        check_count("the column 'x'", values, 4)


@pytest.mark.parametrize(
    ("parents", "error"),
    [([-1, 0], ReturnedError), ([0, 4], ReturnedError), ([1, 0], ReturnedError), ([0.5, 1.5], TypeError)],
)
def test_a_splitter_names_samples_of_its_batch_in_order(parents, error):
    class Splitting(jp.Splitter):
        def split(self, batch, ctx):
            return parents, {"text": ["x", "y"]}

    with pytest.raises(error, match="split returned"):
        Splitting()(SAMPLES)


BATCHED = """
def named(columns):
    return {**columns, 5: columns["n"]}
"""


def test_names_of_columns_are_strings(tmp_path):
    """Not 5 and "5", which would be one column."""
    (tmp_path / "mine.py").write_text(BATCHED)
    batched = {"file_path": tmp_path / "mine.py", "function_name": "named", "batched": True}
    one = jp.ScriptOp(function=lambda sample: {**sample, 5: 1})
    for operator in (one, jp.create("python_file_mapper", **batched)):
        with pytest.raises(TypeError, match="a column is named 5, of type int; names of columns are strings"):
            operator(SAMPLES)


def test_names_of_columns_have_a_utf8_form():
    with pytest.raises(ValueError, match=r"the column '\\udce9' has lone surrogates, and no UTF-8 form"):
        jp.ScriptOp(function=lambda sample: {**sample, "\udce9": 1})(SAMPLES)


@pytest.mark.parametrize("name", sorted(PRIVATE))
def test_names_that_a_run_uses_itself_are_refused(tmp_path, name):
    """The values of such a column were taken for ours, and the column was lost."""
    with pytest.raises(ValueError, match=f"{name} is a name that a run uses itself; name the column otherwise"):
        jp.ScriptOp(function=lambda sample: {**sample, name: 1})(SAMPLES)
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write({"n": 1, name: "text"})
    with pytest.raises(ValueError, match=rf"in\.jinx: {name} is a name that a run uses itself"):
        jp.Dataset.load(tmp_path / "in.jinx").export(tmp_path / "out.jinx", workers=1)


@pytest.mark.parametrize(
    "chosen",
    [[-1], [4], [0.5], [True] * 4, [1, 1, 2], np.array([2, 0, 2], "u8"), [[0, 1], [2, 3]], [[0], [1, 2]], [[]], 3],
)
def test_a_selector_returns_positions(chosen):
    class Choosing(jp.Selector):
        reads = ("n",)

        def select(self, columns, count, ctx):
            return chosen

    with pytest.raises((ReturnedError, TypeError), match="select returned"):
        Choosing()(SAMPLES)


@pytest.mark.parametrize("group", [[-1], [0, 4], [1, 1], [3, 1, 3], [[0, 1], [2, 3]], [[0], [1, 2]], 1])
def test_a_grouper_returns_positions(group):
    class Grouping(jp.Grouper):
        reads = ("n",)

        def group(self, columns, count):
            return [[0], group]

    with pytest.raises((ReturnedError, TypeError), match="group 1 that group returned"):
        Grouping()(SAMPLES)


def test_a_sample_may_be_in_several_groups():
    class Windows(jp.Grouper):
        reads = ("n",)

        def group(self, columns, count):
            return [np.array([at + 1, at]) for at in range(count - 1)]

    assert [sample["n"] for sample in Windows()(SAMPLES)] == [[1, 0], [2, 1], [3, 2]]


@pytest.mark.parametrize(
    ("rows", "mask", "what"),
    [
        (3, None, "signatures returned has 3 values for 4"),
        (4, [True], "mask .* has 1 values for 4"),
        (4, [0, 1, 1, 0], "holds int64"),
    ],
)
def test_a_deduplicator_looks_at_every_sample(rows, mask, what):
    class Deduplicating(jp.Deduplicator):
        def signatures(self, batch, ctx):
            return pa.table({"x": [1] * rows})

        def duplicates(self, signatures):
            return np.array(mask), np.full(4, -1)

    with pytest.raises((ReturnedError, TypeError), match=what):
        Deduplicating()(SAMPLES)


def test_an_error_of_a_global_operator_names_it_in_a_run(tmp_path):
    class Choosing(jp.Selector):
        reads = ("n",)

        def select(self, columns, count, ctx):
            raise ValueError("nothing to choose")

    flow = jp.Dataset.load(SAMPLES).process(Choosing())
    with pytest.raises(RuntimeError, match=r"^Choosing: ValueError: nothing to choose$"):
        flow.export(tmp_path / "out.jinx")


def of_one_batch(call):
    chain = Chain(Stage([], [], Roles(), "rows"), Context(), lambda position: (position, ""))
    return chain, lambda: chain.attempt("means", Batch(SAMPLES), call)


def test_an_aggregate_of_a_batch_is_not_taken_for_that_of_each_row():
    _, run = of_one_batch(lambda batch: batch.with_columns({"mean": [sum(batch.column("n")) / len(batch)]}))
    with pytest.raises(
        BatchError, match=r"^means: the column 'mean' has 1 values for 2 samples; .* repair it for batches"
    ):
        run()


def test_a_row_that_gives_another_number_of_values_is_left_out_alone():
    chain, run = of_one_batch(lambda batch: batch.with_columns({"x": [n for n in batch.column("n") if n != 2]}))
    assert [n for part, _ in run() for n in part.column("n")] == [0, 1, 3]
    assert [bad.row for bad in chain.bad] == [2]


def test_a_function_of_columns_that_returns_an_aggregate_stops_the_run(tmp_path):
    (tmp_path / "mine.py").write_text("def mean(columns):\n    return {**columns, 'mean': [sum(columns['n']) / 4]}\n")
    mapper = jp.ops.PythonFileMapper(file_path=tmp_path / "mine.py", function_name="mean", batched=True)
    with pytest.raises(RuntimeError, match=r"python_file_mapper: .*'mean' has 1 values for 2 samples"):
        jp.Dataset.load(SAMPLES).process(mapper).export(tmp_path / "out.jinx", workers=1)
    assert not (tmp_path / "out.jinx").exists()


@pytest.mark.parametrize(("kind", "values"), [("int64", [1.7, 2, 3, 4]), ("list<int64>", [[1], [2.5], [], [4]])])
def test_a_statistic_with_a_fraction_is_no_integer(kind, values):
    class Measuring(jp.Filter):
        stats: ClassVar = {"x": kind}

        def compute_stats(self, batch, ctx):
            return {"x": values[: len(batch)]}

        def keep(self, stats):
            return np.ones(len(stats["x"]), bool)

    with pytest.raises(pa.ArrowInvalid, match="truncated"):
        Measuring()(SAMPLES)
    values[:] = [1, 2, None, 2**60 + 1] if kind == "int64" else [[1], [], None, [2**60 + 1]]
    assert len(Measuring()(SAMPLES)) == 4
