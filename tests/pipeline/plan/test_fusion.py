"""Branches that come together again become one node, unless something between them must be a node of its own."""

from dataclasses import replace
from itertools import pairwise

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.operators.table.table_upsert import TableUpsert
from jinx_pipeline.plan import graph_builder
from jinx_pipeline.plan.fusion import MAX_LANES
from jinx_pipeline.plan.graph_builder import graph_of
from jinx_pipeline.plan.planner import Plan, make_plan, stage_of
from jinx_pipeline.plan_page import describe
from jinx_pipeline.recipe.model import Options, Output, Recipe, SourceSpec, Step, StepPort
from jinx_pipeline.sample.roles import Roles

SOURCES = StepPort(None)
PARTS = StepPort(1), StepPort(2)


class Padded(jp.Mapper):
    """Its result depends on the batch."""

    @property
    def depends_on_batch(self):
        return True

    def process(self, batch, ctx):
        return {}


def recipe(*steps: Step, outputs=()) -> Recipe:
    return Recipe((SourceSpec("in.jinx"),), Roles(), steps, options=Options(), outputs=tuple(map(Output, outputs)))


def step(name, *inputs, **more) -> Step:
    return Step(jp.create(name), inputs=inputs or None, **more)


def diamond(*more: Step, outputs=()) -> Recipe:
    """One mapper, two filters, and a mapper of the rows of both."""
    return recipe(
        step("clean_links_mapper"),
        step("words_num_filter", StepPort(0)),
        step("text_length_filter", StepPort(0)),
        step("whitespace_normalization_mapper", *PARTS),
        *more,
        outputs=outputs,
    )


def changed(what: Recipe, number: int, **fields) -> Recipe:
    """The recipe with another step."""
    steps = list(what.steps)
    steps[number] = replace(steps[number], **fields)
    return replace(what, steps=tuple(steps))


def maps(graph):
    """The operators of each node, and its lanes."""
    return [(node.operators, node.lanes) for node in graph.of_kind("map")]


