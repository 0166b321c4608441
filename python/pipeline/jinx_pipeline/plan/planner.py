"""The plan: which operators run together, on which blocks. It is made once, so that resume and every engine agree."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from jinx._results import DatasetInfo
from jinx._suggest import hint, some_of
from jinx_pipeline.operators.api.filter import Filter
from jinx_pipeline.operators.api.keyed import Edits, Partitioned
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.operator_kinds import Aggregator
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.operators.join.column_conflict import ColumnTakenError
from jinx_pipeline.plan.blocks import SampleSize, block_size, cut
from jinx_pipeline.plan.graph import PlanGraph, PlanNode
from jinx_pipeline.plan.graph_builder import graph_of, node_resources
from jinx_pipeline.plan.inputs import Input, bytes_of
from jinx_pipeline.plan.probe import Findings, pools_of
from jinx_pipeline.plan.stage import Stage, opens
from jinx_pipeline.recipe.errors import Place, RecipeError
from jinx_pipeline.recipe.export import Export
from jinx_pipeline.recipe.model import Recipe, StepPort
from jinx_pipeline.runlog.records import Grown
from jinx_pipeline.sample.file_facts import small_file_digest
from jinx_pipeline.sample.roles import Roles


@dataclass(frozen=True)
class Plan:
    """The plan of a run.

    Attributes:
        recipe: The recipe, as `Recipe.described`.
        digest: The digest of the recipe.
        inputs: The identity of each input.
        paths: The path of each input.
        rows: The total number of samples of the inputs.
        blocks: Rows of each block of the sources.
        group_blocks: How many of these blocks each group of sources has; empty if there is one group.
        rows_per_block: Rows of a block of the sources, or after a decision.
        graph: The nodes.
        outputs: The absolute path of each output.
        versions: Versions of the packages whose code makes the rows.
        order: The name of the file in `decisions/` with the rows to read; None: all rows, in order.
        facts: The name of the file in `decisions/` with the combined facts of the footers; None if there is none.
        meta: The `meta` of the output: inherited from the inputs, with the recipe, versions and inputs.
        findings: The results of the probe.
    """

    recipe: dict[str, Any]
    digest: str
    inputs: list[dict[str, Any]]
    paths: list[str]
    rows: int
    blocks: list[int]
    rows_per_block: int
    graph: PlanGraph
    outputs: list[str] = field(default_factory=list[str])
    versions: dict[str, str] = field(default_factory=dict[str, str])
    order: str | None = None
    facts: str | None = None
    group_blocks: list[int] = field(default_factory=list[int])
    meta: dict[str, Any] = field(default_factory=dict[str, Any])
    findings: Findings = field(default_factory=Findings)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, for JSON."""
        return msgspec.to_builtins(self, str_keys=True)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Plan":
        """The plan from the plain data of `to_dict`."""
        return msgspec.convert(data, cls, str_keys=True)

    def grown(self, by: Grown) -> "Plan":
        """The plan with the rows that were appended to its input."""
        blocks = [*self.blocks, *by.blocks]
        return replace(
            self, inputs=by.inputs, paths=by.paths, rows=by.rows, blocks=blocks, facts=by.facts, meta=by.meta
        )


def make_plan(
    recipe: Recipe,
    inputs: list[Input],
    rows: int | Sequence[int],
    findings: Findings | None = None,
    memory: Mapping[str, int] | None = None,
    *,
    sample: SampleSize | None = None,
    order: str | None = None,
    versions: dict[str, str] | None = None,
) -> Plan:
    """Divide a recipe into the nodes of a graph, and its input into blocks.

    Args:
        recipe: The recipe.
        inputs: The opened inputs.
        rows: The number of samples to read, of each group of sources if there are several.
        findings: The results of the probe.
        memory: Bytes that a worker of each pool may use; a pool that is missing has no limit.
        sample: The mean size of a sample; None: one byte.
        order: The name of the file with the rows to read; None: all rows, in order.
        versions: Versions of the packages whose code makes the rows.

    Raises:
        RecipeError: The steps of the recipe do not fit together.
    """
    findings = findings or Findings()
    sample = sample or SampleSize()
    group_rows = [rows] if isinstance(rows, int) else rows
    rows_per_block = block_size(sum(group_rows), sample, recipe.options.block_rows).rows
    blocks = [cut(count, rows_per_block) for count in group_rows]
    identities = [source.identity for source in inputs]
    source_facts = [identities, order, rows_per_block]
    return Plan(
        recipe.described(),
        recipe.digest,
        identities,
        [source.path for source in inputs],
        sum(group_rows),
        [block_rows for group in blocks for block_rows in group],
        rows_per_block,
        graph_of(recipe, findings, memory, source=source_facts, versions=versions),
        versions=versions or {},
        order=order,
        group_blocks=[len(group) for group in blocks] if len(blocks) > 1 else [],
        findings=findings,
    )


def pools_of_plan(recipe: Recipe, plan: Plan) -> dict[str, Resources]:
    """Like `pools_of`, but with the resources that the nodes of a plan combine."""
    needs = [node_resources(recipe, node) for node in plan.graph.nodes if node.pool is not None]
    return {**pools_of(recipe), **{resources.pool: resources for resources in needs}}


