"""Fuses branches that come together again: their nodes become one, which reads its input once and writes no rows between.

A region has one exit, which reads several streams; nothing else outside the region reads its nodes, and all of it comes
from the same rows. The operators along each path to the exit are a lane. Lanes begin with the same operators where
their paths do, and these run once for each batch. Operators after the branches run once for each lane: they work on
rows, so they need not see the rows of all lanes at once. The rows of a block are those of its first lane, then those of
the second, and so on, as if the exit had read the streams one after another.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from jinx_pipeline.plan.graph import PlanGraph, PlanNode
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.schedule.graph import Stream

# Each lane writes a part of its own, and branches that follow one another multiply their lanes.
MAX_LANES: Final = 8

Lane = tuple[int, ...]


def fused(graph: PlanGraph, recipe: Recipe, batch_rows: Callable[[str, Sequence[int]], int]) -> PlanGraph:
    """The graph with a single node in place of each region.

    The node has the id of the exit, which is a digest of all that the region does.

    Args:
        graph: The nodes, each after those that it reads.
        recipe: The recipe.
        batch_rows: The batch size for some operators in workers of a pool.
    """
    nodes = {node.id: node for node in graph.nodes}
    followed = {stream.node for node in graph.nodes for stream in (*node.after, *node.gathers)}
    for node in graph.nodes:
        if len(node.reads) < 2 or node.group is not None or set(node.ports) - {"out", "keys"} or node.after:  # noqa: PLR2004
            continue
        region = _region(node, nodes, followed)
        lanes = _lanes(region, recipe)
        if not lanes:
            continue
        places = tuple(dict.fromkeys(chain.from_iterable(lanes)))
        nodes[node.id] = replace(
            node,
            reads=_reads(region)[0],
            operators=places,
            lanes=lanes,
            batch_rows=batch_rows(str(node.pool), places),
        )
        for inner in region[:-1]:
            del nodes[inner.id]
    return PlanGraph(tuple(nodes.values()))


def _region(last: PlanNode, nodes: Mapping[str, PlanNode], followed: set[str]) -> list[PlanNode]:
    """The largest region with an exit whose nodes each read either the region or rows from outside."""
    readers = {node_id: {node.id for node in nodes.values() if node_id in _read(node)} for node_id in nodes}
    inner = {node.id for node in nodes.values() if node.id not in followed and _is_inner(node, last)}
    while True:
        region = {last.id}
        for node_id in reversed(nodes):
            if node_id in inner and readers[node_id] and readers[node_id] <= region:
                region.add(node_id)
        # What a node reads together with rows from outside stays outside too.
        mixed = (read for read in (_read(nodes[node_id]) for node_id in region) if not read <= region)
        outside = region.intersection(chain.from_iterable(mixed))
        if not outside:
            return [node for node_id, node in nodes.items() if node_id in region]
        inner -= outside


def _is_inner(node: PlanNode, last: PlanNode) -> bool:
    """Whether a node may be in a region before its exit, as far as the node alone can tell."""
    is_plain = node.kind == "map" and node.ports == ("out",) and node.group is None and node.output is None
    is_alike = node.pool == last.pool and node.has_base == last.has_base
    return is_plain and is_alike and not node.after and not node.of_other


def _read(node: PlanNode) -> set[str]:
    return {stream.node for stream in node.reads}


def _reads(region: Sequence[PlanNode]) -> list[tuple[Stream, ...]]:
    """What the nodes of a region read from outside, each once."""
    ids = {node.id for node in region}
    return list(dict.fromkeys(node.reads for node in region if not _read(node) & ids))


def _lanes(region: Sequence[PlanNode], recipe: Recipe) -> tuple[Lane, ...]:
    """The operators along each path through a region, in the order of the rows; empty if it cannot be one node."""
    steps = [recipe.steps[place] for node in region for place in node.operators]
    if len(region) == 1 or len(_reads(region)) > 1 or len({step.batch_rows for step in steps}) > 1:
        return ()
    if any(step.operator.depends_on_batch for step in steps):
        return ()  # other rows would be in its batches
    lanes: dict[str, tuple[Lane, ...]] = {}
    for node in region:
        before = tuple(lane for stream in node.reads for lane in lanes.get(stream.node, ())) or ((),)
        if len(before) > 1 and any(recipe.steps[place].operator.kind == "sink" for place in node.operators):
            return ()  # of rows with the same key, the table keeps the last
        own = node.lanes or (node.operators,)
        lanes[node.id] = tuple((*lane, *places) for places in own for lane in before)
    found = lanes[region[-1].id]
    return found if len(found) <= MAX_LANES else ()
