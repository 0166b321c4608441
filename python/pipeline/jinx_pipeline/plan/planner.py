"""The plan: which operators run together, on which blocks; fixed once, so that resume and every engine agree."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from jinx._suggest import some_of
from jinx_pipeline.operators.api.filter import Filter
from jinx_pipeline.operators.api.keyed import Edits, Partitioned
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.operator_kinds import Aggregator
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.operators.join.column_conflict import ColumnTakenError
from jinx_pipeline.plan.blocks import SampleSize, block_size, cut
from jinx_pipeline.plan.graph import PlanGraph, PlanNode
from jinx_pipeline.plan.graph_builder import graph_of, node_resources
from jinx_pipeline.plan.inputs import Input
from jinx_pipeline.plan.probe import Findings, pools_of
from jinx_pipeline.plan.stage import Stage, opens
from jinx_pipeline.recipe.errors import Place, RecipeError
from jinx_pipeline.recipe.model import Export, Recipe
from jinx_pipeline.runlog.records import Grown
from jinx_pipeline.sample.roles import Roles


@dataclass(frozen=True)
class Plan:
    """What is run.

    Attributes:
        recipe: As `Recipe.described`.
        digest: Of the recipe.
        inputs: Identity of each input.
        paths: Where the inputs are.
        rows: Samples of the inputs together.
        blocks: Rows of each block of the sources.
        rows_per_block: Of the blocks of the sources, and of those after a decision.
        graph: What is done with them.
        output: Where the output goes, absolute.
        versions: Of the packages whose code makes the rows.
        order: The name of the file in `decisions/` with the rows that are read; None: all, in order.
        facts: The name of the file in `decisions/` with what the footers of the inputs say together; None: nothing.
        meta: What the output keeps as its `meta`: that of the inputs, and what it was made of.
        findings: Of the probe.
    """

    recipe: dict[str, Any]
    digest: str
    inputs: list[dict[str, Any]]
    paths: list[str]
    rows: int
    blocks: list[int]
    rows_per_block: int
    graph: PlanGraph
    output: str = ""
    versions: dict[str, str] = field(default_factory=dict[str, str])
    order: str | None = None
    facts: str | None = None
    meta: dict[str, Any] = field(default_factory=dict[str, Any])
    findings: Findings = field(default_factory=Findings)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data."""
        return msgspec.to_builtins(self, str_keys=True)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Plan":
        """The plan that `to_dict` has described."""
        return msgspec.convert(data, cls, str_keys=True)

    def grown(self, by: Grown) -> "Plan":
        """The plan with the rows that its input has gained."""
        blocks = [*self.blocks, *by.blocks]
        return replace(
            self, inputs=by.inputs, paths=by.paths, rows=by.rows, blocks=blocks, facts=by.facts, meta=by.meta
        )


def make_plan(
    recipe: Recipe,
    inputs: list[Input],
    rows: int,
    findings: Findings | None = None,
    memory: Mapping[str, int] | None = None,
    *,
    sample: SampleSize | None = None,
    order: str | None = None,
    versions: dict[str, str] | None = None,
) -> Plan:
    """Divide a recipe into the nodes of a graph, and its input into blocks.

    Args:
        recipe: What to do.
        inputs: The opened inputs.
        rows: Samples that are read of them.
        findings: Of the probe.
        memory: Bytes that a worker of each pool may use; those of a pool that is missing have no limit.
        sample: How large a sample is; None: as large as what the inputs hold of it.
        order: The name of the file with the rows that are read; None: all, in order.
        versions: Of the packages whose code makes the rows.

    Raises:
        RecipeError: The steps of the recipe do not fit together.
    """
    findings = findings or Findings()
    sample = sample or SampleSize(mean_row_bytes(inputs))
    rows_per_block = block_size(rows, sample, recipe.options.block_rows).rows
    identities = [one.identity for one in inputs]
    source = [identities, order, rows_per_block]
    return Plan(
        recipe.described(),
        recipe.digest,
        identities,
        [one.path for one in inputs],
        rows,
        cut(rows, rows_per_block),
        rows_per_block,
        graph_of(recipe, findings, memory, source=source, versions=versions),
        versions=versions or {},
        order=order,
        findings=findings,
    )


def pools_of_plan(recipe: Recipe, plan: Plan) -> dict[str, Resources]:
    """What a worker of each pool must have that a plan uses; as `pools_of`, which knows no nodes."""
    needs = [node_resources(recipe, node) for node in plan.graph.nodes if node.pool is not None]
    return {**pools_of(recipe), **{resources.pool: resources for resources in needs}}


def with_pools(recipe: Recipe, plan: Plan) -> Plan:
    """The plan with the workers that the recipe wants now: a resumed run may give an operator more."""
    nodes = [
        node if node.pool is None else replace(node, pool=node_resources(recipe, node).pool)
        for node in plan.graph.nodes
    ]
    return replace(plan, graph=PlanGraph(tuple(nodes)))


def joined_paths(recipe: Recipe) -> list[str]:
    """The datasets that a recipe reads besides its sources."""
    operators = [step.operator for step in recipe.steps]
    return [one.other[0] for one in operators if isinstance(one, Partitioned) and one.other is not None]