def with_pools(recipe: Recipe, plan: Plan) -> Plan:
    """The plan with the recipe's current resources: a resumed run may give an operator more."""
    nodes = [
        node if node.pool is None else replace(node, pool=node_resources(recipe, node).pool)
        for node in plan.graph.nodes
    ]
    return replace(plan, graph=PlanGraph(tuple(nodes)))


def joined_paths(recipe: Recipe) -> list[str]:
    """The datasets that a recipe reads in addition to its sources."""
    operators = [step.operator for step in recipe.steps]
    others = [operator.other for operator in operators if isinstance(operator, Partitioned)]
    return [other[0] for other in others if other is not None and other[0]]


def mean_row_bytes(info: DatasetInfo) -> float:
    """The mean size of a sample in a dataset."""
    return bytes_of(info) / info.samples if info.samples else 1.0


def refuse_impossible(recipe: Recipe, *, lacks: Callable[[Resources], str | None], columns: list[str] | None) -> None:
    """Refuse a recipe that can never run, before anything starts.

    Args:
        recipe: The recipe.
        lacks: Returns a message about what the machines have if none has these resources, or None if one has them.
        columns: Columns of the input; None if it has no samples, so columns are not checked.

    Raises:
        RecipeError: An operator can never run; the error has the place of each.
    """
    problems = [
        *_unmet_resources(recipe, lacks),
        *(() if columns is None else _unknown_columns(recipe, columns)),
        *_views_of_new_rows(recipe),
    ]
    if problems:
        raise RecipeError(problems)


def refuse_missing_files(recipe: Recipe) -> None:
    """Refuse operators whose models, word lists or other files do not exist, before anything starts.

    On Ray, the files must be on the nodes of the cluster, and are not checked here.

    Raises:
        RecipeError: A file does not exist; the error has the place of each operator.
    """
    if recipe.options.engine != "local":
        return
    problems: list[tuple[Place, str]] = []
    for step in recipe.steps:
        for file in step.operator.needed_files:
            if not file.is_there:
                near = hint(file.path, recipe.models)
                missing = f"{step.operator.name} needs {file.parameter}: {file.path}, which does not exist{near}"
                problems.append((step.parameter_places.get(file.parameter, step.place), missing))
    if problems:
        raise RecipeError(problems)


def _unmet_resources(recipe: Recipe, lacks: Callable[[Resources], str | None]) -> Iterator[tuple[Place, str]]:
    for step in recipe.steps:
        problem = lacks(step.resources)
        if problem is not None:
            yield step.place, f"{step.operator.name} needs {step.resources}; {problem}"


def _unknown_columns(recipe: Recipe, columns: list[str]) -> Iterator[tuple[Place, str]]:
    if recipe.has_branches:
        return  # a step may read what a step further down makes
    known = set(columns)
    for step in recipe.steps:
        operator = step.operator
        for name in operator.reads:
            try:
                column = recipe.roles.column(name)
            except ValueError as error:  # not a path
                yield step.place, f"{operator.name}: {error}"
                continue
            if column not in known and not column.startswith("__dj__"):
                yield step.place, _missing(operator, name, column, sorted(known))
        if operator.kind == "join":
            for name in sorted(known.intersection(map(recipe.roles.column, operator.writes))):
                yield step.place, str(ColumnTakenError(operator.name, name))
        known |= {recipe.roles.column(name) for name in operator.writes}
        if isinstance(operator, Aggregator) and operator.columns_made is not None:
            known = set(operator.columns_made)
        elif operator.kind in {"aggregator", "splitter"} or (operator.kind == "mapper" and not operator.writes):
            return  # an operator's columns are unknown until it runs


def _views_of_new_rows(recipe: Recipe) -> Iterator[tuple[Place, str]]:
    for output in recipe.all_outputs:
        if output.export is None or output.export.kind != "view":
            continue
        for number in sorted(_upstream(recipe, output.inputs)):
            step = recipe.steps[number]
            if step.operator.kind in {"grouper", "aggregator"}:
                problem = f"{step.operator.name} makes new samples, and a view only shows those of the input"
                yield step.place, f"{problem}; export with kind: jinx"


def _upstream(recipe: Recipe, ports: Iterable[StepPort]) -> set[int]:
    """The steps whose rows reach any of the ports."""
    found: set[int] = set()
    ports, inputs = list(ports), recipe.step_inputs
    while ports:
        number = ports.pop().step
        if number is not None and number not in found:
            found.add(number)
            ports += inputs[number]
    return found


