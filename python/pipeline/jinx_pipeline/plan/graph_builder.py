"""Builds the graph of a plan from a recipe: which operators run together, and which wait for all rows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from graphlib import CycleError, TopologicalSorter
from itertools import groupby
from typing import Any

from jinx_pipeline.operators.api.filter import Filter
from jinx_pipeline.operators.api.keyed import Edits, Keyed, Partitioned
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.plan.graph import WRITERS, PlanGraph, PlanNode, node_id
from jinx_pipeline.plan.probe import Findings, places_by_pool
from jinx_pipeline.plan.stage import may_move
from jinx_pipeline.recipe.errors import Place, RecipeError
from jinx_pipeline.recipe.model import Recipe, StepPort
from jinx_pipeline.schedule.graph import Stream

GLOBAL_KINDS = frozenset({"deduplicator", "selector", "grouper", "aggregator", "join", "order"})


def graph_of(
    recipe: Recipe,
    findings: Findings | None = None,
    memory: Mapping[str, int] | None = None,
    *,
    source: Sequence[Any] = (),
    versions: Mapping[str, str] | None = None,
) -> PlanGraph:
    """Divide a recipe into nodes: at operators that look at all rows, where resources change, and where rows branch.

    Filters that commute are ordered by their speed.

    Args:
        recipe: The recipe.
        findings: Results of the probe; operators without results are not moved.
        memory: Bytes that a worker of each pool may use; a pool that is missing has no limit.
        source: What determines the rows of the sources and their blocks, as plain data.
        versions: Versions of the packages whose code makes the rows.

    Raises:
        RecipeError: The steps of the recipe do not fit together.
    """
    order = _checked_order(recipe)
    builder = _Builder(recipe, findings or Findings(), memory or {}, dict(versions or {}))
    builder.add_source(source)
    for step in order:
        builder.add_step(step)
    for number, ports in enumerate(recipe.output_inputs):
        builder.add_output(number, ports)
    return PlanGraph(tuple(builder.nodes))


@dataclass
class _Chain:
    """Consecutive operators that have no node yet.

    Attributes:
        reads: The streams that the first operator reads.
        places: The places of the operators in the recipe.
        group: The place of the operator that makes samples from groups.
    """

    reads: tuple[Stream, ...]
    places: list[int] = field(default_factory=list[int])
    group: int | None = None


class _Builder:
    """Adds nodes, each after the nodes that it reads or follows."""

    def __init__(self, recipe: Recipe, findings: Findings, memory: Mapping[str, int], versions: dict[str, str]) -> None:
        self.nodes: list[PlanNode] = []
        self._recipe = recipe
        self._operators = [step.operator for step in recipe.steps]
        self._findings = findings
        self._memory = memory
        self._versions = versions
        self._pools = places_by_pool(recipe)
        self._readers = Counter(_plain(port) for ports in _all_inputs(recipe) for port in ports)
        self._ends: dict[StepPort, _Chain | Stream] = {}
        # For each node: the source or decision whose blocks it has, and whether its rows are rows of a source.
        self._origins: dict[str, str] = {}
        self._has_base: dict[str, bool] = {}

    def add_source(self, facts: Sequence[Any]) -> None:
        """Add the node of the sources, whose rows are concatenated or mixed."""
        node = self._add(PlanNode(node_id("source", [*facts, self._versions]), "source"))
        self._ends[StepPort(None)] = Stream(node.id)

    def add_step(self, step: int) -> None:
        """Add an operator."""
        operator, inputs = self._operators[step], self._recipe.step_inputs[step]
        ports = tuple(port for port in ("dropped", "failed") if self._readers[StepPort(step, port)])
        if operator.kind in GLOBAL_KINDS:
            self._ends[StepPort(step)] = self._add_decision(step, self._chain_of(inputs, step))
        elif ports:
            # Rows that earlier operators drop must not reach its ports, so it has a node of its own.
            chain = _Chain(self._streams(inputs, step), [step])
            last = self._closed(chain, ports=("out", *ports))
            for port in last.ports:
                self._ends[StepPort(step, port)] = Stream(last.id, port)
        else:
            chain = self._chain_of(inputs, step)
            chain.places.append(step)
            self._ends[StepPort(step)] = chain

    def add_output(self, number: int, inputs: tuple[StepPort, ...]) -> None:
        """Add the node whose rows become an output, and the nodes that write the output."""
        last = self._closed(self._chain_of(inputs, None), output=number)
        after = (Stream(last.id),)
        for kind in WRITERS:
            facts = [_ids(after), number, _plain_export(self._recipe)]
            node = self._add(PlanNode(node_id(kind, facts), kind, after=after, pool="cpu", output=number))
            after = (*after, Stream(node.id))

    # Chains.

    def _chain_of(self, inputs: tuple[StepPort, ...], step: int | None) -> _Chain:
        """The chain that an operator extends, or a new one."""
        first = _plain(inputs[0])
        end = self._ends[first]
        if len(inputs) == 1 and self._readers[first] == 1 and isinstance(end, _Chain):
            return end
        return _Chain(self._streams(inputs, step))

    def _streams(self, inputs: tuple[StepPort, ...], step: int | None) -> tuple[Stream, ...]:
        streams: list[Stream] = []
        for port in map(_plain, inputs):
            end = self._ends[port]
            if isinstance(end, _Chain):
                end = self._ends[port] = Stream(self._closed(end).id)
            elif len(inputs) > 1 and self._origins[end.node] == end.node:
                # Only parts can be concatenated, so a new node writes the rows of a source or decision as parts.
                end = Stream(self._closed(_Chain((end,))).id)
            streams.append(end)
        origins = [self._origins[stream.node] for stream in streams]
        if len(set(origins)) > 1:
            self._refuse_other_blocks(inputs, origins, step)
        return tuple(streams)

    def _refuse_other_blocks(self, inputs: tuple[StepPort, ...], origins: list[str], step: int | None) -> None:
        differing = next(index for index, origin in enumerate(origins) if origin != origins[0])
        names = [_stream_name(self._recipe, inputs[index]) for index in (0, differing)]
        message = (
            f"{_reader_name(self._recipe, step)} reads {names[0]} and {names[1]}, whose blocks differ: rows can only "
            "be put together again where no operator that looks at all rows comes between"
        )
        raise RecipeError([(Place() if step is None else self._recipe.steps[step].place, message)])

    def _closed(
        self, chain: _Chain, *, ports: tuple[str, ...] = ("out",), keys_of: int | None = None, output: int | None = None
    ) -> PlanNode:
        """Add nodes for the operators of a chain, a new one where the pool or batch size changes; returns the last."""
        runs = self._runs(chain, keys_of)
        for places in runs[:-1]:
            node = self._add_map(chain, places)
            chain = _Chain((Stream(node.id),))
        return self._add_map(chain, runs[-1], ports=ports, keys_of=keys_of, output=output)

    def _runs(self, chain: _Chain, keys_of: int | None) -> list[tuple[int, ...]]:
        """Runs of operators with the same workers and batch size: the first makes groups, the last computes keys."""
        steps, ordered = self._recipe.steps, _reordered(self._recipe, chain.places, self._findings)
        places = [*([] if chain.group is None else [chain.group]), *ordered, *([] if keys_of is None else [keys_of])]
        runs: list[tuple[int, ...]] = []
        for _, in_pool in groupby(places, lambda place: steps[place].resources.pool):
            batched = groupby((place for place in in_pool if place in ordered), lambda place: steps[place].batch_rows)
            runs += [tuple(run) for _, run in batched] or [()]
        return runs or [()]

    def _add_map(
        self,
        chain: _Chain,
        places: tuple[int, ...],
        *,
        ports: tuple[str, ...] = ("out",),
        keys_of: int | None = None,
        output: int | None = None,
    ) -> PlanNode:
        node = PlanNode(
            "",
            "map",
            chain.reads,
            ports=ports if keys_of is None else (*ports, "keys"),
            operators=places,
            group=chain.group,
            keys_of=keys_of,
            has_base=chain.group is None and self._has_base[chain.reads[0].node],
            output=output,
        )
        pool = node_resources(self._recipe, node).pool
        node = replace(node, pool=pool, batch_rows=self._batch_rows(pool, places))
        first = min(places) if places else chain.group
        name = "rows" if first is None else self._operators[first].name
        return self._add(replace(node, id=node_id(name, self._map_facts(node))))

    def _batch_rows(self, pool: str, places: Sequence[int]) -> int:
        operators = [self._operators[place] for place in places]
        option = self._recipe.steps[places[0]].batch_rows if places else None
        option = option or self._recipe.options.batch_rows
        rows = option or min((operator.batch_size for operator in operators), default=1000)
        if option is None and not any(operator.depends_on_batch for operator in operators):
            rows = self._findings.batch_rows(places, self._pools.get(pool, []), rows, self._memory.get(pool))
        return rows

    # Operators that look at all rows.

    def _add_decision(self, step: int, chain: _Chain) -> _Chain | Stream:
        """Add the nodes for the keys of all rows, the tasks over them and the decision; returns what follows it."""
        operator, group = self._operators[step], chain.group
        makes_groups = group is not None and self._operators[group].kind == "grouper" and not chain.places
        if operator.kind == "aggregator" and makes_groups:
            chain.group = step  # the aggregator reads the groups themselves
            return chain
        is_keyed = isinstance(operator, Keyed)
        rows = self._closed(chain, keys_of=step if is_keyed else None)
        after: tuple[Stream, ...] = (Stream(rows.id),)
        if isinstance(operator, Partitioned):
            after = (*after, Stream(self._add_look(step, operator, rows).id))
        is_edited = isinstance(operator, Edits)
        ports = ("out", "edits") if is_edited else ("out",)
        facts = [operator.digest, _ids(after), asdict(self._recipe.roles), self._recipe.options.seed]
        facts += [self._recipe.options.block_rows]
        decide = self._add(
            PlanNode(
                node_id(f"decide_{operator.name}", facts),
                "decide",
                after=after,
                ports=ports,
                operators=(step,),
                has_base=rows.has_base,
            )
        )
        reads = (Stream(decide.id),)
        if operator.kind in {"grouper", "aggregator"}:
            return _Chain(reads, group=step)
        # The last phase of the operator edits samples.
        return _Chain(reads, [step]) if is_edited else reads[0]

    def _add_look(self, step: int, operator: Partitioned, rows: PlanNode) -> PlanNode:
        """Add the nodes of tasks over the keys of an operator, and those for the keys of the dataset of a join."""
        keys = [Stream(rows.id, "keys")]
        if operator.other is not None:
            source = self._other_source(step)
            keys.append(Stream(self._other_keys(step, source).id, "keys"))
        after = tuple(keys)
        merged = [self._key_node("merge", step, after, of_other=number > 0) for number in range(len(keys))]
        return self._key_node("look", step, (*after, *(Stream(node.id) for node in merged)))

    def _key_node(self, kind: Any, step: int, after: tuple[Stream, ...], *, of_other: bool = False) -> PlanNode:
        operator = self._operators[step]
        node = PlanNode("", kind, after=after, operators=(step,), of_other=of_other, has_base=False)
        node = replace(node, pool=node_resources(self._recipe, node).pool)
        facts = [operator.digest, _ids(after), of_other]
        return self._add(replace(node, id=node_id(f"{kind}_{operator.name}", facts)))

    def _other_source(self, step: int) -> PlanNode:
        facts = [self._operators[step].digest, self._recipe.options.block_rows, self._versions]
        return self._add(PlanNode(node_id("source", facts), "source", operators=(step,), of_other=True))

    def _other_keys(self, step: int, source: PlanNode) -> PlanNode:
        operator, reads = self._operators[step], (Stream(source.id),)
        facts = [operator.digest, _ids(reads), self._recipe.options.seed]
        return self._add(
            PlanNode(
                node_id(f"keys_{operator.name}", facts),
                "map",
                reads,
                ports=("out", "keys"),
                pool="cpu",
                batch_rows=1000,
                keys_of=step,
                of_other=True,
            )
        )

    # Ids.

    def _map_facts(self, node: PlanNode) -> list[Any]:
        """Everything that determines the rows that a node of operators makes."""
        recipe, operators = self._recipe, self._operators
        # In the order of the recipe: the order in which filters run does not change which rows remain.
        places = sorted(node.operators)
        depends_on_batch = any(operators[place].depends_on_batch for place in places)
        return [
            [operators[place].digest for place in places],
            _ids(node.reads),
            node.ports,
            None if node.group is None else operators[node.group].digest,
            None if node.keys_of is None else operators[node.keys_of].digest,
            node.batch_rows if depends_on_batch else None,
            asdict(recipe.roles),
            recipe.options.seed,
            recipe.measure_only,
            dict(recipe.known_stats),
            None if node.output is None else [node.output, _plain_export(recipe)],
        ]

    def _add(self, node: PlanNode) -> PlanNode:
        """Add a node; its id gets a number if another branch does the same."""
        equal = sum(earlier.id.startswith(node.id) for earlier in self.nodes)
        node = replace(node, id=f"{node.id}-{equal + 1}") if equal else node
        self._origins[node.id] = self._origins[node.reads[0].node] if node.reads else node.id
        self._has_base[node.id] = node.has_base
        self.nodes.append(node)
        return node


def node_resources(recipe: Recipe, node: PlanNode) -> Resources:
    """The resources that a worker of a node must have."""
    places = [*node.operators] if node.kind in {"map", "merge", "look"} else []
    places += [place for place in (node.group, node.keys_of) if place is not None]
    return reduce(Resources.at_least, (recipe.steps[place].resources for place in places)) if places else Resources()


def _ids(streams: Sequence[Stream]) -> list[str]:
    return [str(stream) for stream in streams]


def _plain_export(recipe: Recipe) -> Any:
    """Everything besides its rows that determines the bytes of an output."""
    export = recipe.export
    if export is None:
        return None
    return [export.kind, export.path.endswith(".jinx"), export.shard_size, export.keep_stats, recipe.content_digest]


def _plain(port: StepPort) -> StepPort:
    """The port with `kept` replaced by `out`: a filter passes on the rows that it keeps."""
    return StepPort(port.step) if port.port == "kept" else port


def _all_inputs(recipe: Recipe) -> list[tuple[StepPort, ...]]:
    return [*recipe.step_inputs, *recipe.output_inputs]


def _reordered(recipe: Recipe, chain: Sequence[int], findings: Findings) -> list[int]:
    """The operators, with the fastest first within each run of filters that commute."""
    if not recipe.options.reorder:
        return list(chain)
    rates = {place: measured.rows_per_second for place, measured in findings.operators.items()}
    ordered: list[int] = []
    for moves, places in groupby(chain, lambda place: may_move(recipe.steps[place].operator)):
        run = list(places)
        is_known = moves and all(place in rates for place in run)
        ordered += sorted(run, key=lambda place: -rates[place]) if is_known else run
    return ordered


# Checks that steps fit together.


def _checked_order(recipe: Recipe) -> list[int]:
    """The steps, each after those that it reads.

    Raises:
        RecipeError: There is a cycle, a step reads what no step makes, or a step is not read.
    """
    problems = [
        problem
        for reader, inputs in enumerate(_all_inputs(recipe))
        for problem in _problems_of(recipe, reader if reader < len(recipe.steps) else None, inputs)
    ]
    if problems:
        raise RecipeError(problems)
    graph = {step: [port.step for port in ports] for step, ports in enumerate(recipe.step_inputs)}
    try:
        order = [step for step in TopologicalSorter(graph).static_order() if step is not None]
    except CycleError as error:
        names = " -> ".join(_step_name(recipe, step) for step in error.args[1])
        raise RecipeError([(recipe.steps[error.args[1][0]].place, f"the recipe has a cycle: {names}")]) from None
    read = {port.step for ports in _all_inputs(recipe) for port in ports}
    unread = [step for step in order if step not in read]
    if unread:
        raise RecipeError(
            [(recipe.steps[step].place, f"no step and no output reads {_step_name(recipe, step)}") for step in unread]
        )
    return order


def _problems_of(recipe: Recipe, reader: int | None, inputs: tuple[StepPort, ...]) -> list[tuple[Place, str]]:
    name, place = _reader_name(recipe, reader), Place() if reader is None else recipe.steps[reader].place
    if not inputs:
        return [(place, f"{name} reads nothing")]
    problems: list[tuple[Place, str]] = []
    for port, times in Counter(map(_plain, inputs)).items():
        if times > 1:
            problems.append((place, f"{name} reads {_stream_name(recipe, port)} twice"))
    for port in inputs:
        if port.step is not None and not 0 <= port.step < len(recipe.steps):
            problems.append((place, f"{name} reads step {port.step}, and there are {len(recipe.steps)}, from 0"))
        elif port.port not in (ports := _ports_of(recipe, port.step)):
            known = ", ".join(ports)
            made_by = "the sources" if port.step is None else _step_name(recipe, port.step)
            problems.append((place, f"{name} reads the port {port.port!r} of {made_by}, which has: {known}"))
    return problems


def _ports_of(recipe: Recipe, step: int | None) -> tuple[str, ...]:
    if step is None or recipe.steps[step].operator.kind in GLOBAL_KINDS:
        return ("out",)
    if isinstance(recipe.steps[step].operator, Filter) and not recipe.measure_only:
        return ("out", "kept", "dropped", "failed")
    return ("out", "failed")


def _step_name(recipe: Recipe, step: int) -> str:
    return f"step {step} ({recipe.steps[step].operator.name})"


def _reader_name(recipe: Recipe, step: int | None) -> str:
    return "an output" if step is None else _step_name(recipe, step)


def _stream_name(recipe: Recipe, port: StepPort) -> str:
    if port.step is None:
        return "the sources"
    return f"{'' if port.port == 'out' else f'{port.port!r} of '}{_step_name(recipe, port.step)}"
