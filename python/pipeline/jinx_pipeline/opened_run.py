"""An open run: executes the graph of its plan, and publishes the outputs."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from jinx._malloc import give_freed_memory_back
from jinx._urls import is_url
from jinx.errors import JinxError
from jinx_pipeline.annotation.wait import People
from jinx_pipeline.engines.driver import StoppedError
from jinx_pipeline.engines.engine import Engine
from jinx_pipeline.engines.worker_pool import WorkerPool
from jinx_pipeline.execute.executor import Executor, Job
from jinx_pipeline.plan.inputs import Input, refuse_replaced_inputs
from jinx_pipeline.plan.planner import joined_paths, pools_of_plan, refuse_impossible, with_pools
from jinx_pipeline.plan.probe import measured_bytes
from jinx_pipeline.publish.publications import Publications
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.report.progress import EventObserver, Progress
from jinx_pipeline.run_plan import plan_of, publications_of
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.media_check import forget_replaced_media
from jinx_pipeline.runlog.part_check import refuse_other_parts
from jinx_pipeline.runlog.records import Published
from jinx_pipeline.runlog.work_dir import WorkDir
from jinx_pipeline.schedule.task import Limits


@dataclass(frozen=True)
class OpenedRun:
    """A run whose log is open and claimed.

    Attributes:
        recipe: The recipe.
        work_dir: The working directory.
        ledger: The committed work.
        inputs: The opened inputs.
        engine: The engine with the workers.
        limits: Limits of the scheduler.
        progress: How to show progress.
        on_tick: Called about twice a second; an error that it raises ends the run.
        observers: Called with the kind and the facts of each event.
        accepts_missing: Whether samples that people have not answered are accepted as they are.
    """

    recipe: Recipe
    work_dir: WorkDir
    ledger: Ledger
    inputs: Sequence[Input]
    engine: Engine
    limits: Limits
    progress: str
    on_tick: Callable[[], None]
    observers: Sequence[EventObserver] = ()
    accepts_missing: bool = False

    def publish(self) -> list[Published]:
        """Do the missing work, and publish outputs that are missing or incomplete."""
        # The input may just have been converted and its operators measured, which leaves freed memory behind.
        give_freed_memory_back()
        publications = publications_of(self.recipe, self.ledger)
        publications.begin()
        refuse_other_parts(self.ledger)
        forget_replaced_media(self.ledger)
        self.ledger.sweep()
        try:
            self._execute(publications)
            # Files without ids: a reader may have opened some of them after they were replaced.
            refuse_replaced_inputs(source for source in self.inputs if "files" in source.identity)
            done = publications.finish()
        except (JinxError, OSError, StoppedError):
            # If an input was replaced, parts that refer to its rows may raise misleading errors, so check the inputs
            # first.
            refuse_replaced_inputs(self.inputs)
            raise
        # The workers of a cluster keep running, and their cancelled attempts may still write.
        with suppress(OSError):
            self.ledger.sweep()
        return done

    def _execute(self, publications: Publications) -> None:
        """Run the graph of the plan."""
        recipe, ledger, inputs = self.recipe, self.ledger, self.inputs
        plan = with_pools(recipe, plan_of(ledger))
        # Check again, because a run may be resumed on another machine.
        refuse_impossible(recipe, lacks=self.engine.lacks, columns=None)
        engine = self.engine.fitted(pools_of_plan(recipe, plan), measured_bytes(recipe, plan.findings))
        folders = [Path(export.path).parent for export in recipe.exports if not is_url(export.path)]
        other_paths = [path if is_url(path) else str(Path(path).absolute()) for path in joined_paths(recipe)]
        other_paths += [str(folder.absolute()) for folder in folders]
        modules = [type(step.operator).__module__ for step in recipe.steps]
        with self.work_dir.events_path.open("a", encoding="utf-8") as events:
            workers = engine.workers(ledger.directory, (*(source.path for source in inputs), *other_paths), modules)
            progress = Progress(self.progress, plan.rows, events, self.on_tick, self.observers)
            people = People(self.work_dir.annotations, self.accepts_missing)
            job = Job(
                recipe, plan, inputs, ledger, self.work_dir.answers, people, publications.first_block, publications
            )
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
