"""Reads the nodes and flows of a recipe, and inlines the recipes that it includes."""

import os
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any, Final

from jinx._suggest import hint
from jinx._urls import is_url
from jinx_pipeline.recipe.errors import RecipeError
from jinx_pipeline.recipe.graph import KINDS, Condition, Flow, GraphNode, NodeKind, Port, RecipeGraph
from jinx_pipeline.recipe.recipe_parameters import Problems, Values, values_of
from jinx_pipeline.recipe.yaml_text import Located, read_yaml

# The sections that an included recipe may have.
_GRAPH_SECTIONS: Final = ("parameters", "nodes", "flows", "inputs", "outputs")
_LIST_SECTIONS: Final = ("parameters", "process")
_MAX_INCLUDES: Final = 16
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_/-]*")
_FLOW_KEYS: Final = ("from", "to", "weight")
# The name of the node that an included list of operators becomes.
_SHORT_NODE: Final = "process"
_CONDITIONS: Final = (
    "a condition is {rows: node, at_least: number} or at_most, or {parameter: name}, perhaps with is or in"
)


@dataclass
class _Included:
    """An included recipe.

    Attributes:
        inputs: The inner input of each input port.
        outputs: The inner output of each output port.
    """

    inputs: dict[str, Port] = field(default_factory=dict[str, Port])
    outputs: dict[str, Port] = field(default_factory=dict[str, Port])


def read_graph(root: Located, values: Values, problems: Problems) -> RecipeGraph:
    """Read the graph of a recipe.

    Args:
        root: The recipe, with `nodes` and `flows`.
        values: The values of its `parameters`.
        problems: Receives mistakes.
    """
    reader = _Reader(problems)
    reader.read(root, values, "", ())
    return RecipeGraph(reader.nodes, tuple(reader.flows), frozenset(reader.left_out)).without_left_out()


