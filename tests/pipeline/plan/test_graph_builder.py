"""The graph of a recipe: its nodes, their ids, and what cannot be."""

import re
from dataclasses import replace

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.plan.graph_builder import graph_of
from jinx_pipeline.plan.planner import make_plan
from jinx_pipeline.plan_page import describe
from jinx_pipeline.recipe.errors import Place, RecipeError
from jinx_pipeline.recipe.model import Options, Output, Recipe, SourceSpec, Step, StepPort
from jinx_pipeline.sample.roles import Roles

SOURCES = StepPort(None)
OUTPUTS = ((StepPort(2),), (StepPort(2, "dropped"),))


def recipe(*steps, outputs=()) -> Recipe:
    """Steps by the names of operators, or by names and what they read."""
    made = [
        Step(jp.create(name), Place(path=f"process[{at}]"), inputs=inputs or None)
        for at, (name, *inputs) in enumerate((step,) if isinstance(step, str) else step for step in steps)
    ]
    made = [replace(step, inputs=None if step.inputs is None else tuple(step.inputs)) for step in made]
    return Recipe(
        (SourceSpec("in.jinx"),), Roles(), tuple(made), options=Options(), outputs=tuple(map(Output, outputs))
    )


def shape(graph):
    """Each node by its kind and the readable part of its id, and what it reads and follows by number."""
    numbers = {node.id: number for number, node in enumerate(graph.nodes)}
    return [
        (
            node.id.rpartition("-")[0],
            [(numbers[stream.node], stream.port) for stream in node.reads],
            [(numbers[stream.node], stream.port) for stream in node.after],
        )
        for node in graph.nodes
    ]


def test_a_list_is_a_chain_with_a_barrier_at_each_operator_that_looks_at_all_rows():
    what = recipe("text_length_filter", "clean_links_mapper", "document_deduplicator", "naive_grouper")
    assert shape(graph_of(what)) == [
        ("source", [], []),
        ("text_length_filter", [(0, "out")], []),
        ("merge_document_deduplica", [], [(1, "keys")]),
        ("look_document_deduplicat", [], [(1, "keys"), (2, "out")]),
        ("decide_document_deduplic", [], [(1, "out"), (3, "out")]),
        ("rows", [(4, "out")], []),
        ("decide_naive_grouper", [], [(5, "out")]),
        ("naive_grouper", [(6, "out")], []),
        ("join", [], [(7, "out")]),
        ("pack", [], [(7, "out"), (8, "out")]),
    ]


def test_a_join_is_a_barrier_with_two_inputs(tmp_path):
    with jinx.Writer(tmp_path / "other.jinx") as writer:
        writer.write({"id": 1, "stars": 5})
    join = Step(jp.create("join", path=str(tmp_path / "other.jinx"), on="id"))
    graph = graph_of(replace(recipe(), steps=(join,)))
    assert shape(graph) == [
        ("source", [], []),
        ("rows", [(0, "out")], []),
        ("source", [], []),
        ("keys_join", [(2, "out")], []),
        ("merge_join", [], [(1, "keys"), (3, "keys")]),
        ("merge_join", [], [(1, "keys"), (3, "keys")]),
        ("look_join", [], [(1, "keys"), (3, "keys"), (4, "out"), (5, "out")]),
        ("decide_join", [], [(1, "out"), (6, "out")]),
        ("join", [(7, "out")], []),
        ("join", [], [(8, "out")]),
        ("pack", [], [(8, "out"), (9, "out")]),
    ]
    graph.scheduled()


def test_branches_end_a_chain_and_come_together():
    what = recipe(
        "clean_links_mapper",
        ("words_num_filter", StepPort(0)),
        ("text_length_filter", StepPort(0)),
        ("whitespace_normalization_mapper", StepPort(1), StepPort(2, "kept")),
        outputs=[(StepPort(3),), (StepPort(2, "dropped"),)],
    )
    assert shape(graph_of(what)) == [
        ("source", [], []),
        ("clean_links_mapper", [(0, "out")], []),
        ("text_length_filter", [(1, "out")], []),
        ("words_num_filter", [(1, "out")], []),
        ("whitespace_normalization", [(3, "out"), (2, "out")], []),
        ("join", [], [(4, "out")]),
        ("pack", [], [(4, "out"), (5, "out")]),
        ("rows", [(2, "dropped")], []),
        ("join", [], [(7, "out")]),
        ("pack", [], [(7, "out"), (8, "out")]),
    ]


def ids(*steps, versions=None, source=()):
    return [node.id for node in graph_of(recipe(*steps), versions=versions, source=source).nodes]