def unfused(what, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(graph_builder, "fused", lambda graph, *_: graph)
        return graph_of(what)


def test_branches_become_one_node_that_reads_what_the_first_read(monkeypatch):
    graph = graph_of(diamond())
    assert maps(graph) == [((0, 1, 3, 2), ((0, 1, 3), (0, 2, 3)))]
    (node,) = graph.of_kind("map")
    assert [stream.node for stream in node.reads] == [graph.sources[0].id]
    before = unfused(diamond(), monkeypatch)
    assert len(before.of_kind("map")) == 4
    # Nodes that read this one find it under the same name.
    assert node.id == before.of_kind("map")[-1].id
    assert [item.id for item in graph.nodes if item.kind != "map"] == [
        item.id for item in before.nodes if item.kind != "map"
    ]
    graph.scheduled()


def test_the_stage_of_such_a_node_has_its_lanes_and_survives_the_log():
    what = diamond()
    plan = Plan.from_dict(make_plan(what, [], 10).to_dict())
    stage = stage_of(what, plan.graph.of_kind("map")[0])
    assert stage.numbers == [0, 1, 3, 2]
    assert stage.lanes == ((0, 1, 2), (0, 3, 2))
    assert [stage.of_lane(lane).numbers for lane in (0, 1)] == [[0, 1, 3], [0, 2, 3]]


class Opening(jp.Mapper):
    """It may add any column."""

    def process(self, batch, ctx):
        return {}


def test_only_operators_before_a_node_make_its_columns_open(monkeypatch):
    opening = Step(Opening(), inputs=(SOURCES,))
    names = ("clean_links_mapper", "words_num_filter", "text_length_filter")
    first, *branches = (step(name, port) for name, port in zip(names, (SOURCES, StepPort(1), StepPort(1)), strict=True))
    last = step("whitespace_normalization_mapper", StepPort(2), StepPort(3))
    what = recipe(opening, first, *branches, last, outputs=[(StepPort(0),), (StepPort(4),)])

    def are_open(graph):
        return {node.operators: stage_of(what, node).is_open for node in graph.of_kind("map")}

    assert are_open(graph_of(what)) == {(0,): False, (1, 2, 4, 3): False}
    # In the list of steps, the opening operator is before all others.
    assert are_open(unfused(what, monkeypatch)) == dict.fromkeys([(0,), (1,), (2,), (3,), (4,)], False)
    after = changed(what, 1, inputs=(StepPort(0),))
    assert [stage_of(after, node).is_open for node in graph_of(after).of_kind("map")] == [False, True, True]


def test_branches_of_sources_and_in_branches():
    direct = recipe(step("words_num_filter", SOURCES), outputs=[(SOURCES, StepPort(0))])
    assert maps(graph_of(direct)) == [((0,), ((), (0,)))]
    nested = recipe(
        step("clean_links_mapper"),
        step("words_num_filter", StepPort(0)),
        step("text_length_filter", StepPort(0)),
        step("clean_email_mapper", StepPort(0)),
        step("clean_ip_mapper", StepPort(1), StepPort(2)),
        step("whitespace_normalization_mapper", StepPort(3), StepPort(4)),
    )
    assert [lanes for _, lanes in maps(graph_of(nested))] == [((0, 3, 5), (0, 1, 4, 5), (0, 2, 4, 5))]


def test_regions_that_follow_one_another_multiply_their_lanes_up_to_a_limit():
    names = ("clean_links_mapper", "words_num_filter", "text_length_filter")
    # The first operator of each diamond reads both filters of the one before.
    steps = [step(names[0], SOURCES), step(names[1], StepPort(0)), step(names[2], StepPort(0))]
    for first in range(3, 12, 3):
        steps.append(step(names[0], StepPort(first - 2), StepPort(first - 1)))
        steps += [step(names[1], StepPort(first)), step(names[2], StepPort(first))]
    graph = graph_of(recipe(*steps, outputs=[(StepPort(10), StepPort(11))]))
    lanes = [node.lanes for node in graph.of_kind("map")]
    assert [len(of_node) for of_node in lanes] == [MAX_LANES, 2]
    assert lanes[0][1] == (0, 2, 3, 4, 6, 7, 9)
    assert lanes[0][4] == (0, 1, 3, 4, 6, 8, 9)
    assert lanes[1] == ((10,), (11,))
    assert all(second.reads[0].node == first.id for first, second in pairwise(graph.of_kind("map")))


FUSED = ((0, 1, 3, 2), ((0, 1, 3), (0, 2, 3)))
BRANCHES = ((1, 3, 2), ((1, 3), (2, 3)))


@pytest.mark.parametrize("places", [(0,), (1,), (3,), (1, 2)])
def test_operators_of_other_workers_are_nodes_of_their_own(places):
    what = diamond()
    for place in places:
        what = changed(what, place, given_resources=Resources(cpus=2.0))
    found = maps(graph_of(what))
    # Only what comes before the branches can be another node.
    assert len(found) == (2 if places == (0,) else 4)
    assert (BRANCHES in found) == (places == (0,))


@pytest.mark.parametrize("place", [0, 1, 3])
def test_operators_with_batches_of_their_own_are_nodes_of_their_own(place):
    for what in (changed(diamond(), place, batch_rows=10), changed(diamond(), place, operator=Padded())):
        found = maps(graph_of(what))
        assert len(found) == (2 if place == 0 else 4)
        assert (BRANCHES in found) == (place == 0)


def test_batches_are_as_large_as_those_of_a_list():
    what = replace(diamond(), options=Options(batch_rows=50))
    assert [node.batch_rows for node in graph_of(what).of_kind("map")] == [50]
    alike = diamond()
    for place in range(4):
        alike = changed(alike, place, batch_rows=20)
    assert [node.batch_rows for node in graph_of(alike).of_kind("map")] == [20]


@pytest.mark.parametrize(
    "outputs",
    [
        ((StepPort(3),), (StepPort(1),)),
        ((StepPort(3),), (StepPort(1, "dropped"),)),
        ((StepPort(3),), (StepPort(3, "failed"),)),
    ],
)
def test_what_others_read_is_a_node(outputs):
    assert all(not lanes for _, lanes in maps(graph_of(diamond(outputs=outputs))))


def test_what_others_read_before_the_branches_is_a_node_before_them():
    found = maps(graph_of(diamond(outputs=[(StepPort(3),), (StepPort(0),)])))
    assert found == [((0,), ()), BRANCHES, ((), ())]


def test_nodes_wait_for_others_as_before():
    first = changed(diamond(), 2, after=(StepPort(1),))
    assert len(maps(graph_of(first))) == 4
    last = changed(diamond(), 3, after=(StepPort(0),))
    assert len(maps(graph_of(last))) == 4


def test_keys_of_rows_of_branches_are_computed_by_their_node():
    graph = graph_of(diamond(step("document_deduplicator")))
    assert maps(graph)[0] == FUSED
    assert graph.of_kind("map")[0].ports == ("out", "keys")
    inner = recipe(
        step("clean_links_mapper"),
        step("document_deduplicator", StepPort(0)),
        step("text_length_filter", StepPort(0)),
        step("whitespace_normalization_mapper", *PARTS),
    )
    assert all(not lanes for _, lanes in maps(graph_of(inner)))


def test_a_table_is_written_by_a_branch_but_not_by_several_lanes():
    table = TableUpsert(database="a.db", table="t", key="n", columns={"n": "int"})
    assert maps(graph_of(changed(diamond(), 1, operator=table)))[0] == FUSED
    assert len(maps(graph_of(changed(diamond(), 3, operator=table)))) == 4


def test_branches_of_different_rows_are_not_fused():
    other = changed(diamond(), 0, given_resources=Resources(cpus=2.0))
    assert len(maps(graph_of(changed(other, 2, inputs=(SOURCES,))))) == 4


def test_the_page_of_a_plan_shows_branches(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write({"text": "a"})
    facts = describe(replace(diamond(), sources=(SourceSpec(str(tmp_path / "in.jinx")),)))
    (node,) = [node for node in facts["nodes"] if node["kind"] == "map"]
    first, last = "clean_links_mapper", "whitespace_normalization_mapper"
    assert node["lanes"] == [[first, "words_num_filter", last], [first, "text_length_filter", last]]
    (line,) = [line for line in facts["lines"] if "batches" in line]
    ways = "(words_num_filter | text_length_filter)"
    assert line == f"step 1     {first} + {ways} + {last}  [cpu, batches of 1,000]"


def test_two_operators_of_one_name_are_two_branches(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write({"text": "a"})
    what = changed(diamond(), 2, operator=jp.create("words_num_filter", min_num=1))
    facts = describe(replace(what, sources=(SourceSpec(str(tmp_path / "in.jinx")),)))
    (line,) = [line for line in facts["lines"] if "batches" in line]
    assert "clean_links_mapper + (words_num_filter | words_num_filter) + whitespace_normalization_mapper" in line