class _Reader:
    def __init__(self, problems: Problems) -> None:
        self.nodes: dict[str, GraphNode] = {}
        self.flows: list[Flow] = []
        self.left_out: set[str] = set()
        self._problems = problems
        self._included: dict[str, _Included] = {}

    def read(self, root: Located, values: Values, prefix: str, files: tuple[str, ...]) -> None:
        """Read the nodes and flows of one file.

        Args:
            root: The file.
            values: The values of its parameters.
            prefix: What precedes the names of its nodes.
            files: The files that include it.
        """
        nodes, flows = root.get("nodes"), root.get("flows")
        if nodes is None or not isinstance(nodes.value, dict) or not nodes.value:
            place = root.place if nodes is None else nodes.place
            self._problems.append((place, "nodes is a mapping from names to nodes"))
            return
        here = self._named(nodes, values)
        self.left_out |= {prefix + name for name, node in here.items() if not self._holds(node.get("when"), values)}
        kept = {name: content for name, content in here.items() if prefix + name not in self.left_out}
        # Included recipes come first, because their ports must be known before other nodes refer to them.
        for name, content in kept.items():
            if content.get("include") is not None:
                self._include(prefix + name, content, files)
        for name, content in kept.items():
            self._node(prefix + name, content, prefix, here)
        entries = None if flows is None else values.substituted(flows)
        if entries is not None and not isinstance(entries.value, list):
            self._problems.append((entries.place, "flows is a list of {from: ..., to: ...}"))
        elif entries is not None:
            for entry in entries.elements():
                self._flow(entry, prefix, here)

    def _named(self, nodes: Located, values: Values) -> dict[str, Located]:
        """The nodes of a file by name, with parameters replaced by their values."""
        named: dict[str, Located] = {}
        for name, content in nodes.children.items():
            if isinstance(name, str) and _NAME.fullmatch(name):
                named[name] = values.substituted(content)
            else:
                self._problems.append((content.place, f"a node is named with letters, digits, _ and -, not {name!r}"))
        return named

    # Methods for nodes.

    def _node(self, name: str, content: Located, prefix: str, here: Mapping[str, Located]) -> None:
        kinds = (*KINDS, "include")
        chosen = [kind for kind in kinds if content.get(kind) is not None]
        if not isinstance(content.value, dict) or len(chosen) != 1:
            self._problems.append((content.place, f"the node {name} has one of {', '.join(kinds)}"))
            return
        (kind,) = chosen
        known = [kind, "after", "when", *(["with"] if kind == "include" else [])]
        for key, member in content.children.items():
            if key not in known:
                near = hint(str(key), known) or f"; it has: {', '.join(known)}"
                self._problems.append((member.place, f"the node {name} has no {key!r}{near}"))
        after, when = tuple(self._ports(content.get("after"), prefix, here)), content.get("when")
        condition = None if when is None else self._condition(when, prefix, here)
        if kind != "include":
            node_kind: NodeKind = next(known_kind for known_kind in KINDS if known_kind == kind)
            self._add(GraphNode(name, node_kind, content.children[kind], content.place, after, condition))
            return
        if condition is not None:
            message = "an include has no condition on rows; set it on the nodes in it"
            self._problems.append((condition.place, message))
        entries = {port.node for port in self._included[name].inputs.values()} if name in self._included else set[str]()
        for inner in [node for node in self.nodes.values() if node.name.startswith(f"{name}/")]:
            if inner.name in entries or inner.kind == "source":
                self.nodes[inner.name] = replace(inner, after=(*inner.after, *after))

    def _add(self, node: GraphNode) -> None:
        if node.name in self.nodes:
            message = f"there are two nodes {node.name}: nodes of an included recipe are named after its node"
            self._problems.append((node.place, message))
        self.nodes[node.name] = node

    def _holds(self, section: Located | None, values: Values) -> bool:
        """Whether a condition on a parameter is true; also true if there is none."""
        facts: Any = None if section is None else section.value
        if section is None or not isinstance(facts, dict) or "parameter" not in facts:
            return True
        name = facts["parameter"]
        if set(facts) - {"parameter", "is", "in"} or ("in" in facts and not isinstance(facts["in"], list)):
            self._problems.append((section.place, _CONDITIONS))
        elif name not in values.values:
            known = ", ".join(values.values) or "none"
            near = hint(str(name), values.values) or f"; there are: {known}"
            self._problems.append((section.place, f"no parameter {name!r}{near}"))
        elif "in" not in facts and "is" not in facts:
            return bool(values.values[name])
        else:
            value, wanted = values.values[name], facts["in"] if "in" in facts else [facts["is"]]
            if wanted and not any(_are_alike(value, other) for other in wanted):
                message = f"the parameter {name} is {value!r} ({type(value).__name__}), which never equals {wanted}"
                self._problems.append((section.place, message))
            return value in wanted
        return True

    def _condition(self, section: Located, prefix: str, here: Mapping[str, Located]) -> Condition | None:
        """The condition on rows; None if it is on a parameter, or invalid."""
        facts: Any = section.value
        if isinstance(facts, dict) and "parameter" in facts:
            return None
        bounds = [facts.get("at_least"), facts.get("at_most")] if isinstance(facts, dict) else []
        is_right = any(bound is not None for bound in bounds) and "rows" in facts
        is_right = is_right and all(bound is None or (type(bound) is int and bound >= 0) for bound in bounds)
        if not is_right or set(facts) - {"rows", "at_least", "at_most"}:
            self._problems.append((section.place, _CONDITIONS))
            return None
        port = self._single_port(section.children["rows"], prefix, here)
        return None if port is None else Condition(port, bounds[0], bounds[1], section.place)

    # Methods for includes.

    def _include(self, name: str, content: Located, files: tuple[str, ...]) -> None:
        included, given = content.children["include"], content.get("with")
        if given is not None and not isinstance(given.value, dict):
            self._problems.append((given.place, "with is a mapping from parameters to values"))
            given = None
        root = self._file(included, files)
        if root is None:
            return
        title = str(root.place.file or included.value)
        self._refuse_unknown_sections(root)
        values = values_of(root.get("parameters"), {} if given is None else given.children, self._problems, title)
        if root.get("process") is not None:
            self._include_list(name, root, values)
            return
        inner = f"{name}/"
        self.read(root, values, inner, (*files, _absolute(title)))
        nodes = root.get("nodes")
        here: Mapping[str, Located] = {} if nodes is None else nodes.children
        self._included[name] = _Included(
            self._named_ports(root.get("inputs"), inner, here, are_inputs=True),
            self._named_ports(root.get("outputs"), inner, here),
        )

    def _named_ports(
        self, section: Located | None, prefix: str, here: Mapping[str, Located], *, are_inputs: bool = False
    ) -> dict[str, Port]:
        """The inputs or outputs of an included recipe by name."""
        members = {} if section is None else section.children
        ports = {
            str(name): self._single_port(member, prefix, here, are_inputs=are_inputs)
            for name, member in members.items()
        }
        return {name: port for name, port in ports.items() if port is not None}

    def _include_list(self, name: str, root: Located, values: Values) -> None:
        """Read a list of operators as one node."""
        operators = values.substituted(root.children["process"])
        inner = f"{name}/{_SHORT_NODE}"
        self._add(GraphNode(inner, "operators", operators, operators.place))
        outputs = {port: Port(inner, port) for port in ("out", "kept", "dropped", "failed")}
        self._included[name] = _Included({"in": Port(inner)}, outputs)

    def _refuse_unknown_sections(self, root: Located) -> None:
        known = _LIST_SECTIONS if root.get("process") is not None else _GRAPH_SECTIONS
        for key, member in root.children.items():
            if key not in known and not str(key).startswith("x-"):
                near = hint(str(key), known) or f"; it has: {', '.join(known)}"
                self._problems.append((member.place, f"an included recipe has no {key!r}{near}"))

    def _file(self, included: Located, files: tuple[str, ...]) -> Located | None:
        """The root of an included file's data."""
        if not isinstance(included.value, str):
            self._problems.append((included.place, "include is the path of a recipe"))
            return None
        path = _beside(included.place.file or "", included.value)
        chain = (*files, _absolute(included.place.file or ""))
        if _absolute(path) in chain or len(chain) > _MAX_INCLUDES:
            self._problems.append((included.place, f"{path} includes itself"))
            return None
        try:
            root = read_yaml(path)
        except OSError as error:
            self._problems.append((included.place, f"{path}: {error.strerror or error}"))
            return None
        except RecipeError as error:
            self._problems.extend(error.problems)
            return None
        if not isinstance(root.value, dict):
            self._problems.append((root.place, "an included recipe is a mapping with nodes and flows, or with process"))
            return None
        return root

    # Methods for flows and ports.

    def _flow(self, entry: Located, prefix: str, here: Mapping[str, Located]) -> None:
        sources, targets, weight = (entry.get(key) for key in _FLOW_KEYS)
        if sources is None or targets is None or set(entry.children) - set(_FLOW_KEYS):
            self._problems.append((entry.place, "a flow is {from: node, to: node}, perhaps with a weight"))
            return
        share: Any = None if weight is None else weight.value
        if share is not None and (
            isinstance(share, bool) or not isinstance(share, int | float) or not _is_share(share)
        ):
            self._problems.append((weight.place if weight else entry.place, "weight is a number of at least 0"))
            share = None
        for source in self._ports(sources, prefix, here):
            for target in self._ports(targets, prefix, here, are_inputs=True):
                self.flows.append(Flow(source, target, None if share is None else float(share), entry.place))

    def _single_port(
        self, section: Located, prefix: str, here: Mapping[str, Located], *, are_inputs: bool = False
    ) -> Port | None:
        """The port that a name stands for; None if there is a mistake, such as a list."""
        if isinstance(section.value, list):
            self._problems.append((section.place, f"one name of a node, not the list {section.value!r}"))
            return None
        return next(self._ports(section, prefix, here, are_inputs=are_inputs), None)

    def _ports(
        self, section: Located | None, prefix: str, here: Mapping[str, Located], *, are_inputs: bool = False
    ) -> Iterator[Port]:
        """The ports that a name or a list of names stands for."""
        if section is None:
            return
        entries = [*section.elements()] if isinstance(section.value, list) else [section]
        for entry in entries:
            if not isinstance(entry.value, str):
                self._problems.append((entry.place, f"the name of a node, not {entry.value!r}"))
                continue
            name, _, port = entry.value.partition(".")
            if name not in here:
                near = hint(name, here) or f"; there are: {', '.join(here)}"
                self._problems.append((entry.place, f"there is no node {name!r}{near}"))
            elif prefix + name not in self.left_out and here[name].get("include") is not None:
                yield from self._port_of_include(prefix + name, port, entry, are_inputs=are_inputs)
            else:
                yield Port(prefix + name, port)

    def _port_of_include(self, name: str, port: str, entry: Located, *, are_inputs: bool) -> Iterator[Port]:
        included = self._included.get(name)
        if included is None:
            return  # the included recipe could not be read
        ports = included.inputs if are_inputs else included.outputs
        usual = ["in"] if are_inputs else ["out", "kept"]
        named = [port] if port else [*(name for name in usual if name in ports), *(ports if len(ports) == 1 else usual)]
        chosen = named[0]
        if chosen in ports:
            yield ports[chosen]
            return
        kind = "input" if are_inputs else "output"
        known = ", ".join(ports) or "none"
        self._problems.append((entry.place, f"the included recipe {name} has no {kind} {chosen!r}; it has: {known}"))


def _is_share(value: float) -> bool:
    return isfinite(value) and value >= 0


def _beside(file: str, name: str) -> str:
    """The path or URL in a recipe, relative to that of the recipe itself."""
    if is_url(name) or not is_url(file):
        return name if is_url(name) else str(Path(file).parent / name)
    scheme, _, rest = file.partition("://")
    store, _, key = rest.partition("/")
    return f"{scheme}://{store}{posixpath.normpath(posixpath.join('/', posixpath.dirname(key), name))}"


def _absolute(name: str) -> str:
    return name if is_url(name) else os.path.abspath(name)  # noqa: PTH100 - symbolic links are not resolved


def _are_alike(value: Any, other: Any) -> bool:
    """Whether values of these types can be equal; anything may be missing."""
    if value is None or other is None:
        return True
    are_numbers = all(isinstance(number, int | float) and not isinstance(number, bool) for number in (value, other))
    return are_numbers or type(value) is type(other)
