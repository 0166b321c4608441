"""Turns the graph of a recipe into steps with inputs, groups of sources, and outputs."""

import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, Final

from jinx._suggest import hint
from jinx._urls import is_url
from jinx_pipeline.operators.api.filter import Filter
from jinx_pipeline.operators.api.gather import Gather
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.operator_kinds import GLOBAL_KINDS
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.unloaded_operator import UnloadedOperator
from jinx_pipeline.operators.table.table_select import TableSelect
from jinx_pipeline.operators.table.table_upsert import TableUpsert, is_table
from jinx_pipeline.recipe.errors import Place
from jinx_pipeline.recipe.export import Export
from jinx_pipeline.recipe.graph import Flow, GraphNode, Port, RecipeGraph
from jinx_pipeline.recipe.model import LateQuery, Output, SourceSpec, Step, StepPort
from jinx_pipeline.recipe.yaml_text import Located

_SIDES: Final = ("left", "right")
Ports = tuple[StepPort, ...]


@dataclass(frozen=True)
class NodeReaders:
    """Readers of the contents of nodes; each reports the mistakes that it finds.

    Attributes:
        sources: Reads a source.
        steps: Reads the operators of a list.
        export: Reads an output.
    """

    sources: Callable[[Located], list[SourceSpec]]
    steps: Callable[[Located], list[Step]]
    export: Callable[[Located], Export | None]


@dataclass
class Lowered:
    """The parts of a recipe.

    Attributes:
        sources: All sources.
        source_groups: How many of them belong to each source node.
        steps: The steps.
        outputs: The outputs.
    """

    sources: list[SourceSpec] = field(default_factory=list[SourceSpec])
    source_groups: list[int] = field(default_factory=list[int])
    steps: list[Step] = field(default_factory=list[Step])
    outputs: list[Output] = field(default_factory=list[Output])


def lowered(graph: RecipeGraph, readers: NodeReaders, problems: list[tuple[Place, str]]) -> Lowered:
    """Turn a graph into the parts of a recipe.

    Args:
        graph: The nodes and flows.
        readers: Read what nodes consist of.
        problems: Receives mistakes.
    """
    names = _ordered(graph, problems)
    if not problems:
        _refuse_unconnected(graph, problems)
    lowering = _Lowering(graph, readers, problems)
    for name in names:
        lowering.add(graph.nodes[name])
    places = {name: place for place, name in enumerate(graph.nodes)}
    lowering.parts.outputs.sort(key=lambda output: places[output.name])
    _refuse_equal_outputs(lowering.parts.outputs, problems)
    return lowering.parts


