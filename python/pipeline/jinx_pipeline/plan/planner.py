"""The plan: which operators run together, on which blocks; fixed once, so that resume and every engine agree."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import groupby
from typing import Any

import msgspec

from jinx._suggest import some_of
from jinx_pipeline.operators.api.filter import Filter
from jinx_pipeline.operators.api.keyed import Edits, Keyed, Partitioned
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.operator_kinds import Aggregator
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.operators.join.column_conflict import ColumnTakenError
from jinx_pipeline.plan.inputs import Input
from jinx_pipeline.plan.probe import Findings, places_by_pool, pools_of
from jinx_pipeline.plan.stage import Stage, may_move
from jinx_pipeline.recipe.errors import Place, RecipeError
from jinx_pipeline.recipe.model import Export, Recipe
from jinx_pipeline.runlog.records import Grown

GLOBAL_KINDS = frozenset({"deduplicator", "selector", "grouper", "aggregator", "join", "order"})
BLOCK_BYTES = 64_000_000
MAX_BLOCK_ROWS = 20_000
MIN_BLOCK_ROWS = 500
# So that a small input keeps all cores busy, too. Not by the number of workers: blocks are the same for any.
MIN_BLOCKS = 64


@dataclass(frozen=True)
class StagePlan:
    """Operators that one worker runs one after another.

    Attributes:
        operators: Their places in the recipe, in the order in which they run.
        batch_rows: Rows that they see at once.
    """

    operators: list[int]
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

    def resources(self, recipe: Recipe, number: int) -> Resources:
        """What a worker of a stage must have, by what the recipe says now: a resumed run may give it more."""
        places = [*self.stages[number].operators]
        if self.group is not None and number == 0:
            places.append(self.group)
        if number == len(self.stages) - 1:
            places += _key_places(recipe, self.decides)
        return (
            reduce(Resources.at_least, (recipe.steps[place].resources for place in places)) if places else Resources()
        )


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
    memory: Mapping[str, int] | None = None,
) -> Plan:
    """Divide a recipe into segments and stages, and its input into blocks.

    Args:
        recipe: It.
        inputs: The opened inputs.
        rows: Samples that are read of them.
        findings: Of the probe.
        memory: Bytes that a worker of each pool may use; those of a pool that is missing have no limit.
    """
    findings = findings or Findings()
    total = sum(one.rows for one in inputs)
    mean = sum(one.bytes for one in inputs) / total if total else 1.0
    rows_per_block = recipe.options.block_rows or block_rows(rows, mean)
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


def pools_of_plan(recipe: Recipe, plan: Plan) -> dict[str, Resources]:
    """What a worker of each pool must have that a plan uses; as `pools_of`, which knows no stages."""
    stages = [one.resources(recipe, number) for one in plan.segments for number in range(len(one.stages))]
    return {**pools_of(recipe), **{one.pool: one for one in stages}}


def joined_paths(recipe: Recipe) -> list[str]:
    """The datasets that a recipe reads besides its sources."""
    operators = [step.operator for step in recipe.steps]
    return [one.other[0] for one in operators if isinstance(one, Partitioned) and one.other is not None]


def block_rows(rows: int, mean_bytes: float) -> int:
    """How many rows a block has, from the size of the input alone."""
    by_bytes = int(BLOCK_BYTES / max(mean_bytes, 1.0))
    for_all_cores = max(-(-rows // MIN_BLOCKS), MIN_BLOCK_ROWS)
    return max(min(by_bytes, for_all_cores, MAX_BLOCK_ROWS), 1)


def cut(rows: int, rows_per_block: int) -> list[int]:
    """Rows of each block."""
    return [min(rows_per_block, rows - first) for first in range(0, rows, rows_per_block)]


def segments_of(
    recipe: Recipe, findings: Findings | None = None, memory: Mapping[str, int] | None = None
) -> list[SegmentPlan]:
    """Segments between global operators; stages where resources change; filters that commute by their speed.

    Args:
        recipe: It.
        findings: Of the probe; operators that lack in them are not moved.
        memory: As for `make_plan`.
    """
    findings = findings or Findings()
    operators = [step.operator for step in recipe.steps]
    found: list[SegmentPlan] = []
    group: int | None = None
    chain: list[int] = []

    def close(decides: int | None) -> None:
        ordered = _reordered(recipe, operators, chain, findings)
        stages = _stages(recipe, group, ordered, decides, findings, memory or {})
        found.append(SegmentPlan(group, stages, decides))

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


def _stages(  # noqa: PLR0917 - of one caller
    recipe: Recipe,
    group: int | None,
    chain: list[int],
    decides: int | None,
    findings: Findings,
    memory: Mapping[str, int],
) -> list[StagePlan]:
    """Stages of operators that need the same workers: groups are made in the first, keys in the last."""
    pools = places_by_pool(recipe)

    def stage(pool: str, places: list[int], given: int | None) -> StagePlan:
        chosen = [recipe.steps[place].operator for place in places]
        rows = given or recipe.options.batch_rows
        if rows is None:
            rows = min((one.batch_size for one in chosen), default=1000)
            if not any(one.depends_on_batch for one in chosen):
                rows = findings.batch_rows(places, pools.get(pool, []), rows, memory.get(pool))
        return StagePlan(places, rows)

    places = [*(() if group is None else (group,)), *chain, *_key_places(recipe, decides)]
    made: list[StagePlan] = []
    for pool, in_pool in groupby(places, lambda place: recipe.steps[place].resources.pool):
        batched = groupby((place for place in in_pool if place in chain), lambda place: recipe.steps[place].batch_rows)
        made += [stage(pool, list(some), rows) for rows, some in batched] or [stage(pool, [], None)]
    return made or [stage(Resources().pool, [], None)]


def _key_places(recipe: Recipe, decides: int | None) -> list[int]:
    """The place of a global operator that computes keys of each sample before it decides."""
    return [] if decides is None or not isinstance(recipe.steps[decides].operator, Keyed) else [decides]


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
    needs = segment.resources(recipe, number)
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
        pool=needs.pool,
        has_time_limit=not (needs.gpus or needs.memory),
        seed=options.seed,
        threads=max(options.threads, int(needs.cpus)),
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
