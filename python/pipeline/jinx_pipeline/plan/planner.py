"""The plan: which operators run together, on which blocks; fixed once, so that resume and every engine agree."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import msgspec

from jinx._suggest import some_of
from jinx_pipeline.operators.api.filter import Filter
from jinx_pipeline.operators.api.keyed import Edits, Keyed, Partitioned
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.join.column_conflict import ColumnTakenError
from jinx_pipeline.plan.blocks import SampleSize, block_size, cut
from jinx_pipeline.plan.inputs import Input
from jinx_pipeline.plan.probe import Findings, places_by_pool
from jinx_pipeline.plan.stage import Stage, may_move, pool_of
from jinx_pipeline.recipe.errors import Place, RecipeError
from jinx_pipeline.recipe.model import Export, Recipe
from jinx_pipeline.runlog.records import Grown

GLOBAL_KINDS = frozenset({"deduplicator", "selector", "grouper", "aggregator", "join", "order"})


@dataclass(frozen=True)
class StagePlan:
    """Operators that one worker runs one after another.

    Attributes:
        operators: Their places in the recipe, in the order in which they run.
        pool: The kind of worker.
        batch_rows: Rows that they see at once.
    """

    operators: list[int]
    pool: str
    batch_rows: int


@dataclass(frozen=True)
class SegmentPlan:
    """Stages up to the next global operator.

    Attributes:
        group: The place of the operator that makes samples of the groups that this segment begins with.
        stages: In order.
        decides: The place of the global operator at its end; None: the output comes next.
    """

    group: int | None
    stages: list[StagePlan]
    decides: int | None


@dataclass(frozen=True)
class Plan:
    """What is run.

    Attributes:
        recipe: As `Recipe.described`.
        digest: Of the recipe.
        inputs: Identity of each input.
        paths: Where the inputs are.
        rows: Samples of the inputs together.
        blocks: Rows of each block of the first segment.
        rows_per_block: Of the blocks of all segments.
        segments: In order.
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
    segments: list[SegmentPlan]
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
    memory: int | None = None,
    *,
    sample: SampleSize | None = None,
) -> Plan:
    """Divide a recipe into segments and stages, and its input into blocks.

    Args:
        recipe: The recipe.
        inputs: The opened inputs.
        rows: Samples that are read of them.
        findings: Of the probe.
        memory: Bytes that a worker may use; None: no limit.
        sample: How large a sample is; None: as large as what the inputs hold of it.
    """
    findings = findings or Findings()
    sample = sample or SampleSize(mean_row_bytes(inputs))
    rows_per_block = block_size(rows, sample, recipe.options.block_rows).rows
    return Plan(
        recipe.described(),
        recipe.digest,
        [one.identity for one in inputs],
        [one.path for one in inputs],
        rows,
        cut(rows, rows_per_block),
        rows_per_block,
        segments_of(recipe, findings, memory),
        findings=findings,
    )


def joined_paths(recipe: Recipe) -> list[str]:
    """The datasets that a recipe reads besides its sources."""
    operators = [step.operator for step in recipe.steps]
    return [one.other[0] for one in operators if isinstance(one, Partitioned) and one.other is not None]


def mean_row_bytes(inputs: list[Input]) -> float:
    """The mean size of what inputs hold of a sample."""
    rows = sum(source.rows for source in inputs)
    return sum(source.bytes for source in inputs) / rows if rows else 1.0


def segments_of(recipe: Recipe, findings: Findings | None = None, memory: int | None = None) -> list[SegmentPlan]:
    """Segments between global operators; stages where resources change; filters that commute by their speed.

    Args:
        recipe: It.
        findings: Of the probe; operators that lack in them are not moved.
        memory: Bytes that a worker may use; None: no limit.
    """
    findings = findings or Findings()
    operators = [step.operator for step in recipe.steps]
    found: list[SegmentPlan] = []
    group: int | None = None
    chain: list[int] = []

    def close(decides: int | None) -> None:
        ordered = _reordered(recipe, operators, chain, findings)
        found.append(SegmentPlan(group, _stages(recipe, operators, ordered, findings, memory), decides))

    for place, operator in enumerate(operators):
        if operator.kind not in GLOBAL_KINDS:
            chain.append(place)
        elif operator.kind == "aggregator" and group is not None and not chain and operators[group].kind == "grouper":
            group = place  # it takes the groups as they are
        else:
            close(place)
            # Its third phase edits the samples of the next segment.
            chain = [place] if isinstance(operator, Edits) else []
            group = place if operator.kind in {"grouper", "aggregator"} else None
    close(None)
    return found


