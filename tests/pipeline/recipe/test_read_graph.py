"""Recipes with nodes and flows: what they say, and every mistake with its place."""

import json

import pytest

from jinx_pipeline.recipe.errors import RecipeError
from jinx_pipeline.recipe.model import StepPort
from jinx_pipeline.recipe.read import read_recipe, recipe_of
from jinx_pipeline.recipe.write import as_data, from_data

SOURCES = "  web: {source: web.jinx}\n  out: {sink: out.jinx}\n"
HEAD = f"nodes:\n{SOURCES}"


def read(tmp_path, text, **parameters):
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    return read_recipe(path, parameters=parameters)


def shape(recipe):
    """Each step by the name of its node and operator, with what it reads; and what the outputs read."""

    def names(ports):
        return [
            f"source {port.group}"
            if port.step is None
            else f"{port.step}{'' if port.port == 'out' else '.' + port.port}"
            for port in ports
        ]

    steps = [(step.name, step.operator.name, *names(step.inputs)) for step in recipe.steps]
    return steps, [(output.export.path, *names(output.inputs)) for output in recipe.outputs]


def test_flows_branch_and_come_together(tmp_path):
    recipe = read(
        tmp_path,
        """\
nodes:
  web: {source: {path: web.jinx, max_samples: 9}}
  books: {source: {sources: [a.jinx, b.jinx]}}
  clean: {operators: [clean_links_mapper, text_length_filter: {min_len: 3}]}
  good: {sink: good.jinx}
  rest: {sink: {path: rest, shard_size: 1MB}}
flows:
  - {from: [web, books], to: clean}
  - {from: clean.kept, to: good}
  - {from: clean.dropped, to: rest}
  - {from: clean.failed, to: rest}
seed: 3
""",
    )
    assert [source.path for source in recipe.sources] == ["web.jinx", "a.jinx", "b.jinx"]
    assert (recipe.source_groups, recipe.options.seed) == ((1, 2), 3)
    assert shape(recipe) == (
        [("clean", "clean_links_mapper", "source 0", "source 1"), ("clean", "text_length_filter", "0")],
        [("good.jinx", "1"), ("rest", "1.dropped", "0.failed", "1.failed")],
    )


def test_what_flows_on_from_a_sink_is_what_flows_into_it(tmp_path):
    nodes = "  mid: {sink: mid.jinx}\n  a: {operators: [clean_links_mapper]}\n"
    flows = "flows:\n- {from: web, to: mid}\n- {from: mid, to: a}\n- {from: a, to: out}\n"
    recipe = read(tmp_path, HEAD + nodes + flows)
    assert shape(recipe)[1] == [("out.jinx", "0"), ("mid.jinx", "source 0")]
    assert recipe.step_inputs == [(StepPort(None),)]


def test_weights_make_a_mixture_and_conditions_count_rows(tmp_path):
    recipe = read(
        tmp_path,
        """\
nodes:
  web: {source: web.jinx}
  books: {source: books.jinx}
  clean: {operators: [clean_links_mapper], after: [books]}
  out: {sink: out.jinx, when: {rows: web, at_least: 3}}
flows:
  - {from: web, to: clean, weight: 3}
  - {from: books, to: clean}
  - {from: clean, to: out}
""",
    )
    assert shape(recipe) == (
        [
            ("clean", "gather", "source 0", "source 1"),
            ("clean", "clean_links_mapper", "0"),
            ("out", "gather", "1", "source 0"),
        ],
        [("out.jinx", "2")],
    )
    assert recipe.steps[0].operator.parameters["weights"] == [3.0, 1.0]
    assert recipe.steps[1].after == (StepPort(None, group=1),)
    assert recipe.steps[2].operator.parameters["at_least"] == 3


