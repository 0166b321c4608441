"""The graph form of a recipe: nodes and the flows between them, with included recipes inlined."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from jinx_pipeline.recipe.errors import Place
from jinx_pipeline.recipe.recipe_parameters import escaped
from jinx_pipeline.recipe.yaml_text import Located

NodeKind = Literal["source", "operators", "join", "sink"]
KINDS: Final[tuple[NodeKind, ...]] = ("source", "operators", "join", "sink")


@dataclass(frozen=True)
class Port:
    """An output of a node, or an input to which a flow leads.

    Attributes:
        node: The name of the node.
        name: The name of the port; empty: the only one, or `out`.
    """

    node: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.node}.{self.name}" if self.name else self.node


@dataclass(frozen=True)
class Condition:
    """A condition on the rows of a port.

    Attributes:
        rows: The port whose rows are counted.
        at_least: If it has fewer rows, the condition does not hold.
        at_most: If it has more rows, the condition does not hold.
        place: Its place in the recipe.
    """

    rows: Port
    at_least: int | None
    at_most: int | None
    place: Place


@dataclass(frozen=True)
class GraphNode:
    """A node of the graph.

    Attributes:
        name: Its name; a node of an included recipe has the name of the including node before it.
        kind: What it is.
        content: What it consists of: a source, a list of operators, the parameters of a join, an export.
        place: Its place in the recipe.
        after: Nodes whose rows must be complete before it begins.
        when: Only if this holds do rows flow to it.
    """

    name: str
    kind: NodeKind
    content: Located
    place: Place
    after: tuple[Port, ...] = ()
    when: Condition | None = None


@dataclass(frozen=True)
class Flow:
    """Rows that flow from an output of one node to an input of another.

    Attributes:
        source: The output.
        target: The input.
        weight: The share in a mixture; None: all rows.
        place: Its place in the recipe.
    """

    source: Port
    target: Port
    weight: float | None
    place: Place


@dataclass(frozen=True)
class RecipeGraph:
    """All nodes and flows.

    Attributes:
        nodes: The nodes by name.
        flows: The flows.
        left_out: Nodes whose condition on a parameter does not hold; flows may name them.
    """

    nodes: Mapping[str, GraphNode] = field(default_factory=dict[str, GraphNode])
    flows: tuple[Flow, ...] = ()
    left_out: frozenset[str] = frozenset()

    def without_left_out(self) -> "RecipeGraph":
        """The graph without nodes that are left out, and without nodes that this cuts off.

        A node is cut off if without them nothing flows to it, or nothing reads it.
        """
        lost = set(self.left_out)
        while True:
            flows = [flow for flow in self.flows if not lost.intersection((flow.source.node, flow.target.node))]
            inputs, had_inputs = ({flow.target for flow in some} for some in (flows, self.flows))
            read, was_read = ({flow.source.node for flow in some} for some in (flows, self.flows))
            cut = {port.node for port in had_inputs - inputs if self._needs(port, inputs)} | (was_read - read)
            if cut <= lost:
                break
            lost |= cut
        kept = {name: node for name, node in self.nodes.items() if name not in lost}
        nodes = {
            name: replace(node, after=tuple(port for port in node.after if port.node not in lost))
            for name, node in kept.items()
        }
        return RecipeGraph(nodes, tuple(flows))

    def _needs(self, port: Port, inputs: set[Port]) -> bool:
        """Whether a node is cut off if nothing flows into one of its inputs."""
        node = self.nodes.get(port.node)
        return node is None or node.kind == "join" or not any(other.node == port.node for other in inputs)

    def to_data(self) -> dict[str, Any]:
        """The graph as plain data, without includes and parameters."""
        return escaped(
            {
                "nodes": {name: _node_data(node) for name, node in self.nodes.items()},
                "flows": [
                    {
                        "from": str(flow.source),
                        "to": str(flow.target),
                        **({} if flow.weight is None else {"weight": flow.weight}),
                    }
                    for flow in self.flows
                ],
            }
        )


def _node_data(node: GraphNode) -> dict[str, Any]:
    data: dict[str, Any] = {node.kind: node.content.value}
    if node.after:
        data["after"] = [str(port) for port in node.after]
    if node.when is not None:
        bounds = {"at_least": node.when.at_least, "at_most": node.when.at_most}
        data["when"] = {"rows": str(node.when.rows)} | {
            key: value for key, value in bounds.items() if value is not None
        }
    return data
