"""Fuses branches that come together again: their nodes become one, which reads its input once.

A region has one exit, which reads several streams. All its other nodes are read only by the region, and all of it
comes from the same rows. The operators along each path to the exit are a lane. Operators with which several lanes begin
run once for each batch. Operators after branches run once for each lane: they work on single rows, so they need not
see the rows of all lanes together. The rows of a block are those of its first lane, then those of the second, and so
on, as if the exit had read one stream after another.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from jinx_pipeline.plan.graph import Lane, PlanGraph, PlanNode
from jinx_pipeline.recipe.model import Recipe, Step
from jinx_pipeline.schedule.graph import Stream

# Each lane writes its own part, and regions that follow one another multiply their lanes.
MAX_LANES: Final = 8


def fused(graph: PlanGraph, recipe: Recipe, batch_rows: Callable[[str, Sequence[int]], int]) -> PlanGraph:
    """The graph with a single node in place of each region.

    The node has the id of the exit, which is a digest of all that the region does.

    Args:
        graph: The nodes, each after those that it reads.
        recipe: The recipe.
        batch_rows: The batch size for some operators in workers of a pool.
    """
    nodes = {node.id: node for node in graph.nodes}
    for last in graph.nodes:
        if len(last.reads) == 1 or not _is_exit(last, recipe):
            continue
        inner = _inner(last, nodes, recipe)
        # If this makes too many lanes, begin after the regions that are already fused.
        for candidates in (inner, {node_id for node_id in inner if not nodes[node_id].lanes}):
            region = _region(last, nodes, candidates)
            lanes = _lanes(region, recipe)
            if lanes:
                places = tuple(dict.fromkeys(chain.from_iterable(lanes)))
                rows = batch_rows(str(last.pool), places)
                (reads,) = _streams_from_outside(region)
                nodes[last.id] = replace(last, reads=reads, operators=places, lanes=lanes, batch_rows=rows)
                for node in region[:-1]:
                    del nodes[node.id]
                break
    return PlanGraph(tuple(nodes.values()))


def _is_exit(node: PlanNode, recipe: Recipe) -> bool:
    return node.kind == "map" and not {"dropped", "failed"}.intersection(node.ports) and _is_plain(node, recipe)


def _is_plain(node: PlanNode, recipe: Recipe) -> bool:
    """Whether a node only runs operators on single rows, as soon as the rows are there."""
    steps = _steps(node, recipe)
    return node.group is None and not node.after and not any(step.operator.depends_on_batch for step in steps)


def _inner(last: PlanNode, nodes: Mapping[str, PlanNode], recipe: Recipe) -> set[str]:
    """The nodes that may be in a region before an exit, as far as each node alone can tell."""
    followed = {stream.node for node in nodes.values() for stream in (*node.after, *node.gathers)}
    batches = {step.batch_rows for step in _steps(last, recipe)}

    def may_be_inner(node: PlanNode) -> bool:
        is_alike = node.pool == last.pool and node.has_base == last.has_base
        has_batches = not batches or batches.issuperset(step.batch_rows for step in _steps(node, recipe))
        is_read_only = node.ports == ("out",) and node.output is None and node.id not in followed
        return node.kind == "map" and is_alike and has_batches and is_read_only and _is_plain(node, recipe)

    return {node.id for node in nodes.values() if may_be_inner(node)}


def _region(last: PlanNode, nodes: Mapping[str, PlanNode], inner: set[str]) -> list[PlanNode]:
    """The largest region with an exit in which no node reads both the region and rows from outside.

    Args:
        last: The exit.
        nodes: All nodes, each after those that it reads.
        inner: The nodes that may be in the region before the exit.
    """
    readers: dict[str, set[str]] = {node_id: set() for node_id in nodes}
    for node in nodes.values():
        for node_id in _nodes_read_by(node):
            readers[node_id].add(node.id)
    while True:
        region = {last.id}
        for node_id in reversed(list(nodes)):
            if node_id in inner and readers[node_id] and readers[node_id] <= region:
                region.add(node_id)
        mixed = (read for read in (_nodes_read_by(nodes[node_id]) for node_id in region) if not read <= region)
        leaving = region.intersection(chain.from_iterable(mixed))
        if not leaving:
            return [node for node_id, node in nodes.items() if node_id in region]
        inner = inner - leaving


def _lanes(region: Sequence[PlanNode], recipe: Recipe) -> tuple[Lane, ...]:
    """The operators along each path through a region, in the order of the rows; empty if it cannot be one node."""
    batches = {step.batch_rows for node in region for step in _steps(node, recipe)}
    if len(region) == 1 or len(_streams_from_outside(region)) > 1 or len(batches) > 1:
        return ()
    lanes: dict[str, tuple[Lane, ...]] = {}
    for node in region:
        before = tuple(lane for stream in node.reads for lane in lanes.get(stream.node, ())) or ((),)
        if len(before) > 1 and any(step.operator.kind == "sink" for step in _steps(node, recipe)):
            return ()  # of rows with the same key, a table keeps the one written last
        own = node.lanes or (node.operators,)
        lanes[node.id] = tuple((*lane, *places) for places in own for lane in before)
    found = lanes[region[-1].id]
    return found if len(found) <= MAX_LANES else ()


def _steps(node: PlanNode, recipe: Recipe) -> list[Step]:
    return [recipe.steps[place] for place in node.operators]


def _nodes_read_by(node: PlanNode) -> set[str]:
    """The nodes that a node reads."""
    return {stream.node for stream in node.reads}


def _streams_from_outside(region: Sequence[PlanNode]) -> list[tuple[Stream, ...]]:
    """What the nodes of a region read from outside, each once."""
    ids = {node.id for node in region}
    return list(dict.fromkeys(node.reads for node in region if not _nodes_read_by(node) & ids))