def test_a_join_has_two_inputs(tmp_path):
    nodes = "  scores: {source: s.jinx}\n  both: {join: {on: id, how: inner}}\n"
    flows = "flows:\n- {from: web, to: both.left}\n- {from: scores, to: both.right}\n- {from: both, to: out}\n"
    recipe = read(tmp_path, HEAD + nodes + flows)
    assert shape(recipe)[0] == [("both", "join", "source 0", "source 1")]


INCLUDED = """\
parameters:
  least: {type: int}
  most: 40
nodes:
  strip: {operators: [clean_links_mapper]}
  length: {operators: [text_length_filter: {min_len: "${least}", max_len: "${most}"}]}
flows: [{from: strip, to: length}]
inputs: {in: strip}
outputs: {kept: length, rejected: length.dropped}
"""


@pytest.mark.parametrize("condition", ['is: "1"', 'in: ["1", true]', "is: yes"])
def test_a_condition_that_no_value_of_a_parameter_fulfils_is_refused(tmp_path, condition):
    text = f"""\
parameters: {{level: 1}}
nodes:
  a: {{source: a.jinx}}
  b: {{operators: [words_num_filter], when: {{parameter: level, {condition}}}}}
  out: {{sink: out.jinx}}
flows:
  - {{from: a, to: b}}
  - {{from: b.kept, to: out}}
"""
    with pytest.raises(RecipeError, match=r"the parameter level is 1 \(int\), which never equals"):
        read(tmp_path, text)
    read(tmp_path, text.replace(condition, "is: 1.0"))
    read(tmp_path, text.replace(condition, "in: [0, 1]"))


def test_a_recipe_is_included_with_parameters(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "clean.yaml").write_text(INCLUDED)
    recipe = read(
        tmp_path,
        """\
parameters: {language: de, least: 7}
nodes:
  web: {source: "web-${language}.jinx"}
  a: {include: parts/clean.yaml, with: {least: "${least}"}}
  b: {include: parts/clean.yaml, with: {least: 1, most: 5}, after: [a.kept]}
  out: {sink: "costs-$${}.jinx"}
  rest: {sink: rest.jinx}
flows:
  - {from: web, to: [a, b]}
  - {from: [a.kept, b.kept], to: out}
  - {from: [a.rejected, b.rejected], to: rest}
""",
        language="fr",
    )
    assert recipe.sources[0].path == "web-fr.jinx"
    steps, outputs = shape(recipe)
    assert [step[0] for step in steps] == ["a/strip", "a/length", "b/strip", "b/length"]
    limits = [recipe.steps[number].operator.parameters for number in (1, 3)]
    assert [(found["min_len"], found["max_len"]) for found in limits] == [(7, 40), (1, 5)]
    assert recipe.steps[2].after == (StepPort(1),)
    assert outputs == [("costs-${}.jinx", "1", "3"), ("rest.jinx", "1.dropped", "3.dropped")]
    # A working directory keeps the recipe without its parameters and includes.
    again = from_data(json.loads(json.dumps(as_data(recipe))))
    assert again.digest == recipe.digest


def test_a_list_of_operators_is_included(tmp_path):
    (tmp_path / "list.yaml").write_text("parameters: {n: 3}\nprocess:\n- text_length_filter: {min_len: '${n}'}\n")
    nodes = "  a: {include: list.yaml, with: {n: 4}}\n  rest: {sink: rest.jinx}\n"
    flows = "flows: [{from: web, to: a}, {from: a, to: out}, {from: a.dropped, to: rest}]\n"
    recipe = read(tmp_path, HEAD + nodes + flows)
    assert recipe.steps[0].operator.parameters["min_len"] == 4
    assert shape(recipe)[1] == [("out.jinx", "0"), ("rest.jinx", "0.dropped")]


