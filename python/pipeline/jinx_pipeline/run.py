"""One run of a recipe, from its inputs to the published output."""

import time
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jinx_pipeline.annotation.wait import WaitingError
from jinx_pipeline.engines.driver import StoppedError
from jinx_pipeline.engines.engine import Engine, opened_engine
from jinx_pipeline.input_conversion import InputConversion
from jinx_pipeline.opened_run import OpenedRun
from jinx_pipeline.plan.inputs import find_inputs, forget_queries, refuse_output_within_input
from jinx_pipeline.plan.media_root import with_media_root
from jinx_pipeline.plan.planner import refuse_missing_files
from jinx_pipeline.publish.destination import (
    claimed_output,
    refuse_around_work_dir,
    refuse_below_file,
    refuse_long_name,
)
from jinx_pipeline.publish.publication import LostOutputError
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.recipe.resolve import resolve
from jinx_pipeline.report.progress import MODES, EventObserver
from jinx_pipeline.report.run_result import RunResult, result_of
from jinx_pipeline.report.traces import run_span
from jinx_pipeline.run_plan import (
    ChangedError,
    input_has_grown,
    known_run,
    new_run,
    plan_of,
    publications_of,
    record_growth,
    refuse_equal_outputs,
    refuse_outputs_before_conversion,
    sweep_other_runs,
    work_dir_of,
)
from jinx_pipeline.runlog.run_log import START_OVER
from jinx_pipeline.runlog.work_dir import WorkDir
from jinx_pipeline.schedule.task import Limits

if TYPE_CHECKING:
    from jinx_pipeline.engines.cluster import Cluster


@dataclass
class Run:
    """A run in its working directory.

    Attributes:
        recipe: The recipe, with at least one output.
        progress: How to show progress: `"auto"`, `"plain"` or `"none"`.
        restart: Discard an earlier run of the working directory.
        limits: Limits of the scheduler.
        cluster: The cluster whose workers it uses; None: it starts its own workers, and ends them.
        observers: Called with the kind and the facts of each event that `events.jsonl` records; see
            `report.live_metrics`.
        accepts_missing: Go on without the answers that people have not given; the samples have null in their place.
    """

    recipe: Recipe
    progress: str = "none"
    restart: bool = False
    limits: Limits = field(default_factory=Limits)
    cluster: "Cluster | None" = None
    observers: tuple[EventObserver, ...] = ()
    accepts_missing: bool = False

    def __post_init__(self) -> None:
        if not self.recipe.exports:
            raise ValueError("a run needs an export")
        if self.progress not in MODES:
            raise ValueError(f"progress is one of {', '.join(MODES)}, not {self.progress!r}")
        self.recipe = with_media_root(resolve(self.recipe))
        if self.cluster is not None:
            self.recipe = replace(self.recipe, options=self.cluster.options(self.recipe.options))
        self._is_cancelled = False

    def cancel(self) -> None:
        """Stop the run from another thread: it raises `StoppedError` at once. Call `run` again to resume it."""
        self._is_cancelled = True

    def _engine(self) -> AbstractContextManager[Engine]:
        options = self.recipe.options
        return opened_engine(options) if self.cluster is None else self.cluster.lend(options)

    def _raise_if_cancelled(self) -> None:
        if self._is_cancelled:
            self._is_cancelled = False
            raise StoppedError("the run was cancelled; run it again to resume")

    def __call__(self) -> RunResult:
        """Run the recipe, or resume an interrupted run.

        Raises:
            RecipeError: The recipe cannot be run.
            ChangedError: The working directory belongs to another recipe or another state of the input.
            FileExistsError: The output exists.
            WaitingError: People have to answer first; call it again when they have.
            StoppedError: The run stopped; call it again to resume.
        """
        with run_span(f"jinx_pipeline {self.recipe.exports[0].path}") as spans:
            return self._run(self.observers if spans is None else (*self.observers, spans))

    def _run(self, observers: tuple[EventObserver, ...]) -> RunResult:
        started = time.monotonic()
        recipe = self.recipe
        refuse_equal_outputs(recipe)
        for export in recipe.exports:
            refuse_below_file(export.path)
            refuse_long_name(export.path)
            refuse_around_work_dir(export.path, work_dir_of(recipe))
        refuse_output_within_input(recipe, work_dir_of(recipe))
        with WorkDir(work_dir_of(recipe)) as work_dir, ExitStack() as claims:
            for export in recipe.exports:
                claims.enter_context(claimed_output(export, work_dir.path))
            known = None if self.restart else known_run(recipe, work_dir)
            if known is None:
                forget_queries(recipe, work_dir.inputs)
                refuse_missing_files(recipe)
                refuse_outputs_before_conversion(recipe)
            with self._engine() as engine:
                inputs = find_inputs(recipe, work_dir.inputs, InputConversion(engine, recipe.options.threads))
                has_grown = known is not None and input_has_grown(recipe, work_dir, plan_of(known), inputs)
                ledger = known or new_run(recipe, work_dir, inputs, engine)
                with ledger:
                    sweep_other_runs(work_dir)
                    ledger.claim()
                    opened = OpenedRun(
                        recipe,
                        work_dir,
                        ledger,
                        inputs,
                        engine,
                        self.limits,
                        self.progress,
                        self._raise_if_cancelled,
                        observers,
                        self.accepts_missing,
                    )
                    try:
                        # Finish a publication that has begun before adding blocks to the plan.
                        publications = publications_of(recipe, ledger)
                        done = opened.publish() if publications.is_pending else publications.published()
                    except LostOutputError as error:
                        raise ChangedError(f"{error}; {START_OVER}") from None
                    if has_grown:
                        record_growth(recipe, ledger, inputs[0])
                    if done is None or any(record.rows != plan_of(ledger).rows for record in done):
                        done = opened.publish()
                    seconds = time.monotonic() - started
                    return result_of(recipe, inputs, ledger, done, seconds, resumed=known is not None)


__all__ = ["ChangedError", "Run", "RunResult", "StoppedError", "WaitingError"]
