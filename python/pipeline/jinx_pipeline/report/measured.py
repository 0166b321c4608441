"""Measuring a dataset with the filters of a recipe, and using what was measured."""

import json
from dataclasses import replace
from pathlib import Path

from jinx_pipeline.commit.publish import refuse_other_name
from jinx_pipeline.commit.work_dir import publish_text
from jinx_pipeline.operators.filter import Filter
from jinx_pipeline.plan.planner import GLOBAL_KINDS
from jinx_pipeline.recipe.model import Export, Recipe, SourceSpec
from jinx_pipeline.run import Run, RunResult


def measurable(recipe: Recipe, out: str) -> Recipe:
    """The recipe that measures: mappers and filters up to the first operator that makes samples or sees all of them.

    Nothing is dropped. The output is a view of the input with statistics; what mappers change is not in it.
    """
    steps = []
    for step in recipe.steps:
        if step.operator.kind in GLOBAL_KINDS or step.operator.kind == "splitter":
            break
        steps.append(step)
    refuse_other_name(out, "view")
    export = Export(out, "view", keep_stats=True, overwrite=True)
    return replace(recipe, steps=tuple(steps), export=export, measure_only=True)


def measure(recipe: Recipe, out: str, *, progress: str = "none", restart: bool = False) -> RunResult:
    """Measure the input of a recipe; the output can be used by `from_stats`."""
    what = measurable(recipe, out)
    result = Run(what, progress=progress, restart=restart)()
    publish_text(_digests_path(out), json.dumps(reusable(what), indent=1) + "\n")
    return result


def reusable(recipe: Recipe) -> dict[str, str]:
    """Statistics of the input as it is, with the digest of their filter: those before any mapper."""
    found: dict[str, str] = {}
    for step in recipe.steps:
        if not isinstance(step.operator, Filter):
            break
        found |= dict.fromkeys(step.operator.stats, step.operator.stats_digest)
    return found


def from_stats(recipe: Recipe, path: str) -> Recipe:
    """The recipe on the output of `measure`: filters whose statistics are there do not compute them again.

    Raises:
        FileNotFoundError: The path was not written by `measure`.
    """
    known = _digests_path(path)
    if not known.exists():
        raise FileNotFoundError(f"{path} has no statistics; make them with: jinx-pipeline analyze RECIPE --out {path}")
    digests = json.loads(known.read_text("utf-8"))
    return replace(recipe, sources=(SourceSpec(path),), source_places=(), known_stats=digests)


def _digests_path(out: str) -> Path:
    return Path(f"{out}.stats.json")