def test_ids_are_the_same_up_to_where_a_recipe_was_edited():
    before = ids("clean_links_mapper", "document_deduplicator", "words_num_filter")
    after = ids("clean_links_mapper", "document_deduplicator", "text_length_filter")
    assert before[:5] == after[:5]
    assert not set(before[5:]) & set(after[5:])
    assert all(re.fullmatch(r"[A-Za-z0-9_]{1,24}-[0-9a-f]{12}", node_id) for node_id in before)
    assert ids("clean_links_mapper") == ids("clean_links_mapper")
    assert not set(ids("clean_links_mapper")) & set(ids("clean_links_mapper", source=["another input"]))
    assert not set(ids("clean_links_mapper")) & set(ids("clean_links_mapper", versions={"jinx-data": "9"}))


def test_other_parameters_and_code_give_another_id():
    def id_of(operator):
        return graph_of(replace(recipe(), steps=(Step(operator),))).of_kind("map")[0].id

    assert id_of(jp.create("words_num_filter", min_num=1)) != id_of(jp.create("words_num_filter", min_num=2))
    functions = [jp.Dataset.load("in.jinx").process(item) for item in (lambda s: s, lambda s: None)]
    assert id_of(functions[0].recipe.steps[0].operator) != id_of(functions[1].recipe.steps[0].operator)


def test_branches_that_do_the_same_are_two_nodes():
    what = recipe(
        "clean_links_mapper",
        ("words_num_filter", StepPort(0)),
        ("words_num_filter", StepPort(0)),
        outputs=[(StepPort(1), StepPort(2))],
    )
    graph = graph_of(what)
    assert len({node.id for node in graph.nodes}) == len(graph.nodes)
    graph.scheduled()


@pytest.mark.parametrize(
    ("steps", "outputs", "message"),
    [
        (
            [("words_num_filter", StepPort(1)), ("clean_links_mapper", StepPort(0))],
            (),
            r"the recipe has a cycle: step \d \(\w+\) -> step \d \(\w+\) -> step \d \(\w+\)",
        ),
        (
            ["clean_links_mapper", ("words_num_filter", StepPort(0, "dropped"))],
            (),
            r"process\[1\]: step 1 \(words_num_filter\) reads the port 'dropped' of .*\), which has: out, failed$",
        ),
        (["document_deduplicator"], [(StepPort(0, "kept"),)], r"reads the port 'kept' of step 0 .*, which has: out$"),
        (["clean_links_mapper"], [(StepPort(4),)], "an output reads step 4, and there are 1, from 0"),
        (["clean_links_mapper", "words_num_filter"], [(StepPort(0),)], "no step and no output reads step 1 "),
        (["clean_links_mapper"], [(StepPort(0), StepPort(0))], r"an output reads step 0 \(clean_links_mapper\) twice"),
        (["clean_links_mapper"], [()], "an output reads nothing"),
    ],
)
def test_steps_that_do_not_fit_together_are_refused_in_one_line(steps, outputs, message):
    with pytest.raises(RecipeError, match=message) as raised:
        make_plan(recipe(*steps, outputs=outputs), [], 10)
    assert "\n" not in str(raised.value)


def test_the_page_of_a_plan_shows_a_list_as_steps_and_branches_as_nodes(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write({"text": "a"})
    listed = recipe("clean_links_mapper", "document_deduplicator", "words_num_filter")
    branched = recipe("clean_links_mapper", "document_deduplicator", ("words_num_filter", StepPort(1)), outputs=OUTPUTS)
    pages = []
    for what in (listed, branched):
        facts = describe(replace(what, sources=(SourceSpec(str(tmp_path / "in.jinx")),)))
        assert [node["number"] for node in facts["nodes"]] == list(range(len(facts["nodes"])))
        pages.append([line for line in facts["lines"] if " rows" in line or "batches" in line])
    assert pages[0] == [
        "step 1     clean_links_mapper  [cpu, batches of 1,000]",
        "           then over all rows: document_deduplicator  [keys in partitions, on the workers]",
        "step 2     words_num_filter  [cpu, batches of 1,000]",
    ]
    assert pages[1] == [
        "node 1     sources -> clean_links_mapper  [cpu, batches of 1,000]",
        "node 4     1 -> over all rows: document_deduplicator  [keys in partitions, on the workers]",
        "node 5     4 -> words_num_filter  [cpu, batches of 1,000]",
        "node 6     5 -> rows as they are  [cpu, batches of 1,000]",
        "node 9     5 dropped -> rows as they are  [cpu, batches of 1,000]",
    ]


def test_streams_with_other_blocks_come_together_in_a_node_that_waits_for_all_rows():
    what = recipe("document_deduplicator", ("words_num_filter", StepPort(0), SOURCES))
    assert shape(graph_of(what))[4:8] == [
        ("decide_document_deduplic", [], [(1, "out"), (3, "out")]),
        ("rows", [(4, "out")], []),
        ("rows", [(0, "out")], []),
        ("gather", [], [(5, "out"), (6, "out")]),
    ]
