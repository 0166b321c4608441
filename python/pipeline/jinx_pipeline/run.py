"""One run of a recipe, from its inputs to the published output."""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from jinx.errors import JinxError
from jinx_pipeline.engines.cluster import Cluster
from jinx_pipeline.engines.driver import StoppedError
from jinx_pipeline.engines.engine import Engine, opened_engine
from jinx_pipeline.engines.worker_pool import WorkerPool
from jinx_pipeline.execute.executor import Executor, Job
from jinx_pipeline.plan.inputs import Input, find_inputs, refuse_output_within_input, refuse_replaced_inputs
from jinx_pipeline.plan.media_root import with_media_root
from jinx_pipeline.plan.planner import joined_paths, pools_of_plan, refuse_impossible, refuse_missing_files, with_pools
from jinx_pipeline.plan.probe import measured_bytes
from jinx_pipeline.publish.destination import claimed_output, refuse_below_file
from jinx_pipeline.publish.publication import LostOutputError, Publication
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.recipe.resolve import resolve
from jinx_pipeline.report.progress import MODES, Progress
from jinx_pipeline.report.run_result import RunResult, result_of
from jinx_pipeline.run_plan import (
    ChangedError,
    input_has_grown,
    known_run,
    new_run,
    plan_of,
    publication_of,
    record_growth,
    sweep_other_runs,
    work_dir_of,
)
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.records import Published
from jinx_pipeline.runlog.run_log import START_OVER
from jinx_pipeline.runlog.work_dir import WorkDir
from jinx_pipeline.schedule.task import Limits


@dataclass(frozen=True)
class _Opened:
    """What a run has open while it lasts."""

    work_dir: WorkDir
    ledger: Ledger
    inputs: Sequence[Input]
    engine: Engine


@dataclass
class Run:
    """A run in its working directory.

    Attributes:
        recipe: What to do; it has an export.
        progress: How to show progress: `"auto"`, `"plain"` or `"none"`.
        restart: Forget an earlier run of the working directory.
        limits: Of the scheduler.
        cluster: Whose workers it borrows; None: it starts some, and ends them.
    """

    recipe: Recipe
    progress: str = "none"
    restart: bool = False
    limits: Limits = field(default_factory=Limits)
    cluster: Cluster | None = None

    def __post_init__(self) -> None:
        if self.recipe.export is None:
            raise ValueError("a run needs an export")
        if self.progress not in MODES:
            raise ValueError(f"progress is one of {', '.join(MODES)}, not {self.progress!r}")
        self.export = self.recipe.export
        self.recipe = with_media_root(resolve(self.recipe))
        if self.cluster is not None:
            self.recipe = replace(self.recipe, options=self.cluster.options(self.recipe.options))
        self._is_cancelled = False

    def cancel(self) -> None:
        """Stop the run, from another thread: it raises `StoppedError` at once, and resumes when it is called again."""
        self._is_cancelled = True

    def _engine(self) -> AbstractContextManager[Engine]:
        options = self.recipe.options
        return opened_engine(options) if self.cluster is None else self.cluster.lend(options)

    def _raise_if_cancelled(self) -> None:
        if self._is_cancelled:
            self._is_cancelled = False
            raise StoppedError("the run was cancelled; run it again to resume")

    def __call__(self) -> RunResult:
        """Run it, or resume what an earlier run has left.

        Raises:
            RecipeError: The recipe asks for what cannot be.
            ChangedError: The working directory belongs to another recipe or another state of the input.
            FileExistsError: The output exists.
            StoppedError: The run stopped; call it again to resume.
        """
        started = time.monotonic()
        recipe, export = self.recipe, self.export
        refuse_below_file(export.path)
        refuse_output_within_input(recipe, work_dir_of(recipe))
        with WorkDir(work_dir_of(recipe)) as work_dir, claimed_output(export, work_dir.path):
            known = None if self.restart else known_run(recipe, export, work_dir)
            if known is None:
                refuse_missing_files(recipe)
            inputs = find_inputs(recipe, work_dir.inputs)
            has_grown = known is not None and input_has_grown(work_dir, plan_of(known), inputs)
            with (
                self._engine() as engine,
                known or new_run(recipe, export, work_dir, inputs, engine) as ledger,
            ):
                sweep_other_runs(work_dir)
                ledger.claim()
                opened = _Opened(work_dir, ledger, inputs, engine)
                try:
                    # What has begun is finished before a plan that grows has other blocks.
                    publication = publication_of(recipe, export, ledger)
                    done = self._publish(opened, None) if publication.is_pending else publication.published()
                except LostOutputError as error:
                    raise ChangedError(f"{error}; {START_OVER}") from None
                if has_grown:
                    record_growth(ledger, plan_of(ledger), inputs[0])
                if done is None or done.rows != plan_of(ledger).rows:
                    done = self._publish(opened, done)
                return result_of(recipe, inputs, ledger, done, time.monotonic() - started, resumed=known is not None)

    def _publish(self, opened: _Opened, before: Published | None) -> Published:
        """Do what is not done, and publish it; `before` is what the output holds."""
        publication = publication_of(self.recipe, self.export, opened.ledger)
        if before is not None and publication.is_directory:
            publication.first_block = before.end_block
        opened.ledger.sweep()
        try:
            self._execute(opened, publication)
            done = publication.finish()
        except (JinxError, OSError, StoppedError):
            # An error of a part that shows rows of an input which is another one now does not say so.
            refuse_replaced_inputs(opened.inputs)
            raise
        # Workers of a cluster do not end at once: attempts that lost may still write.
        with suppress(OSError):
            opened.ledger.sweep()
        return done

    def _execute(self, opened: _Opened, publication: Publication) -> None:
        """Run the graph of the plan."""
        recipe, ledger, inputs = self.recipe, opened.ledger, opened.inputs
        plan = with_pools(recipe, plan_of(ledger))
        # A run that is resumed may be on another machine.
        refuse_impossible(recipe, lacks=opened.engine.lacks, columns=None)
        engine = opened.engine.fitted(pools_of_plan(recipe, plan), measured_bytes(recipe, plan.findings))
        others = [str(Path(path).absolute()) for path in (*joined_paths(recipe), Path(self.export.path).parent)]
        modules = [type(step.operator).__module__ for step in recipe.steps]
        with opened.work_dir.events_path.open("a", encoding="utf-8") as events:
            workers = engine.workers(ledger.directory, (*(one.path for one in inputs), *others), modules)
            progress = Progress(self.progress, plan.rows, events, on_tick=self._raise_if_cancelled)
            job = Job(recipe, plan, inputs, ledger, opened.work_dir.answers, publication.first_block, publication)
            try:
                Executor(
                    job,
                    WorkerPool(workers),
                    engine.counts(),
                    progress,
                    limits=self.limits,
                    memory=engine.memory().get("cpu"),
                ).run()
            finally:
                workers.close()
                progress.close()


__all__ = ["ChangedError", "Run", "RunResult", "StoppedError"]