class _Lowering:
    def __init__(self, graph: RecipeGraph, readers: NodeReaders, problems: list[tuple[Place, str]]) -> None:
        self.parts = Lowered()
        self._graph = graph
        self._readers = readers
        self._problems = problems
        # For each node, the ports of steps that make up each of its outputs.
        self._outputs: dict[str, dict[str, Ports]] = {}

    def add(self, node: GraphNode) -> None:
        """Add a node, after those that it reads."""
        parts = self.parts
        if node.kind == "source":
            self._add_source(node)
            return
        after = self._after(node)
        if node.kind == "join":
            self._add_join(node, after)
            return
        flows = [flow for flow in self._graph.flows if flow.target.node == node.name]
        for flow in flows:
            if flow.target.name not in {"", "in"}:
                self._refuse(flow.place, f"{node.name} has one input, and no {flow.target.name!r}")
        inputs = self._inputs(node, flows)
        if not inputs:
            return
        if node.kind == "sink" and is_table(node.content.value):
            self._add_table(node, inputs, after)
            return
        if node.kind == "sink":
            export = self._readers.export(node.content)
            parts.outputs.append(Output(inputs, export, after, node.name, node.place))
            # A sink passes on the rows that flow into it.
            self._outputs[node.name] = {"out": inputs}
            return
        first = len(parts.steps)
        for step in self._readers.steps(node.content):
            parts.steps.append(replace(step, inputs=inputs, after=after, name=node.name))
            inputs, after = (StepPort(len(parts.steps) - 1),), ()
        self._outputs[node.name] = self._outputs_of(range(first, len(parts.steps)), inputs)

    def _add_source(self, node: GraphNode) -> None:
        specs = self._readers.sources(node.content)
        sources: Ports = (StepPort(None, group=len(self.parts.source_groups)),)
        query = specs[0].query if len(specs) == 1 and node.after else None
        if query is not None:
            # The source may read rows that earlier nodes write.
            query = LateQuery(query.database, query.query, query.columns)
            specs = [replace(specs[0], path=query.name, query=query)]
        self.parts.sources += specs
        self.parts.source_groups.append(len(specs))
        if query is not None:
            operator = TableSelect(database=query.database, query=query.query, columns=dict(query.columns))
            selected = self._add_step(operator, sources, self._after(node), node)
            # One task selects the rows; then a task for each block processes them.
            sources = (self._add_step(Gather(), (selected,), (), node),)
        self._outputs[node.name] = {"out": self._put_together(node, sources, [])}

    def _add_join(self, node: GraphNode, after: Ports) -> None:
        flows = [flow for flow in self._graph.flows if flow.target.node == node.name]
        sides = {side: [flow for flow in flows if flow.target.name == side] for side in _SIDES}
        for flow in flows:
            if flow.target.name not in _SIDES:
                self._refuse(
                    flow.place, f"{node.name} is a join: name its input, {node.name}.left or {node.name}.right"
                )
        if not all(sides.values()):
            missing = next(side for side in _SIDES if not sides[side])
            self._refuse(node.place, f"nothing flows to {node.name}.{missing}; a join has the inputs left and right")
            return
        values = node.content.value
        places = {str(key): member.place for key, member in node.content.children.items()}
        if not isinstance(values, dict):
            self._refuse(
                node.content.place, "the parameters of a join: a mapping with on, how, columns, prefix, duplicates"
            )
            return
        if "path" in places:
            self._refuse(places["path"], f"a join in a graph has no path; the other dataset flows to {node.name}.right")
            return
        from jinx_pipeline.operators.join.stream_join import StreamJoin

        left, right = self._inputs(node, sides["left"]), self._inputs(node, sides["right"])
        try:
            operator = StreamJoin(**values)
        except ParameterError as error:
            self._refuse(places.get(error.parameter, node.content.place), str(error))
            return
        if len(right) > 1:
            right = (self._add_step(Gather(), right, (), node),)
        if left and right:
            out = self._add_step(operator, (*left, *right), after, node, places)
            self._outputs[node.name] = {"out": (out,)}

    def _add_table(self, node: GraphNode, inputs: Ports, after: Ports) -> None:
        places = {str(key): member.place for key, member in node.content.children.items()}
        try:
            operator = TableUpsert(**node.content.value)
        except ParameterError as error:
            self._refuse(places.get(error.parameter, node.content.place), str(error))
            return
        out = self._add_step(operator, inputs, after, node, places)
        self._outputs[node.name] = {"out": (out,), "failed": (replace(out, port="failed"),)}

    def _add_step(
        self,
        operator: Operator,
        inputs: Ports,
        after: Ports,
        node: GraphNode,
        places: Mapping[str, Place] | None = None,
    ) -> StepPort:
        step = Step(operator, node.place, places or {}, inputs=inputs, after=after, name=node.name)
        self.parts.steps.append(step)
        return StepPort(len(self.parts.steps) - 1)

    def _inputs(self, node: GraphNode, flows: list[Flow]) -> Ports:
        """The ports that a node reads: those of its flows, mixed if they have weights, if its condition holds."""
        read = [self._resolved(flow.source, flow.place) for flow in flows]
        if not all(read):
            return ()
        weights = [1.0 if flow.weight is None else flow.weight for flow in flows]
        if any(flow.weight is not None for flow in flows):
            streams = tuple(
                ports[0] if len(ports) == 1 else self._add_step(Gather(), ports, (), node) for ports in read
            )
        else:
            streams, weights = tuple(port for ports in read for port in ports), []
        return self._put_together(node, streams, weights)

    def _put_together(self, node: GraphNode, streams: Ports, weights: list[float]) -> Ports:
        """The ports themselves; or one that combines them, if they have weights or the node has a condition on rows."""
        counted = () if node.when is None else self._resolved(node.when.rows, node.when.place)
        if node.when is not None and not counted:
            return ()
        if not weights and node.when is None:
            return streams
        when: dict[str, Any] = {}
        if node.when is not None:
            counted = counted if len(counted) == 1 else (self._add_step(Gather(), counted, (), node),)
            when = {"at_least": node.when.at_least, "at_most": node.when.at_most}
        gather = Gather(weights=weights or None, **when)
        return (self._add_step(gather, (*streams, *counted), (), node),)

    def _after(self, node: GraphNode) -> Ports:
        """The ports that a node waits for: its own, and those of the sources that it reads."""
        read = [self._graph.nodes[flow.source.node] for flow in self._graph.flows if flow.target.node == node.name]
        ports = [
            port for source in (node, *(other for other in read if other.kind == "source")) for port in source.after
        ]
        return tuple(dict.fromkeys(step_port for port in ports for step_port in self._resolved(port, node.place)))

    def _resolved(self, port: Port, place: Place) -> Ports:
        """The ports of steps that make up an output of a node; none if there is a mistake."""
        outputs = self._outputs.get(port.node)
        if outputs is None:
            return ()  # the error in it has been reported already
        if (port.name or "out") in outputs:
            return outputs[port.name or "out"]
        known = ", ".join(outputs)
        self._refuse(place, f"{port.node} has no output {port.name!r}{hint(port.name, outputs)}; it has: {known}")
        return ()

    def _outputs_of(self, steps: range, last: Ports) -> dict[str, Ports]:
        """The outputs of a node of operators: what all its filters drop, and all rows on which one of them fails."""
        operators = {number: self.parts.steps[number].operator for number in steps}
        local = [number for number, operator in operators.items() if operator.kind not in GLOBAL_KINDS]
        # Code that is not loaded yet may be a filter. Once it is loaded, ports that it does not have are removed.
        filters = [number for number in local if isinstance(operators[number], Filter | UnloadedOperator)]
        outputs = {"out": last}
        if filters:
            outputs |= {"kept": last, "dropped": tuple(StepPort(number, "dropped") for number in filters)}
        if local:
            outputs["failed"] = tuple(StepPort(number, "failed") for number in local)
        if any(operator.kind == "splitter" for operator in operators.values()):
            outputs["clips"] = last
        return outputs

    def _refuse(self, place: Place, message: str) -> None:
        self._problems.append((place, message))