@pytest.mark.parametrize(
    ("language", "outputs"),
    [("de", ["out.jinx", "german.jinx"]), ("en", ["out.jinx"]), ("fr", ["out.jinx", "german.jinx"])],
)
def test_a_condition_on_a_parameter_leaves_nodes_out_and_what_they_cut_off(tmp_path, language, outputs):
    recipe = read(
        tmp_path,
        """\
parameters: {language: de}
nodes:
  web: {source: web.jinx}
  pages: {source: pages.jinx}
  german: {operators: [clean_links_mapper], when: {parameter: language, in: [de, fr]}}
  clean: {operators: [whitespace_normalization_mapper]}
  out: {sink: out.jinx}
  german_out: {sink: german.jinx}
flows:
  - {from: web, to: clean}
  - {from: pages, to: german}
  - {from: german, to: clean}
  - {from: clean, to: out}
  - {from: german, to: german_out}
""",
        language=language,
    )
    assert [output.export.path for output in recipe.outputs] == outputs
    assert len(recipe.sources) == (1 if language == "en" else 2)


FLOW = "flows: [{from: web, to: out}]\n"
# Each is wrong in one way: the text, the line, and what the message holds.
WRONG = [
    ("nodes: []\n", 1, "nodes is a mapping"),
    ("nodes: {}\n", 1, "nodes is a mapping"),
    ("process: []\n" + HEAD + FLOW, 1, "a recipe has no 'process'"),
    ("nodes:\n  a.b: {source: web.jinx}\n", 2, "a node is named with letters"),
    ("nodes:\n  web: web.jinx\n", 2, "the node web has one of source, operators, join, sink, include"),
    ("nodes:\n  web: {source: a, sink: b}\n", 2, "the node web has one of"),
    ("nodes:\n  web: {source: a, afer: b}\n", 2, "did you mean 'after'"),
    ("nodes:\n  web: {source: 3}\n  out: {sink: out.jinx}\n" + FLOW, 2, "a path, or a mapping with path"),
    (HEAD + "flows: {from: web, to: out}\n", 4, "flows is a list"),
    (HEAD + "flows:\n- web\n", 5, "a flow is {from: node, to: node}"),
    (HEAD + "flows:\n- {from: web, too: out}\n", 5, "a flow is {from: node, to: node}"),
    (HEAD + "flows:\n- {from: wb, to: out}\n", 5, "there is no node 'wb'; did you mean 'web'"),
    (HEAD + "flows:\n- {from: 3, to: out}\n", 5, "the name of a node, not 3"),
    (HEAD + "flows:\n- {from: web, to: out, weight: heavy}\n", 5, "weight is a number of at least 0"),
    (HEAD + "flows:\n- {from: web, to: out, weight: -1}\n", 5, "weight is a number of at least 0"),
    (HEAD + "flows:\n- {from: web.dropped, to: out}\n", 5, "web has no output 'dropped'; it has: out"),
    (HEAD + "flows:\n- {from: web, to: out.left}\n", 5, "out has one input, and no 'left'"),
    (HEAD + "flows:\n- {from: web, to: out}\n- {from: web, to: out}\n", 5, "web flows to out twice"),
    (HEAD + "flows:\n- {from: web, to: out}\n- {from: out, to: web}\n", 2, "the recipe has a cycle"),
    (HEAD + "  a: {operators: [clean_links_mapper]}\n" + FLOW, 4, "nothing flows to a"),
    (HEAD + "  a: {operators: [clean_links_mapper]}\n" + FLOW, 4, "nothing reads a"),
    (HEAD + "  b: {source: b.jinx}\n" + FLOW, 4, "nothing reads b"),
    ("nodes:\n  web: {source: a}\n", 2, "the recipe has no sink"),
    (HEAD + "  b: {sink: ./out.jinx}\nflows: [{from: web, to: [out, b]}]\n", 4, "out and b both write ./out.jinx"),
    (
        HEAD + "  b: {sink: x/../out.jinx}\nflows: [{from: web, to: [out, b]}]\n",
        4,
        "out and b both write x/../out.jinx",
    ),
    (
        HEAD + "  a: {sink: all}\n  b: {sink: all/b.jinx}\nflows: [{from: web, to: [out, a, b]}]\n",
        5,
        "of a (all) and b (all/b.jinx), one is in the other",
    ),
    (HEAD + "  a: {operators: []}\nflows: [{from: web, to: a}, {from: a, to: out}]\n", 4, "at least one operator"),
    (
        HEAD
        + "  a: {operators: [text_length_filter: {min_lan: 3}]}\nflows: [{from: web, to: a}, {from: a, to: out}]\n",
        4,
        "did you mean 'min_len'",
    ),
    (
        HEAD + "  a: {operators: [text_length_filter]}\nflows:\n- {from: web, to: a}\n- {from: a.droped, to: out}\n",
        7,
        "a has no output 'droped'; did you mean 'dropped'",
    ),
    (HEAD + "  j: {join: {on: id}}\nflows: [{from: web, to: j}, {from: j, to: out}]\n", 5, "j.left or j.right"),
    (HEAD + "  j: {join: {on: id}}\nflows: [{from: web, to: j.left}, {from: j, to: out}]\n", 4, "flows to j.right"),
    (
        HEAD + "  b: {source: b}\n  j: {join: {on: id, path: x}}\n"
        "flows: [{from: web, to: j.left}, {from: b, to: j.right}, {from: j, to: out}]\n",
        5,
        "a join in a graph has no path",
    ),
    (
        HEAD + "  b: {source: b}\n  j: {join: {how: odd, on: id}}\n"
        "flows: [{from: web, to: j.left}, {from: b, to: j.right}, {from: j, to: out}]\n",
        5,
        "how",
    ),
    ("nodes:\n  web: {source: web.jinx}\n  out: {sink: o.jinx, when: rows > 3}\n" + FLOW, 3, "a condition is"),
    ("nodes:\n  web: {source: web.jinx}\n  out: {sink: o.jinx, when: {rows: web}}\n" + FLOW, 3, "a condition is"),
    (
        HEAD + "  b: {sink: o.jinx, when: {rows: [web, out], at_least: 1}}\nflows: [{from: web, to: [out, b]}]\n",
        4,
        "one name of a node, not the list ['web', 'out']",
    ),
    ("nodes:\n  web: {source: web.jinx}\n  out: {sink: o.jinx, when: {parameter: a}}\n" + FLOW, 3, "no parameter 'a'"),
    ('nodes:\n  web: {source: "${lang}"}\n  out: {sink: o.jinx}\n' + FLOW, 2, "no parameter 'lang'"),
    ("parameters: [a]\n" + HEAD + FLOW, 1, "a mapping: a default"),
    ("parameters: {a: {type: text}}\n" + HEAD + FLOW, 1, "a: a default, or a mapping with type"),
    ("parameters:\n  a: {type: int}\n" + HEAD + FLOW, 2, "the parameter a has no default and no value"),
    ("parameters:\n  a: {type: int, default: b}\n" + HEAD + FLOW, 2, "a is int"),
    (HEAD + "  a: {include: missing.yaml}\n" + FLOW, 4, "No such file"),
    (HEAD + "  a: {include: recipe.yaml}\n" + FLOW, 4, "includes itself"),
    ("dataset: {path: a}\n" + HEAD + FLOW, 1, "the dataset of a recipe with nodes has no 'path'"),
]


