"""Columns that only one of several branches adds, where the branches come together."""

import pytest

import jinx_pipeline as jp
from jinx_pipeline.operators.api.batch import STATS, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import FusedOp
from jinx_pipeline.plan.stage import Stage
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.worker.merged_columns import MergedColumns
from jinx_pipeline.worker.operator_chain import Chain

# The first operator of both lanes, one of each, and the last of both.
LANES = ((0, 1, 3), (0, 2, 3))


class Adds(jp.Mapper):
    """Adds a column."""

    column: str

    @property
    def writes(self):
        return (self.column,)

    def process(self, batch, ctx):
        return {self.column: [1] * len(batch)}


class Copies(jp.Mapper):
    """Copies a column."""

    column: str

    @property
    def writes(self):
        return ("copy",)

    def process(self, batch, ctx):
        return {"copy": batch.column(self.column)}


def chain(*operators, lanes=LANES):
    stage = Stage(list(operators), list(range(len(operators))), Roles(), "rows", lanes=lanes)
    return Chain(stage, Context(), lambda position: (position, ""))


def batch():
    return Batch([{"text": "some words"}, {"text": "more"}])


def test_a_column_of_another_branch_is_missing():
    run = chain(Adds(column="base"), Adds(column="left"), Adds(column="right"), Copies(column="left"))
    outputs = dict(run.run(batch()))
    assert [outputs[lane].column("copy") for lane in (0, 1)] == [[1, 1], [None, None]]
    assert outputs[1].to_samples() == [
        {"text": text, "base": 1, "right": 1, "copy": None} for text in ("some words", "more")
    ]
    assert not run.bad


def test_a_column_that_no_branch_adds_is_unknown():
    run = chain(Adds(column="base"), Adds(column="left"), Adds(column="right"), Copies(column="lefft"))
    assert not list(run.run(batch()))
    assert len(run.bad) == 4
    assert "no column 'lefft'" in run.bad[0].error


def test_a_branch_does_not_know_the_columns_of_another_before_its_end():
    run = chain(Adds(column="base"), Adds(column="left"), Copies(column="left"), Adds(column="last"))
    assert {lane for lane, _ in run.run(batch())} == {0}
    assert len(run.bad) == 2


@pytest.mark.parametrize("is_fused", [False, True])
def test_statistics_of_another_branch_are_missing(is_fused):
    words = jp.create("words_num_filter", min_num=1)
    stage = Stage(
        [Adds(column="a"), FusedOp(operators=[words]) if is_fused else words, Adds(column="b"), Copies(column=STATS)],
        [0, 1, 2, 3],
        Roles(),
        "rows",
        lanes=LANES,
    )
    padded = MergedColumns(stage).padded(3, batch())
    assert padded.column(STATS) == [None, None]
    assert padded.to_samples() == batch().to_samples()


@pytest.mark.parametrize("place", [0, 1, 2])
def test_batches_of_a_single_lane_stay_as_they_are(place):
    stage = Stage([Adds(column=name) for name in "abcd"], [0, 1, 2, 3], Roles(), "rows", lanes=LANES)
    before = batch()
    assert MergedColumns(stage).padded(place, before) is before
    assert MergedColumns(Stage(stage.operators, [0, 1, 2, 3], Roles(), "rows")).padded(place, before) is before


def test_figures_are_those_of_all_lanes():
    run = chain(Adds(column="a"), jp.create("words_num_filter", min_num=2), Adds(column="b"), Adds(column="c"))
    outputs = list(run.run(batch()))
    assert [(lane, len(output)) for lane, output in outputs] == [(0, 1), (1, 2)]
    assert [(figures.rows_in, figures.rows_out) for figures in run.figures()] == [(2, 2), (2, 1), (2, 2), (3, 3)]