def _ordered(graph: RecipeGraph, problems: list[tuple[Place, str]]) -> list[str]:
    """The names of the nodes, each after those on which it depends."""
    before: dict[str, set[str]] = {name: {port.node for port in node.after} for name, node in graph.nodes.items()}
    for name, node in graph.nodes.items():
        if node.when is not None and node.when.rows.node not in graph.nodes:
            problems.append((node.when.place, f"{node.when.rows.node} is left out, so its rows are not counted"))
        elif node.when is not None:
            before[name].add(node.when.rows.node)
    for flow in graph.flows:
        before.setdefault(flow.target.node, set()).add(flow.source.node)
    for flow in graph.flows:
        if graph.nodes[flow.source.node].kind == "source":
            # The readers of a source must also wait for the nodes that the source waits for.
            before[flow.target.node] |= before[flow.source.node]
    try:
        # Nodes that do not depend on each other keep their order in the recipe.
        sorter = TopologicalSorter(
            {name: sorted(others, key=list(graph.nodes).index) for name, others in before.items()}
        )
        return list(sorter.static_order())
    except CycleError as error:
        cycle: list[str] = error.args[1]
        problems.append((graph.nodes[cycle[0]].place, f"the recipe has a cycle: {' -> '.join(cycle)}"))
        return []


def _refuse_unconnected(graph: RecipeGraph, problems: list[tuple[Place, str]]) -> None:
    targets = {flow.target.node for flow in graph.flows}
    read = {flow.source.node for flow in graph.flows}
    for name, node in graph.nodes.items():
        if node.kind != "source" and name not in targets:
            problems.append((node.place, f"nothing flows to {name}; write a flow {{from: ..., to: {name}}}"))
        if node.kind == "source" and name in targets:
            flow = next(flow for flow in graph.flows if flow.target.node == name)
            problems.append((flow.place, f"{name} is a source, and nothing flows to it"))
        if node.kind != "sink" and name not in read:
            problems.append((node.place, f"nothing reads {name}; write a flow {{from: {name}, to: ...}}"))
    repeated = Counter((flow.source, flow.target) for flow in graph.flows)
    problems += [
        (flow.place, f"{flow.source} flows to {flow.target} twice")
        for flow in graph.flows
        if repeated.pop((flow.source, flow.target), 1) > 1
    ]
    if not any(node.kind == "sink" and not is_table(node.content.value) for node in graph.nodes.values()):
        first = next(iter(graph.nodes.values()), None)
        place = Place() if first is None else first.place
        problems.append((place, "the recipe has no sink that is a file or directory"))


def _refuse_equal_outputs(outputs: list[Output], problems: list[tuple[Place, str]]) -> None:
    written: dict[Path, Output] = {}
    for output in outputs:
        if output.export is None:
            continue
        # Two paths to the same file are one output.
        path = Path(output.export.path if is_url(output.export.path) else os.path.realpath(output.export.path))
        for other_path, other in written.items():
            other_name = "" if other.export is None else other.export.path
            if path == other_path:
                message = f"{other.name} and {output.name} both write {output.export.path}"
                problems.append((output.place, message))
            elif path in other_path.parents or other_path in path.parents:
                message = (
                    f"of {other.name} ({other_name}) and {output.name} ({output.export.path}), one is in the other"
                )
                problems.append((output.place, f"{message}, which would be replaced as a whole"))
        written.setdefault(path, output)
