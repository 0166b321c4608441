"""Runs a recipe on a few samples of its input, and keeps nothing of the result."""

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from jinx_pipeline.operators.api.annotation import Annotation
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.operator_kinds import FusedOp
from jinx_pipeline.operators.table.table_select import TableSelect
from jinx_pipeline.operators.table.table_upsert import TableUpsert
from jinx_pipeline.recipe.export import Export
from jinx_pipeline.recipe.model import LateQuery, Recipe, SourceSpec
from jinx_pipeline.recipe.resolve import resolve
from jinx_pipeline.run import Run, RunResult


def run_trial(recipe: Recipe, limit: int, examples: int) -> RunResult:
    """Run a recipe on a random sample of its input.

    Its tables are written to a database in a temporary directory, and media that it would store stay in the samples.
    People are not asked: their answers are null.

    Args:
        recipe: The recipe.
        limit: How many samples of each source.
        examples: How many examples of changed and dropped samples of each operator.
    """
    with tempfile.TemporaryDirectory(prefix="jinx-pipeline-") as folder:
        trial = trial_of(recipe, limit, Path(folder))
        return Run(replace(trial, options=replace(trial.options, trace=examples)), accepts_missing=True)()


def trial_of(recipe: Recipe, limit: int, folder: Path) -> Recipe:
    """The recipe on a random sample of its input, which writes to nothing but a directory.

    Args:
        recipe: The recipe.
        limit: How many samples of each source.
        folder: The directory.
    """
    recipe = _without_effects(resolve(recipe), folder)
    sources = tuple(
        replace(source, max_samples=limit if source.max_samples is None else min(limit, source.max_samples))
        for source in recipe.sources
    )
    options = replace(recipe.options, trace=0, work_dir=str(folder / "work"))
    exports = [Export(str(folder / f"out-{number}.jinx")) for number in range(len(recipe.all_outputs))]
    return replace(recipe, sources=sources, options=options).with_exports(exports)


def _without_effects(recipe: Recipe, folder: Path) -> Recipe:
    """The recipe with its tables in a temporary directory, and without stores for media and servers for people."""
    operators = [step.operator for step in recipe.steps]
    names = dict.fromkeys(operator.database for operator in operators if isinstance(operator, TableUpsert))
    databases = {name: str(folder / f"tables-{number}.db") for number, name in enumerate(names)}
    steps = [replace(step, operator=_changed(step.operator, databases)) for step in recipe.steps]
    sources = [_reading(source, databases) for source in recipe.sources]
    return replace(recipe, steps=tuple(steps), sources=tuple(sources))


def _changed(operator: Operator, databases: Mapping[str, str]) -> Operator:
    """The operator with another database, and without a directory for media or a server that people look at."""
    if isinstance(operator, FusedOp):
        return _with(operator, operators=[_changed(part, databases) for part in operator.operators])
    if isinstance(operator, TableUpsert | TableSelect) and operator.database in databases:
        return _with(operator, database=databases[operator.database])
    if isinstance(operator, Annotation):
        return _with(operator, label_studio=None, label_config=None, webhook=None)
    if operator.media_dirs and "save_dir" in operator.parameters:
        return _with(operator, save_dir=None)
    return operator


def _with(operator: Operator, **parameters: Any) -> Operator:
    changed = type(operator)(**{**operator.parameters, **parameters})
    changed.resolve()
    return changed


def _reading(source: SourceSpec, databases: Mapping[str, str]) -> SourceSpec:
    """The source; if it waits for a table, it reads the trial's table."""
    query = source.query
    if not isinstance(query, LateQuery) or query.database not in databases:
        return source
    query = replace(query, database=databases[query.database])
    return replace(source, path=query.name, query=query)


def without_places(result: RunResult) -> dict[str, Any]:
    """The result of a trial as plain data, without the facts about its temporary directory."""
    facts = result.to_dict()
    return {name: value for name, value in facts.items() if name not in {"path", "work_dir", "bytes", "outputs"}}
