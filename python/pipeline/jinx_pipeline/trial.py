"""Runs a recipe on a few samples of its input, and keeps nothing of the result."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from jinx_pipeline.recipe.export import Export
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.run import Run, RunResult


def run_trial(recipe: Recipe, limit: int, examples: int) -> RunResult:
    """Run a recipe on a random sample of its input.

    Args:
        recipe: The recipe.
        limit: How many samples of each source.
        examples: How many examples of changed and dropped samples of each operator.
    """
    with tempfile.TemporaryDirectory(prefix="jinx-pipeline-") as folder:
        sources = tuple(
            replace(source, max_samples=limit if source.max_samples is None else min(limit, source.max_samples))
            for source in recipe.sources
        )
        options = replace(recipe.options, trace=examples, work_dir=str(Path(folder) / "work"))
        exports = [Export(str(Path(folder) / f"out-{number}.jinx")) for number in range(len(recipe.all_outputs))]
        return Run(replace(recipe, sources=sources, options=options).with_exports(exports))()


def without_places(result: RunResult) -> dict[str, Any]:
    """The result of a trial as plain data, without the facts about its temporary directory."""
    facts = result.to_dict()
    return {name: value for name, value in facts.items() if name not in {"path", "work_dir", "bytes", "outputs"}}
