"""Recipes whose requests to language models go into Batch API files: collects the requests, and reads the answers."""

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jinx_pipeline.llm.batch_files import ANSWERS, WAITING, WAITS, answers_in, gathered, refuse_others
from jinx_pipeline.llm.client import client_of
from jinx_pipeline.llm.service import Service, Settings
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.table.table_upsert import TableUpsert
from jinx_pipeline.recipe.errors import Place, RecipeError
from jinx_pipeline.recipe.model import Export, Recipe, Step
from jinx_pipeline.run import Run


@dataclass(frozen=True)
class BatchState:
    """How many requests a batch has, and how many are still waiting for answers.

    Attributes:
        folder: Its directory.
        taken: New answers.
        problems: Why lines and files of answers were not taken, at most ten.
        refused: The number of such lines and files.
        requests: Requests that wait, in files of the directory.
        samples: Samples that wait for the answers.
    """

    folder: Path
    taken: int
    problems: list[str]
    refused: int
    requests: int
    samples: int


def collect(recipe: Recipe) -> list[BatchState]:
    """Read the answers that have arrived, and write the requests that still wait, for each directory of a recipe.

    Nothing is sent, and the output and tables of the recipe are not written.

    Raises:
        RecipeError: No operator has `batch` in its `model_params`.
        ValueError: Requests of another recipe wait in a directory.
    """
    settings = {
        folder: given for step in recipe.steps if (given := _settings(step.operator)) and (folder := given.batch)
    }
    if not settings:
        problem = "no operator has batch in its model_params: the directory for files of the Batch API"
        raise RecipeError([(Place(), problem)])
    outputs = [str(Path(export.path).absolute()) for export in recipe.exports]
    for folder in settings:
        refuse_others(Path(folder), outputs)
    taken = {folder: _take(given) for folder, given in settings.items()}
    for folder in settings:
        shutil.rmtree(Path(folder) / WAITING, ignore_errors=True)
    samples = _run(recipe)
    states: list[BatchState] = []
    for folder, (count, problems) in taken.items():
        requests = gathered(Path(folder), outputs)
        shutil.rmtree(Path(folder) / WAITING, ignore_errors=True)
        states.append(BatchState(Path(folder), count, problems[:10], len(problems), requests, samples))
    return states


def _settings(operator: Operator) -> Settings | None:
    """The settings with which an operator asks a service; None if it does not ask any."""
    given = operator.parameters.get("model_params")
    return Settings(**given) if operator.sends_requests and isinstance(given, Mapping) else None


def _take(settings: Settings) -> tuple[int, list[str]]:
    """Store the answers in the files of a directory; returns their number, and why lines and files were skipped."""
    client = client_of(Path(str(settings.directory)).absolute())
    service = Service("", "", settings)
    client.spent(is_due=True)
    folder = Path(str(settings.batch)) / ANSWERS
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    read = [file for file in files if file.suffix == ".jsonl" and file.is_file()]
    taken = 0
    problems = [f"{file.name}: not a file of answers, which end with .jsonl" for file in files if file not in read]
    for answer in answers_in(read):
        if answer.problem:
            problems.append(answer.problem)
        taken += client.take(answer, service)
    return taken, problems


def _run(recipe: Recipe) -> int:
    """Run a recipe without its output, and record its requests; returns how many samples are waiting."""
    with tempfile.TemporaryDirectory(prefix="jinx-pipeline-") as folder:
        work_dir = str(Path(folder) / "work")
        options = replace(recipe.options, work_dir=work_dir, stop_after_bad=None, max_bad_rows=1 << 60)
        exports = [Export(str(Path(folder) / f"out-{number}.jinx")) for number in range(len(recipe.all_outputs))]
        steps = tuple(_collecting(step) for step in recipe.steps)
        done = Run(replace(recipe, steps=steps, options=options).with_exports(exports))()
        return sum(WAITS in bad.error for bad in done.bad_rows)


class UnwrittenTable(TableUpsert):
    """A table to which nothing is written, because a batch is collected from a run that is repeated later."""

    def run(self, batch: Batch, ctx: Context) -> Batch:
        """The batch, unchanged."""
        del ctx
        return batch


def _collecting(step: Step) -> Step:
    """A step that records its requests, and writes no rows to tables."""
    if isinstance(step.operator, TableUpsert):
        return replace(step, operator=UnwrittenTable(**step.operator.parameters))
    settings = _settings(step.operator)
    if settings is None or settings.batch is None:
        return step
    parameters: dict[str, Any] = {**step.operator.parameters}
    parameters["model_params"] = {**parameters["model_params"], "collect": True}
    return replace(step, operator=type(step.operator)(**parameters))
