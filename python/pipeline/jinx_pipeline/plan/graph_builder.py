"""Builds the graph of a plan from a recipe: which operators run together, and which wait for all rows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from graphlib import CycleError, TopologicalSorter
from itertools import groupby
from typing import Any

from jinx_pipeline.operators.api.filter import Filter
from jinx_pipeline.operators.api.gather import Gather
from jinx_pipeline.operators.api.keyed import Edits, Keyed, Partitioned
from jinx_pipeline.operators.api.operator_kinds import GLOBAL_KINDS
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.operators.api.unloaded_operator import UnloadedOperator
from jinx_pipeline.plan.filter_order import reordered
from jinx_pipeline.plan.fusion import fused
from jinx_pipeline.plan.graph import WRITERS, PlanGraph, PlanNode, node_id
from jinx_pipeline.plan.probe import Findings, places_by_pool
from jinx_pipeline.recipe.errors import Place, RecipeError
from jinx_pipeline.recipe.export import Export
from jinx_pipeline.recipe.model import Output, Recipe, StepPort
from jinx_pipeline.schedule.graph import Stream


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
    builder.add_sources(source)
    for step in order:
        builder.add_step(step)
    for number, output in enumerate(recipe.all_outputs):
        builder.add_output(number, output)
    builder.add_ends()
    return fused(PlanGraph(tuple(builder.nodes)), recipe, builder.batch_rows)


@dataclass
class _Chain:
    """Consecutive operators that have not been put into a node yet.

    Attributes:
        reads: The streams that the first operator reads.
        places: The places of the operators in the recipe.
        group: The place of the operator that makes samples from groups.
        after: Streams that must be complete before the first operator begins.
    """

    reads: tuple[Stream, ...]
    places: list[int] = field(default_factory=list[int])
    group: int | None = None
    after: tuple[Stream, ...] = ()


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
        read = [*_all_inputs(recipe), *(reader.after for reader in (*recipe.steps, *recipe.all_outputs))]
        self._readers = Counter(_plain(port) for ports in read for port in ports)
        self._ends: dict[StepPort, _Chain | Stream] = {}
        # For each node: the source or decision from which its blocks come, and whether its rows are rows of a source.
        self._origins: dict[str, str] = {}
        self._domains: dict[str, str] = {}
        self._has_base: dict[str, bool] = {}

    def add_sources(self, facts: Sequence[Any]) -> None:
        """Add a node for each group of sources, whose rows are concatenated or mixed."""
        for number in range(len(self._recipe.groups)):
            group_facts = [*facts, self._versions, *([number] if number else [])]
            node = self._add(PlanNode(node_id("source", group_facts), "source", sources=number))
            self._ends[StepPort(None, group=number)] = Stream(node.id)

    def add_step(self, step: int) -> None:
        """Add an operator."""
        operator, inputs = self._operators[step], self._recipe.step_inputs[step]
        after = self._control_streams(self._recipe.steps[step].after)
        ports = tuple(port for port in ("dropped", "failed") if self._readers[StepPort(step, port)])
        if isinstance(operator, Gather):
            self._ends[StepPort(step)] = self._gathered([self._stream_of(port) for port in inputs], step, after)
        elif isinstance(operator, Partitioned) and operator.other_is_input:
            *inputs, other = inputs
            store = self._add_store(step, self._stream_of(other))
            chain = self._chain_of(tuple(inputs), after)
            self._ends[StepPort(step)] = self._add_decision(step, chain, store)
        elif operator.kind in GLOBAL_KINDS:
            self._ends[StepPort(step)] = self._add_decision(step, self._chain_of(inputs, after))
        elif ports:
            # A filter with ports has a node of its own: rows that earlier operators drop must not reach the ports.
            chain = _Chain(self._streams(inputs), [step], after=after)
            last = self._closed(chain, ports=("out", *ports))
            for port in last.ports:
                self._ends[StepPort(step, port)] = Stream(last.id, port)
        else:
            chain = self._chain_of(inputs, after)
            chain.places.append(step)
            self._ends[StepPort(step)] = chain

    def add_output(self, number: int, output: Output) -> None:
        """Add the node whose rows become an output, and the nodes that write the output."""
        chain = self._chain_of(output.inputs, self._control_streams(output.after))
        last = self._closed(chain, output=number)
        after = (Stream(last.id),)
        for kind in WRITERS:
            facts = [_ids(after), number, _plain_export(self._recipe, output.export)]
            node = self._add(PlanNode(node_id(kind, facts), kind, after=after, pool="cpu", output=number))
            after = (*after, Stream(node.id))

    def add_ends(self) -> None:
        """Add the nodes of the last operators that no output reads, because they write to a database."""
        for step, operator in enumerate(self._operators):
            if operator.kind == "sink" and not self._readers[StepPort(step)]:
                self._stream_of(StepPort(step))

    # Methods for chains.

    def _chain_of(self, inputs: tuple[StepPort, ...], after: tuple[Stream, ...]) -> _Chain:
        """The chain that an operator extends, or a new one."""
        first = _plain(inputs[0])
        end = self._ends[first]
        if len(inputs) == 1 and self._readers[first] == 1 and isinstance(end, _Chain) and not after:
            return end
        return _Chain(self._streams(inputs), after=after)

    def _streams(self, inputs: tuple[StepPort, ...]) -> tuple[Stream, ...]:
        """The streams that a node reads block by block."""
        streams = [self._stream_of(port) for port in inputs]
        if len(streams) == 1:
            return (streams[0],)
        if not self._have_same_blocks(streams):
            return (self._gathered(streams, None),)
        return self._in_parts(streams)

    def _have_same_blocks(self, streams: Sequence[Stream]) -> bool:
        return len({self._domains[stream.node] for stream in streams}) == 1

    def _stream_of(self, port: StepPort) -> Stream:
        port = _plain(port)
        end = self._ends[port]
        if isinstance(end, _Chain):
            end = self._ends[port] = Stream(self._closed(end).id)
        return end

    def _control_streams(self, ports: Sequence[StepPort]) -> tuple[Stream, ...]:
        return tuple(dict.fromkeys(map(self._stream_of, ports)))

    def _in_parts(self, streams: Sequence[Stream]) -> tuple[Stream, ...]:
        """The streams, with all rows in parts of the same kind, because only such parts can be concatenated."""
        have_base = all(self._has_base[stream.node] for stream in streams)
        return tuple(
            Stream(self._closed(_Chain((stream,)), has_base=have_base).id)
            # The rows of a source or decision are not stored in parts.
            if self._origins[stream.node] == stream.node or self._has_base[stream.node] != have_base
            else stream
            for stream in streams
        )

    def _gathered(self, streams: Sequence[Stream], step: int | None, after: tuple[Stream, ...] = ()) -> Stream:
        """Add a node that combines streams, whose blocks may differ."""
        operator = None if step is None else self._operators[step]
        counted = streams[-1:] if isinstance(operator, Gather) and operator.counts_last else []
        gathers = self._in_parts(streams[: len(streams) - len(counted)])
        is_divided = len(streams) - len(counted) > 1 and any(stream.port != "out" for stream in gathers)
        if is_divided and getattr(operator, "weights", None) is None and self._have_same_blocks(gathers):
            gathers = (Stream(self._closed(_Chain(gathers)).id),)  # puts the rows of each block in order
        facts = [_ids(gathers), _ids(counted), None if operator is None else operator.digest]
        facts += [self._recipe.options.seed, self._recipe.options.block_rows]
        node = PlanNode(
            node_id("gather", facts),
            "gather",
            after=tuple(dict.fromkeys((*gathers, *counted, *after))),
            gathers=(*gathers, *counted),
            operators=() if step is None else (step,),
            has_base=self._has_base[gathers[0].node],
        )
        return Stream(self._add(node).id)

    def _add_store(self, step: int, stream: Stream) -> PlanNode:
        """Add the node that writes the rows of a stream as the dataset that a join adds."""
        (gathered,) = self._in_parts([stream])
        facts = [_ids([gathered]), self._operators[step].digest]
        node = PlanNode(
            node_id("store", facts), "store", after=(gathered,), gathers=(gathered,), operators=(step,), pool="cpu"
        )
        return self._add(node)

    def _closed(
        self,
        chain: _Chain,
        *,
        ports: tuple[str, ...] = ("out",),
        keys_of: int | None = None,
        output: int | None = None,
        has_base: bool = True,
    ) -> PlanNode:
        """Add nodes for the operators of a chain, a new one wherever pool or batch size changes; returns the last."""
        runs = self._runs(chain, keys_of)
        for places in runs[:-1]:
            node = self._add_map(chain, places)
            chain = _Chain((Stream(node.id),))
        return self._add_map(chain, runs[-1], ports=ports, keys_of=keys_of, output=output, has_base=has_base)

    def _runs(self, chain: _Chain, keys_of: int | None) -> list[tuple[int, ...]]:
        """Runs of operators with the same workers and batch size; the first makes groups, the last computes keys."""
        rates = {place: measured.rows_per_second for place, measured in self._findings.operators.items()}
        steps, ordered = self._recipe.steps, reordered(self._recipe, chain.places, rates)
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
        has_base: bool = True,
    ) -> PlanNode:
        node = PlanNode(
            "",
            "map",
            chain.reads,
            chain.after,
            ports=ports if keys_of is None else (*ports, "keys"),
            operators=places,
            group=chain.group,
            keys_of=keys_of,
            has_base=has_base and chain.group is None and self._has_base[chain.reads[0].node],
            output=output,
        )
        pool = node_resources(self._recipe, node).pool
        node = replace(node, pool=pool, batch_rows=self.batch_rows(pool, places))
        first = min(places) if places else chain.group
        name = "rows" if first is None else self._operators[first].name
        return self._add(replace(node, id=node_id(name, self._map_facts(node))))

    def batch_rows(self, pool: str, places: Sequence[int]) -> int:
        """The batch size for some operators in workers of a pool."""
        operators = [self._operators[place] for place in places]
        option = self._recipe.steps[places[0]].batch_rows if places else None
        option = option or self._recipe.options.batch_rows
        rows = option or min((operator.rows_at_once for operator in operators), default=1000)
        if option is None and not any(operator.depends_on_batch for operator in operators):
            rows = self._findings.batch_rows(places, self._pools.get(pool, []), rows, self._memory.get(pool))
        return rows

    # Methods for operators that look at all rows.

    def _add_decision(self, step: int, chain: _Chain, store: PlanNode | None = None) -> _Chain | Stream:
        """Add nodes for the keys of all rows, the tasks over them and the decision; returns what follows."""
        operator, group = self._operators[step], chain.group
        makes_groups = group is not None and self._operators[group].kind == "grouper" and not chain.places
        if operator.kind == "aggregator" and makes_groups:
            chain.group = step  # the aggregator itself reads the groups
            return chain
        is_keyed = isinstance(operator, Keyed)
        rows = self._closed(chain, keys_of=step if is_keyed else None)
        after: tuple[Stream, ...] = (Stream(rows.id),)
        if isinstance(operator, Partitioned):
            after = (*after, Stream(self._add_look(step, operator, rows, store).id))
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
        # Here the last phase of the operator edits samples.
        return _Chain(reads, [step]) if is_edited else reads[0]

    def _add_look(self, step: int, operator: Partitioned, rows: PlanNode, store: PlanNode | None) -> PlanNode:
        """Add the nodes for tasks over an operator's keys, and those for the keys of a join's other dataset."""
        keys = [Stream(rows.id, "keys")]
        if operator.other is not None:
            source = self._other_source(step, store)
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

    def _other_source(self, step: int, store: PlanNode | None) -> PlanNode:
        after = () if store is None else (Stream(store.id),)
        facts = [self._operators[step].digest, self._recipe.options.block_rows, self._versions]
        facts += [] if store is None else _ids(after)
        return self._add(PlanNode(node_id("source", facts), "source", after=after, operators=(step,), of_other=True))

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

    # Methods for ids.

    def _map_facts(self, node: PlanNode) -> list[Any]:
        """Everything that determines the rows made by a node of operators."""
        recipe, operators = self._recipe, self._operators
        # Sort by the order in the recipe: the order in which filters run does not change which rows remain.
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
            None
            if node.output is None
            else [node.output, _plain_export(recipe, recipe.all_outputs[node.output].export)],
            *([] if not node.after else [_ids(node.after)]),
            *(["in order"] if node.reads_in_order else []),
            *([] if node.has_base == self._has_base[node.reads[0].node] else [node.has_base]),
        ]

    def _add(self, node: PlanNode) -> PlanNode:
        """Add a node; its id gets a number if another branch has an equal node."""
        equal = sum(earlier.id.startswith(node.id) for earlier in self.nodes)
        node = replace(node, id=f"{node.id}-{equal + 1}") if equal else node
        self._origins[node.id] = self._origins[node.reads[0].node] if node.reads else node.id
        own_domain = "sources" if node.kind == "source" and not node.of_other else node.id
        self._domains[node.id] = self._domains[node.reads[0].node] if node.reads else own_domain
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


def _plain_export(recipe: Recipe, export: Export | None) -> Any:
    """Everything except the rows that determines the bytes of an output."""
    if export is None:
        return None
    stats = [export.keep_stats, *(["typed_stats"] if export.typed_stats else [])]
    return [export.kind, export.path.endswith(".jinx"), export.shard_size, *stats, recipe.content_digest]


def _plain(port: StepPort) -> StepPort:
    """The port with `kept` replaced by `out`: a filter passes on the rows that it keeps."""
    return replace(port, port="out") if port.port == "kept" else port


def _all_inputs(recipe: Recipe) -> list[tuple[StepPort, ...]]:
    return [*recipe.step_inputs, *(output.inputs for output in recipe.all_outputs)]


# Functions that check whether steps fit together.


def _checked_order(recipe: Recipe) -> list[int]:
    """The steps in an order in which each comes after those that it reads.

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
    graph = {
        number: [port.step for port in (*inputs, *step.after)]
        for number, (inputs, step) in enumerate(zip(recipe.step_inputs, recipe.steps, strict=True))
    }
    try:
        order = [step for step in TopologicalSorter(graph).static_order() if step is not None]
    except CycleError as error:
        names = " -> ".join(_step_name(recipe, step) for step in error.args[1])
        raise RecipeError([(recipe.steps[error.args[1][0]].place, f"the recipe has a cycle: {names}")]) from None
    read = {port.step for ports in _all_inputs(recipe) for port in ports}
    unread = [step for step in order if step not in read and recipe.steps[step].operator.kind != "sink"]
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
    operator = None if reader is None else recipe.steps[reader].operator
    has_own_last = getattr(operator, "counts_last", False) or getattr(operator, "other_is_input", False)
    concatenated = inputs[:-1] if has_own_last else inputs
    for port, times in Counter(map(_plain, concatenated)).items():
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
    operator = None if step is None else recipe.steps[step].operator
    if operator is None or operator.kind in GLOBAL_KINDS:
        return ("out",)
    # Code that is not loaded yet may turn out to be a filter.
    if isinstance(operator, Filter | UnloadedOperator) and not recipe.measure_only:
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