def mean_row_bytes(inputs: list[Input]) -> float:
    """The mean size of what inputs hold of a sample."""
    rows = sum(source.rows for source in inputs)
    return sum(source.bytes for source in inputs) / rows if rows else 1.0


def refuse_impossible(recipe: Recipe, *, lacks: Callable[[Resources], str | None], columns: list[str] | None) -> None:
    """Refuse what can never run, before anything starts.

    Args:
        recipe: It.
        lacks: Says what machines have in place of such resources; None: one has them.
        columns: Columns of the input; None: it has no sample, and none is missed.

    Raises:
        RecipeError: With the place of each such operator.
    """
    problems = [
        *_unmet_resources(recipe, lacks),
        *(() if columns is None else _unknown_columns(recipe, columns)),
        *_views_of_new_rows(recipe),
    ]
    if problems:
        raise RecipeError(problems)


def refuse_missing_files(recipe: Recipe) -> None:
    """Refuse operators whose models, word lists or other files are not there, before anything starts.

    On Ray they are needed on the nodes of the cluster, about which this machine says nothing.

    Raises:
        RecipeError: With the place of each such operator.
    """
    if recipe.options.engine != "local":
        return
    problems = [
        (step.place, f"{step.operator.name} needs {file.parameter}: {file.path}, which does not exist")
        for step in recipe.steps
        for file in step.operator.needed_files
        if not file.is_there
    ]
    if problems:
        raise RecipeError(problems)


def _unmet_resources(recipe: Recipe, lacks: Callable[[Resources], str | None]) -> Iterator[tuple[Place, str]]:
    for step in recipe.steps:
        there = lacks(step.resources)
        if there is not None:
            yield step.place, f"{step.operator.name} needs {step.resources}; {there}"


def _unknown_columns(recipe: Recipe, columns: list[str]) -> Iterator[tuple[Place, str]]:
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
            return  # which columns it makes is known when it runs


def _views_of_new_rows(recipe: Recipe) -> Iterator[tuple[Place, str]]:
    if recipe.export is None or recipe.export.kind != "view":
        return
    for step in recipe.steps:
        if step.operator.kind in {"grouper", "aggregator"}:
            what = f"{step.operator.name} makes new samples, and a view only shows those of the input"
            yield step.place, f"{what}; export with kind: jinx"


def _missing(operator: Operator, name: str, column: str, known: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(column, known, n=1, cutoff=0.6)
    dotted = next((one for one in known if one.startswith(f"{column}.")), None)
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
    """What a node of operators does, as workers run it.

    Args:
        recipe: The recipe.
        node: The node.
        edits: The file in which the decision that it reads has put what its edit needs.
        meta: Of the output.
    """
    operators = [step.operator for step in recipe.steps]
    if node.of_other:
        return _other_stage(recipe, operators[node.keys_of or 0], node)
    export = recipe.export
    is_output = node.output is not None
    wants_rows = is_output and export is not None and export.kind == "jinx" and not export.path.endswith(".jinx")
    options = recipe.options
    chosen = [operators[place] for place in node.operators]
    places = [place for place in (node.group, *node.operators, node.keys_of) if place is not None]
    before = operators[: min(places, default=len(operators))]
    if node.group is not None and before and before[-1].kind == "grouper":
        before.pop()  # whose groups an aggregator takes as they are
    needs = node_resources(recipe, node)
    return Stage(
        [one.editor(edits) if isinstance(one, Edits) else one for one in chosen],
        list(node.operators),
        recipe.roles,
        output="rows" if wants_rows or not node.has_base else "view",
        writer=writer_options(recipe, export, meta) if wants_rows else {},
        batch_rows=node.batch_rows,
        group=None if node.group is None else operators[node.group],
        signatures=None if node.keys_of is None else operators[node.keys_of],
        ports=tuple(port for port in node.ports if port in {"dropped", "failed"}),
        keep_stats=not is_output or export is None or export.keep_stats,
        is_open=any(map(opens, before)),
        stat_order=tuple(name for one in operators if isinstance(one, Filter) for name in one.stats),
        measure_only=recipe.measure_only,
        known_stats=recipe.known_stats,
        pool=needs.pool,
        has_time_limit=not (needs.gpus or needs.memory),
        seed=options.seed,
        threads=max(options.threads, int(needs.cpus)),
        trace=options.trace,
    )


def _other_stage(recipe: Recipe, operator: Operator, node: PlanNode) -> Stage:
    """The keys of the dataset that a join adds."""
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
    """Keywords of `jinx.Writer` for the output."""
    found: dict[str, Any] = {} if meta is None else {"meta": meta}
    if export is not None and export.shard_size is not None:
        found["shard_size"] = export.shard_size
    leaves = stat_paths([step.operator for step in recipe.steps])
    if leaves and (export is None or export.keep_stats):
        found["indexed"] = leaves
    return found


def stat_paths(operators: list[Operator]) -> list[str]:
    """The numeric statistics that these operators add, as paths for the index."""
    from jinx_pipeline.operators.api.batch import STATS

    return [
        f"{STATS}.{name}"
        for operator in operators
        if isinstance(operator, Filter)
        for name, kind in operator.stats.items()
        if kind in {"int64", "float64", "bool"}
    ]
