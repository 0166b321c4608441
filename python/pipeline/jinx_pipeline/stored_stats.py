"""Measures a dataset with the filters of a recipe, and uses the stored statistics."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from jinx_pipeline.plan.file_digest import head_digest
from jinx_pipeline.plan.inputs import content_of
from jinx_pipeline.plan.media_root import with_media_root
from jinx_pipeline.recipe.errors import Place, RecipeError
from jinx_pipeline.recipe.export import Export
from jinx_pipeline.recipe.measured import lasting_filters, measured_steps
from jinx_pipeline.recipe.model import Recipe, SourceSpec
from jinx_pipeline.recipe.output_kind import refuse_other_name
from jinx_pipeline.recipe.resolve import resolve
from jinx_pipeline.run import Run, RunResult
from jinx_pipeline.run_plan import other_remedy
from jinx_pipeline.runlog.work_dir import publish_text
from jinx_pipeline.store.mirror import exists, fetched, mirrored

# What the file next to an output of `measure` tells.
_FACTS: Final = ("output", "statistics", "input")


def measurable(recipe: Recipe, out: str) -> Recipe:
    """The recipe for measuring: the steps up to the first operator that makes new samples or looks at all samples.

    Nothing is dropped. The output is a view of the input with statistics, without the changes of mappers. It replaces
    an earlier output of `measure`, but no other file.
    """
    if recipe.has_branches:
        raise RecipeError([(Place(recipe.file), "only a list of operators can be measured, not nodes and flows")])
    steps = measured_steps(recipe.steps)
    refuse_other_name(out, "view")
    export = Export(out, "view", keep_stats=True, overwrite=is_measured(out))
    return replace(recipe, steps=tuple(steps), export=export, measure_only=True)


def measure(recipe: Recipe, out: str, *, progress: str = "none", restart: bool = False) -> RunResult:
    """Measure the input of a recipe; the output can be used by `from_stats`.

    Raises:
        FileExistsError: The output or the file with its statistics exists, and `measure` did not write it.
    """
    _refuse_other_facts(out)
    measuring = measurable(resolve(recipe), out)
    try:
        with other_remedy("measure again with restart=True (--restart)"):
            result = Run(measuring, progress=progress, restart=restart)()
    except FileExistsError:
        problem = f"{out} exists, and is no output of analyze; remove it, or choose another name"
        raise FileExistsError(problem) from None
    facts = dict(zip(_FACTS, (_content_of(out), reusable(measuring), _input_of(recipe)), strict=True))
    publish_text(_facts_path(out), json.dumps(facts, indent=1) + "\n")
    return result


def _refuse_other_facts(out: str) -> None:
    """Refuse to replace a file that only has the name of ours."""
    try:
        is_ours = _facts_of(out).keys() == set(_FACTS)
    except FileNotFoundError:
        return
    except (OSError, ValueError, AttributeError):
        is_ours = False
    if not is_ours:
        raise FileExistsError(
            f"{out}.stats.json exists, and analyze did not write it; remove it, or choose another name"
        )


def is_measured(path: str) -> bool:
    """Whether a file is as `measure` wrote it."""
    try:
        return _facts_of(path)["output"] == _content_of(path)
    except (OSError, ValueError, LookupError, TypeError):
        return False


def reusable(recipe: Recipe) -> dict[str, str]:
    """The statistics of the unchanged input, which are those of filters before any mapper, with the filters' digests.

    Those that a later filter has replaced are missing.
    """
    filters = [operator for operator, is_unchanged in lasting_filters(recipe.steps) if is_unchanged]
    return {name: operator.stats_digest for operator in filters for name in operator.stats}


def from_stats(recipe: Recipe, path: str) -> Recipe:
    """The recipe with the output of `measure` as its input; filters do not compute stored statistics again.

    Raises:
        FileNotFoundError: The path was not written by `measure`.
        ValueError: The statistics are of another input, or the file was replaced since.
    """
    if not exists(mirrored(path)):
        raise FileNotFoundError(f"{path}: no such file; make it with: jinx-pipeline analyze RECIPE --out {path}")
    if not exists(_facts_path(path)):
        raise FileNotFoundError(f"{path} has no statistics; make them with: jinx-pipeline analyze RECIPE --out {path}")
    facts = _facts_of(path)
    if facts.get("input") != _input_of(recipe):
        names = ", ".join(source.path for source in recipe.sources)
        raise ValueError(
            f"the statistics in {path} are not of {names} as the recipe reads it: another input, other columns, or it "
            f"has changed; make them again with: jinx-pipeline analyze RECIPE --out {path}"
        )
    if facts.get("output") != _content_of(path):
        raise ValueError(
            f"{path} was replaced since its statistics were measured; make it again with: jinx-pipeline analyze RECIPE "
            "--out ANOTHER"
        )
    # Relative media paths still start at the recipe's own input.
    rooted = with_media_root(recipe)
    return replace(rooted, sources=(SourceSpec(path),), source_places=(), known_stats=facts["statistics"])


def _input_of(recipe: Recipe) -> dict[str, Any]:
    """The measured input: the sources, their mixture, and the columns of texts and media."""
    mixed = [{**asdict(source), "path": None, "content": content_of(source.path)} for source in recipe.sources]
    chosen = any(source.max_samples is not None for source in recipe.sources) or len(mixed) > 1
    facts = {"sources": mixed, "seed": recipe.options.seed if chosen else None, "roles": asdict(recipe.roles)}
    return json.loads(json.dumps(facts))


def _content_of(out: str) -> str:
    """A digest of the file itself: its input may have changed since."""
    file = fetched(mirrored(out))
    return head_digest(str(file), file.stat().st_size)


def _facts_of(out: str) -> dict[str, Any]:
    return json.loads(fetched(_facts_path(out)).read_text("utf-8"))


def _facts_path(out: str) -> Path:
    return mirrored(f"{out}.stats.json")
