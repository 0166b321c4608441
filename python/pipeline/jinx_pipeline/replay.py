"""Recipes from the working directory of an earlier run: the same recipe, or one for only the failed rows."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from jinx_pipeline.operators.api.operator_kinds import GLOBAL_KINDS
from jinx_pipeline.plan.inputs import content_of
from jinx_pipeline.plan.planner import Plan
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.recipe.output_kind import kind_at
from jinx_pipeline.recipe.resolve import resolve
from jinx_pipeline.recipe.write import from_data
from jinx_pipeline.run_plan import ChangedError, plan_of
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.run_directory import current_directory
from jinx_pipeline.runlog.run_log import START_OVER
from jinx_pipeline.runlog.work_dir import WorkDir
from jinx_pipeline.store.mirror import fetched, shown


def recipe_in(folder: Path, **overrides: Any) -> Recipe:
    """The recipe of a run, from its working directory.

    Raises:
        FileNotFoundError: The directory is not the working directory of a run.
        RecipeError: The recipe was built in Python, with functions.
    """
    directory = current_directory(folder)
    if directory is None:
        raise FileNotFoundError(f"{folder} is not the working directory of a run, or none has begun there")
    path = directory.recipe_path
    try:
        data = json.loads(fetched(path).read_text("utf-8"))
    except ValueError as error:
        raise ValueError(
            f"{path}: damaged ({error}); resume with the recipe itself, not its working directory"
        ) from None
    recipe = from_data(data, **overrides)
    return replace(recipe, options=replace(recipe.options, work_dir=shown(folder)))


def replay_of(folder: Path, out: str, **overrides: Any) -> Recipe:
    """The recipe of a run on the rows on which something failed, with another output.

    Raises:
        RuntimeError: The run has not ended.
        ValueError: Nothing failed, or the recipe looks at all rows at once.
        ChangedError: An input has changed since the run.
    """
    recipe = resolve(recipe_in(folder))
    # Positions in the run log refer to the rows that are read, but quarantine.jsonl has row numbers of the sources.
    with WorkDir(folder) as work_dir:
        directory = work_dir.current()
        ledger = None if directory is None else Ledger(directory)
        rows = [] if ledger is None else sorted({bad.row for bad in ledger.bad_rows()})
    if ledger is None or not rows:
        raise ValueError(f"{folder}: nothing failed; there is nothing to replay")
    _refuse_changed_inputs(recipe, plan_of(ledger))
    for step in recipe.steps:
        if step.operator.kind in GLOBAL_KINDS:
            problem = f"{step.operator.name} looks at all rows, so that some of them cannot be run alone"
            raise ValueError(f"{problem}; run the recipe again: {START_OVER}")
    if len(recipe.all_outputs) > 1:
        raise ValueError(f"{folder}: the recipe has several outputs, and replay writes one; run the recipe again")
    before = recipe.export
    export = None if before is None else replace(before, path=out, kind=kind_at(out, before.kind), shard_size=None)
    changes = {name: value for name, value in overrides.items() if value is not None}
    options = replace(recipe.options, **{"work_dir": None, **changes})
    replayed = replace(recipe, only_rows=tuple(rows), options=options)
    return replayed if export is None else replayed.with_exports([export])


def _refuse_changed_inputs(recipe: Recipe, plan: Plan) -> None:
    """Refuse inputs other than those of a plan, because its positions would refer to other rows.

    Raises:
        ChangedError: An input has changed.
    """
    for source, planned in zip(recipe.sources, plan.inputs, strict=True):
        # Ignore facts that only a conversion finds: `content_of` does not return them.
        if {**planned, **content_of(source.path)} != planned:
            raise ChangedError(f"{source.path} has changed since these rows failed; run the recipe again: {START_OVER}")