def _reordered(recipe: Recipe, operators: list[Operator], chain: list[int], findings: Findings) -> list[int]:
    """The fastest first within each run of filters that commute."""
    if not recipe.options.reorder:
        return list(chain)
    rates = {place: one.rows_per_second for place, one in findings.operators.items()}
    ordered: list[int] = []
    run: list[int] = []

    def flush() -> None:
        ordered.extend(sorted(run, key=lambda place: -rates[place]) if all(p in rates for p in run) else run)
        run.clear()

    for place in chain:
        if may_move(operators[place]):
            run.append(place)
        else:
            flush()
            ordered.append(place)
    flush()
    return ordered


def _stages(
    recipe: Recipe, operators: list[Operator], chain: list[int], findings: Findings, memory: int | None
) -> list[StagePlan]:
    pools = places_by_pool(operators)

    def stage(pool: str, places: list[int]) -> StagePlan:
        chosen = [operators[place] for place in places]
        rows = recipe.options.batch_rows or min((one.batch_size for one in chosen), default=1000)
        if recipe.options.batch_rows is None and not any(one.depends_on_batch for one in chosen):
            rows = findings.batch_rows(places, pools.get(pool, []), rows, memory)
        return StagePlan(places, pool, rows)

    made = [stage(pool, list(places)) for pool, places in groupby(chain, lambda place: pool_of(operators[place]))]
    return made or [stage("cpu", [])]


def refuse_impossible(recipe: Recipe, *, gpus: int, memory: int | None, columns: list[str] | None) -> None:
    """Refuse what can never run, before anything starts.

    Args:
        recipe: It.
        gpus: GPUs that this machine has; the local engine gives a worker one of them.
        memory: Bytes that one worker may use; None: no limit.
        columns: Columns of the input; None: it has no sample, and none is missed.

    Raises:
        RecipeError: With the place of each such operator.
    """
    problems = [
        *_unmet_resources(recipe, gpus, memory),
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


def _unmet_resources(recipe: Recipe, gpus: int, memory: int | None) -> Iterator[tuple[Place, str]]:
    for step in recipe.steps:
        name, needs = step.operator.name, step.operator.resources
        # On Ray a worker may have several, and the cluster has said by now whether a node has as many.
        if needs.gpus > gpus and recipe.options.engine == "local":
            yield step.place, f"{name} needs a GPU, and there is none"
        if memory is not None and needs.memory > memory:
            what = f"{name} needs {needs.memory:,} bytes of memory, and a worker may use {memory:,}"
            yield step.place, f"{what}; set workers to fewer, or memory to more"


def _unknown_columns(recipe: Recipe, columns: list[str]) -> Iterator[tuple[Place, str]]:
    known = set(columns)
    for step in recipe.steps:
        operator = step.operator
        for name in operator.reads:
            column = recipe.roles.column(name)
            if column not in known and not column.startswith("__dj__"):
                yield step.place, _missing(operator, name, column, sorted(known))
        if operator.kind == "join":
            for name in sorted(known.intersection(map(recipe.roles.column, operator.writes))):
                yield step.place, str(ColumnTakenError(operator.name, name))
        known |= {recipe.roles.column(name) for name in operator.writes}
        if operator.kind in {"grouper", "aggregator", "splitter"} or (
            operator.kind == "mapper" and not operator.writes
        ):
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


def stage_of(
    recipe: Recipe,
    segment: SegmentPlan,
    number: int,
    *,
    is_last: bool,
    has_base: bool,
    keys: str = "",
    meta: dict[str, Any] | None = None,
) -> Stage:
    """A stage as workers run it.

    Args:
        recipe: The recipe.
        segment: The plan of its segment.
        number: Which stage of the segment.
        is_last: Whether the segment is the plan's last.
        has_base: Whether its rows are rows of the input, not new ones.
        keys: The file in which a deduplicator at the end of the segment before has put what its edit removes.
        meta: Of the output.
    """
    operators = [step.operator for step in recipe.steps]
    plan = segment.stages[number]
    ends = number == len(segment.stages) - 1
    export = recipe.export
    is_output = is_last and ends
    wants_rows = is_output and export is not None and export.kind == "jinx" and not export.path.endswith(".jinx")
    group = None if segment.group is None or number > 0 else operators[segment.group]
    decides = None if segment.decides is None else operators[segment.decides]
    options = recipe.options
    chosen = [operators[place] for place in plan.operators]
    return Stage(
        [one.editor(keys) if isinstance(one, Edits) else one for one in chosen],
        list(plan.operators),
        recipe.roles,
        output="rows" if wants_rows or not has_base else "view",
        writer=writer_options(recipe, export, meta) if wants_rows else {},
        batch_rows=plan.batch_rows,
        group=group,
        signatures=decides if ends and isinstance(decides, Keyed) else None,
        keep_stats=not is_output or export is None or export.keep_stats,
        stat_order=tuple(name for one in operators if isinstance(one, Filter) for name in one.stats),
        measure_only=recipe.measure_only,
        known_stats=recipe.known_stats,
        pool=plan.pool,
        seed=options.seed,
        threads=options.threads,
        trace=options.trace,
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