@pytest.mark.parametrize(("text", "line", "message"), WRONG)
def test_a_mistake_is_reported_with_its_place(tmp_path, text, line, message):
    with pytest.raises(RecipeError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
    assert line in {place.line for place, problem in caught.value.problems if message in problem}
    assert str(tmp_path / "recipe.yaml") in str(caught.value)


def test_mistakes_in_an_included_recipe_name_its_file(tmp_path):
    (tmp_path / "part.yaml").write_text(
        "nodes:\n  a: {operators: [clean_linx_mapper]}\ninputs: {in: a}\noutputs: {b: a}\n"
    )
    nodes = "  p: {include: part.yaml, with: {x: 1}}\n"
    with pytest.raises(RecipeError, match=r"part\.yaml has no parameter 'x'"):
        read(tmp_path, HEAD + nodes + "flows: [{from: web, to: p}, {from: p, to: out}]\n")
    nodes = "  p: {include: part.yaml}\n"
    with pytest.raises(RecipeError, match=r"part\.yaml, line 2: .*clean_linx_mapper"):
        read(tmp_path, HEAD + nodes + "flows: [{from: web, to: p}, {from: p, to: out}]\n")
    with pytest.raises(RecipeError, match="the included recipe p has no output 'c'; it has: b"):
        read(tmp_path, HEAD + nodes + "flows: [{from: web, to: p}, {from: p.c, to: out}]\n")


@pytest.mark.parametrize("name", ["inputs", "outputs"])
def test_an_input_or_output_of_an_included_recipe_is_one_of_a_node(tmp_path, name):
    """A list was taken for its last element, and the rows of the others were lost."""
    ports = {"inputs": "a", "outputs": "b"} | {name: "[a, b]"}
    (tmp_path / "part.yaml").write_text(
        "nodes: {a: {operators: [clean_links_mapper]}, b: {operators: [words_num_filter]}}\n"
        f"flows: [{{from: a, to: b}}]\ninputs: {{in: {ports['inputs']}}}\noutputs: {{out: {ports['outputs']}}}\n"
    )
    text = HEAD + "  part: {include: part.yaml}\nflows: [{from: web, to: part}, {from: part, to: out}]\n"
    with pytest.raises(RecipeError, match=r"part\.yaml, line \d: .*one name of a node, not the list \['a', 'b'\]"):
        read(tmp_path, text)


def test_a_node_is_not_replaced_by_one_of_an_included_recipe(tmp_path):
    (tmp_path / "part.yaml").write_text("process: [clean_links_mapper]\n")
    text = HEAD + (
        "  part/process: {operators: [text_length_filter]}\n  part: {include: part.yaml}\n"
        "flows: [{from: web, to: [part, part/process]}, {from: [part, part/process], to: out}]\n"
    )
    with pytest.raises(RecipeError, match="there are two nodes part/process"):
        read(tmp_path, text)


def test_a_source_with_a_condition_on_rows_has_them_only_if_it_holds(tmp_path):
    recipe = read(
        tmp_path,
        """\
nodes:
  web: {source: web.jinx}
  more: {source: more.jinx, when: {rows: web, at_most: 9}}
  out: {sink: out.jinx}
flows: [{from: [web, more], to: out}]
""",
    )
    steps, outputs = shape(recipe)
    assert steps == [("more", "gather", "source 1", "source 0")]
    assert outputs == [("out.jinx", "source 0", "0")]


def test_values_are_given_for_parameters(tmp_path):
    text = "parameters: {path: a.jinx, n: 3}\nnodes:\n  web: {source: '${path}'}\n  out: {sink: o.jinx}\n" + FLOW
    assert read(tmp_path, text, path="b.jinx").sources[0].path == "b.jinx"
    with pytest.raises(RecipeError, match="parameter m: the recipe has no parameter 'm'"):
        read(tmp_path, text, m=1)
    with pytest.raises(RecipeError, match="n is int"):
        read(tmp_path, text, n="three")
    with pytest.raises(RecipeError, match="only a recipe with nodes and flows has parameters"):
        read(tmp_path, "dataset: a.jinx\n", n=1)


def test_a_graph_as_a_dict():
    data = {
        "nodes": {"a": {"source": "a.jinx"}, "b": {"sink": "b.jinx"}},
        "flows": [{"from": "a", "to": "b"}],
    }
    assert shape(recipe_of(data)) == ([], [("b.jinx", "source 0")])
