"""Graphs that do not fit together are refused when they are made, with the node and the port."""

import random
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jinx_pipeline.schedule.graph import Graph, GraphError, Node, Stream
from pipeline.schedule.graphs import GraphMaker


@st.composite
def graphs(draw):
    return GraphMaker(random.Random(draw(st.integers(0, 10_000)))).graph()


def pick(draw, graph, condition=lambda node: True):
    nodes = [node for node in graph.nodes if condition(node)]
    return draw(st.sampled_from(nodes)) if nodes else None


def made(graph, *changed):
    """The graph with some nodes in another form."""
    by_id = {node.id: node for node in (*graph.nodes, *changed)}
    return Graph(tuple(by_id.values()))


def refused(graph, *changed):
    with pytest.raises(GraphError) as error:
        made(graph, *changed)
    return str(error.value)


@given(graphs())
def test_every_node_comes_after_those_that_it_depends_on(graph):
    levels, places = graph.levels(), {node.id: place for place, node in enumerate(graph.order)}
    assert sorted(places) == sorted(node.id for node in graph.nodes)
    for node in graph.nodes:
        for other in node.upstream:
            assert places[other] < places[node.id]
            assert levels[other] > levels[node.id]
        assert all(graph.domains[node.id] == graph.domains[stream.node] for stream in node.inputs)


@given(graphs(), st.data())
def test_two_nodes_with_one_id(graph, data):
    node = pick(data.draw, graph)
    with pytest.raises(GraphError, match=f"two nodes have the id '{node.id}'"):
        Graph((*graph.nodes, replace(node, pool="other")))


@given(graphs(), st.data())
def test_an_input_that_nobody_makes(graph, data):
    node = pick(data.draw, graph, lambda node: node.inputs)
    if node is None:
        return
    where = f"node '{node.id}' reads 'nobody.out', but there is no node 'nobody'"
    assert refused(graph, replace(node, inputs=(*node.inputs, Stream("nobody")))) == where
    source = node.inputs[0].node
    message = refused(graph, replace(node, inputs=(Stream(source, "left"), *node.inputs[1:])))
    assert message.startswith(f"node '{node.id}' reads '{source}.left', but node '{source}' has no port 'left'")
    assert refused(graph, replace(node, inputs=(*node.inputs, node.inputs[0]))).endswith("twice")


@given(graphs(), st.data())
def test_a_node_after_one_that_there_is_not(graph, data):
    node = pick(data.draw, graph)
    message = refused(graph, replace(node, after=(*node.after, "nobody")))
    assert message == f"node '{node.id}' runs after 'nobody', but there is no such node"


@given(graphs(), st.data())
def test_a_cycle_is_named(graph, data):
    last = pick(data.draw, graph)
    ancestors, todo = {last.id}, [last]
    by_id = {node.id: node for node in graph.nodes}
    while todo:
        new = set(todo.pop().upstream) - ancestors
        ancestors |= new
        todo += [by_id[node_id] for node_id in new]
    first = by_id[data.draw(st.sampled_from(sorted(ancestors)))]
    message = refused(graph, replace(first, after=(*first.after, last.id)))
    named = re.findall(r"'([^']+)'", message)
    assert message.startswith("the graph has a cycle: ")
    assert named[0] == named[-1]
    assert {first.id, last.id} <= set(named) <= ancestors
    edges = {(other, node.id) for node in graph.nodes for other in node.upstream} | {(last.id, first.id)}
    assert edges.issuperset(pairwise(named))


@given(graphs(), st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_sources_that_meet_have_the_same_blocks(graph, blocks, others):
    a, b = Node("a", blocks=dict.fromkeys(blocks, 2)), Node("b", blocks=dict.fromkeys(others, 3))
    nodes = (Node("c", inputs=(Stream("b"),)), Node("meeting", inputs=(Stream("a"), Stream("c"))))
    if blocks == others:
        made(graph, a, b, *nodes)
        return
    first = min(blocks ^ others)
    has, lacks = ("a", "b") if first in blocks else ("b", "a")
    difference = f"'{has}' has a block {first}, '{lacks}' does not"
    message = f"node 'meeting' reads 'a.out' and 'c.out', whose blocks differ: {difference}"
    assert refused(graph, a, b, *nodes) == message


def test_sources_that_meet_through_one_whose_blocks_come_later():
    nodes = [Node("a", blocks={0: 1}), Node("b", blocks={1: 1}), Node("later")]
    with pytest.raises(GraphError, match="'a' has a block 0, 'b' does not"):
        Graph(
            (*nodes, Node("x", inputs=(Stream("a"), Stream("later"))), Node("y", inputs=(Stream("later"), Stream("b"))))
        )


@given(graphs(), st.data())
def test_blocks_that_cannot_be(graph, data):
    node = pick(data.draw, graph)
    if node.inputs:
        message = f"node '{node.id}' reads '{node.inputs[0]}', so its blocks cannot be given"
        assert refused(graph, replace(node, blocks={0: 1})) == message
    else:
        assert refused(graph, replace(node, blocks={3: -1})) == f"node '{node.id}': block 3 with -1 rows is invalid"


@given(graphs(), st.data())
@settings(max_examples=20)
def test_two_ports_with_one_name(graph, data):
    node = pick(data.draw, graph)
    message = refused(graph, replace(node, outputs=(*node.outputs, "twin", "twin")))
    assert message == f"node '{node.id}' has two ports 'twin'"


def test_the_readers_of_a_node_come_after_what_they_read():
    graph = Graph(
        (
            Node("end", inputs=(Stream("left"), Stream("right"))),
            Node("right", inputs=(Stream("first"),)),
            Node("left", inputs=(Stream("first"),)),
            Node("first"),
            Node("look", after=("end",)),
        )
    )
    assert graph.readers() == {
        "first": ("right", "left", "end"),
        "right": ("end",),
        "left": ("end",),
        "end": (),
        "look": (),
    }