def _missing(operator: Operator, name: str, column: str, known: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(column, known, n=1, cutoff=0.6)
    dotted = next((name for name in known if name.startswith(f"{column}.")), None)
    advice = f"did you mean {near[0]!r}?" if near else f"there are: {some_of(known)}"
    if dotted is not None:
        advice = f"a name with a dot is quoted: '\"{dotted}\"'"
    role = (
        f" (name it with dataset: {{{name}: ...}}, or --{name})"
        if name != column or name in {"text", "images", "audios", "videos"}
        else ""
    )
    return f"{operator.name} reads the column {column!r}, which the input does not have; {advice}{role}"


def stage_of(recipe: Recipe, node: PlanNode, *, edits: str = "", meta: dict[str, Any] | None = None) -> Stage:
    """The stage that workers run for a node of operators.

    Args:
        recipe: The recipe.
        node: The node.
        edits: The file with the data that the decision before it wrote for its edits.
        meta: The `meta` of the output.
    """
    operators = [step.operator for step in recipe.steps]
    if node.of_other:
        return _other_stage(recipe, operators[node.keys_of or 0], node)
    is_output = node.output is not None
    export = recipe.export if node.output is None else recipe.all_outputs[node.output].export
    wants_rows = is_output and export is not None and export.kind == "jinx" and not export.path.endswith(".jinx")
    options = recipe.options
    chosen = [operators[place] for place in node.operators]
    places = [place for place in (node.group, *node.operators, node.keys_of) if place is not None]
    needs = node_resources(recipe, node)
    files = {str(Path(path).absolute()) for place in places for path in operators[place].digested_files}
    digests = {path: small_file_digest(path) for path in sorted(files)}
    return Stage(
        [operator.editor(edits) if isinstance(operator, Edits) else operator for operator in chosen],
        list(node.operators),
        recipe.roles,
        output="rows" if wants_rows or not node.has_base else "view",
        lanes=tuple(tuple(map(node.operators.index, lane)) for lane in node.lanes),
        writer=writer_options(recipe, export, meta) if wants_rows else {},
        batch_rows=node.batch_rows,
        group=None if node.group is None else operators[node.group],
        group_number=-1 if node.group is None else node.group,
        signatures=None if node.keys_of is None else operators[node.keys_of],
        ports=tuple(port for port in node.ports if port in {"dropped", "failed"}),
        keep_stats=not is_output or export is None or export.keep_stats,
        is_open=any(map(opens, _operators_before(recipe, node, places))),
        stat_order=tuple(name for operator in operators if isinstance(operator, Filter) for name in operator.stats),
        measure_only=recipe.measure_only,
        known_stats=recipe.known_stats,
        pool=needs.pool,
        has_time_limit=not (needs.gpus or needs.memory),
        seed=options.seed,
        threads=max(options.threads, int(needs.cpus)),
        trace=options.trace,
        files={path: digest for path, digest in digests.items() if digest is not None},
    )


def _operators_before(recipe: Recipe, node: PlanNode, places: Sequence[int]) -> list[Operator]:
    """The operators outside a node that its rows have passed.

    Args:
        recipe: The recipe.
        node: The node.
        places: The places of its own operators in the recipe.
    """
    inputs = recipe.step_inputs
    ports = [port for place in places for port in inputs[place]]
    if not places and node.output is not None:
        ports = list(recipe.all_outputs[node.output].inputs)
    before = {place: recipe.steps[place].operator for place in _upstream(recipe, ports).difference(places)}
    if node.group is not None:
        for port in inputs[node.group]:
            if port.step is not None and recipe.steps[port.step].operator.kind == "grouper":
                del before[port.step]  # the aggregator after it takes the groups unchanged
    return list(before.values())


def _other_stage(recipe: Recipe, operator: Operator, node: PlanNode) -> Stage:
    """The stage that computes the keys of the dataset that a join adds."""
    if not isinstance(operator, Partitioned) or operator.other is None:
        raise TypeError(f"{operator.name} adds no other dataset")
    return Stage(
        [],
        [],
        Roles(),
        output="view",
        batch_rows=node.batch_rows,
        signatures=operator.other[1],
        seed=recipe.options.seed,
        threads=recipe.options.threads,
    )


def writer_options(recipe: Recipe, export: Export | None, meta: dict[str, Any] | None) -> dict[str, Any]:
    """Keywords of `jinx.Writer` for the output; for a view, `vectors` are the columns stored as arrays."""
    options: dict[str, Any] = {} if meta is None else {"meta": meta}
    if export is not None and export.shard_size is not None:
        options["shard_size"] = export.shard_size
    paths = stat_paths([step.operator for step in recipe.steps])
    if paths and (export is None or export.keep_stats):
        options["indexed"] = paths
    if export is not None and export.kind == "view":
        options["vectors"] = vector_columns(recipe)
    return options


def vector_columns(recipe: Recipe) -> list[str]:
    """The columns of vectors that operators add."""
    operators = [part for step in recipe.steps for part in getattr(step.operator, "operators", [step.operator])]
    return list(dict.fromkeys(name for part in operators for name in recipe.roles.columns(part.vector_columns)))


def stat_paths(operators: list[Operator]) -> list[str]:
    """The paths of the numeric statistics that operators add, for the index."""
    from jinx_pipeline.operators.api.batch import STATS

    return [
        f"{STATS}.{name}"
        for operator in operators
        if isinstance(operator, Filter)
        for name, kind in operator.stats.items()
        if kind in {"int64", "float64", "bool"}
    ]
