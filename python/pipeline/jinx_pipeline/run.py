"""One run of a recipe, from its inputs to the published output."""

import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from jinx.errors import JinxError
from jinx_pipeline.engines.driver import StoppedError
from jinx_pipeline.engines.engine import Engine, opened_engine
from jinx_pipeline.engines.worker_pool import WorkerPool
from jinx_pipeline.input_conversion import InputConversion
from jinx_pipeline.operators.api.response_cache import Answers
from jinx_pipeline.plan.inputs import Input, find_inputs, refuse_output_within_input, refuse_replaced_inputs
from jinx_pipeline.plan.media_root import with_media_root
from jinx_pipeline.plan.planner import (
    Plan,
    joined_paths,
    refuse_missing_files,
    segments_of,
    writer_options,
)
from jinx_pipeline.plan.probe import declared, measured_bytes
from jinx_pipeline.plan.source_rows import SourceRows
from jinx_pipeline.publish.destination import claimed_output, refuse_below_file
from jinx_pipeline.publish.publication import LostOutputError, Publication
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.report.figures import totals
from jinx_pipeline.report.progress import MODES, Progress
from jinx_pipeline.report.run_result import RunResult, all_traces, json_lines, write_quarantine
from jinx_pipeline.run_plan import (
    ChangedError,
    input_has_grown,
    known_run,
    new_run,
    plan_of,
    record_growth,
    sweep_other_runs,
)
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.records import Published
from jinx_pipeline.runlog.run_directory import RunDirectory
from jinx_pipeline.runlog.run_log import START_OVER
from jinx_pipeline.runlog.work_dir import WorkDir, publish_text
from jinx_pipeline.schedule.task import Limits
from jinx_pipeline.segment_runner import SegmentRunner


@dataclass(frozen=True)
class _Opened:
    """What a run has open while it lasts."""

    work_dir: WorkDir
    directory: RunDirectory
    inputs: list[Input]
    ledger: Ledger
    plan: Plan
    publication: Publication


@dataclass
class Run:
    """A run in its working directory.

    Attributes:
        recipe: What to do; it has an export.
        progress: How to show progress: `"auto"`, `"plain"` or `"none"`.
        restart: Forget an earlier run of the working directory.
        limits: Of the scheduler.
    """

    recipe: Recipe
    progress: str = "none"
    restart: bool = False
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.recipe.export is None:
            raise ValueError("a run needs an export")
        if self.progress not in MODES:
            raise ValueError(f"progress is one of {', '.join(MODES)}, not {self.progress!r}")
        self.export = self.recipe.export
        self.recipe = with_media_root(self.recipe)
        self._resumed = False

    def __call__(self) -> RunResult:
        """Run it, or resume what an earlier run has left.

        Raises:
            RecipeError: The recipe asks for what cannot be.
            ChangedError: The working directory belongs to another recipe or another state of the input.
            FileExistsError: The output exists.
            StoppedError: The run stopped; call it again to resume.
        """
        started = time.monotonic()
        refuse_below_file(self.export.path)
        refuse_output_within_input(self.recipe, work_dir_of(self.recipe))
        with WorkDir(work_dir_of(self.recipe)) as work_dir, claimed_output(self.export, work_dir.path):
            ledger = None if self.restart else known_run(self.recipe, self.export, work_dir)
            self._resumed = ledger is not None
            if ledger is None:
                refuse_missing_files(self.recipe)
            with opened_engine(self.recipe.options) as engine:
                convert = InputConversion(engine, self.recipe.options.threads)
                inputs = find_inputs(self.recipe, work_dir.inputs, convert)
                has_grown = ledger is not None and input_has_grown(work_dir, plan_of(ledger), inputs)
                if ledger is None:
                    ledger = new_run(self.recipe, self.export, work_dir, inputs, engine)
                sweep_other_runs(work_dir)
                with ledger:
                    ledger.claim()
                    opened = self._opened(work_dir, ledger, inputs)
                    try:
                        # Before a plan that grows has other blocks.
                        opened.publication.resume()
                        done = opened.publication.published()
                    except LostOutputError as error:
                        raise ChangedError(f"{error}; {START_OVER}") from None
                    if has_grown:
                        record_growth(ledger, opened.plan, inputs[0])
                        opened = self._opened(work_dir, ledger, inputs)
                    if done is None or done.rows != opened.plan.rows:
                        done = self._made(opened, engine, self._first_block(done))
                        # Workers of a cluster do not end at once: attempts that lost may still write.
                        with suppress(OSError):
                            ledger.sweep()
                    return self._result(opened, done, time.monotonic() - started)

    def _opened(self, work_dir: WorkDir, ledger: Ledger, inputs: list[Input]) -> _Opened:
        plan, directory = plan_of(ledger), ledger.directory
        number, segment = len(plan.segments) - 1, plan.segments[-1]
        node = f"{number}.{len(segment.stages) - 1}"
        base = () if any(one.group is not None for one in plan.segments) else tuple(plan.paths)

        def parts_of(blocks: range) -> list[list[Path]]:
            return [[directory.parts / name for name in ledger.parts(node, block)] for block in blocks]

        writer = writer_options(self.recipe, self.export, plan.meta)
        publication = Publication(self.export, ledger, writer, directory.run, base, parts_of)
        return _Opened(work_dir, directory, inputs, ledger, plan, publication)

    def _result(self, opened: _Opened, done: Published, seconds: float) -> RunResult:
        work_dir, ledger, plan = opened.work_dir, opened.ledger, opened.plan
        rows = SourceRows(opened.inputs)
        bad_rows = [*rows.unreadable(), *map(rows.named, ledger.bad_rows())]
        write_quarantine(work_dir.path / "quarantine.jsonl", bad_rows)
        traces = all_traces(ledger, self.recipe)
        if traces:
            publish_text(work_dir.path / "trace.jsonl", json_lines(traces))
        return RunResult(
            self.export.path,
            plan.rows,
            done.samples,
            done.bytes,
            seconds,
            bad_rows,
            totals(ledger, self.recipe),
            str(work_dir.path),
            traces,
            resumed=self._resumed,
            max_bad_rows=self.recipe.options.max_bad_rows,
        )

    # The work.

    def _made(self, opened: _Opened, engine: Engine, first_block: int) -> Published:
        """Do what is not done, and publish it."""
        try:
            blocks = self._work(opened, engine, first_block)
            return opened.publication.publish(first_block, blocks, opened.plan.rows)
        except (JinxError, OSError):
            # An error of a part that shows rows of an input which is another one now does not say so.
            refuse_replaced_inputs(opened.inputs)
            raise

    def _first_block(self, done: Published | None) -> int:
        """The first block that is not in the output: only a directory takes more after what it holds."""
        is_directory = self.export.kind == "jinx" and not self.export.path.endswith(".jinx")
        return done.end_block if done is not None and is_directory else 0

    def _work(self, opened: _Opened, engine: Engine, first_block: int) -> int:
        """Make the parts of all blocks that are not in the output; returns how many blocks the last segment has."""
        work_dir, plan = opened.work_dir, opened.plan
        engine = engine.fitted(declared(self.recipe), measured_bytes(self.recipe, plan.findings))
        base = tuple(one.path for one in opened.inputs)
        opened.ledger.sweep(opened.publication.needed_parts())
        Answers(work_dir.answers).sweep()
        with work_dir.events_path.open("a", encoding="utf-8") as log:
            counts = engine.counts()
            modules = [type(step.operator).__module__ for step in self.recipe.steps]
            others = [str(Path(path).absolute()) for path in joined_paths(self.recipe)]
            workers = engine.workers(opened.directory, (*base, *others), modules)
            progress = Progress(self.progress, plan.rows, log)
            try:
                runner = SegmentRunner(
                    self.recipe,
                    plan,
                    work_dir,
                    opened.ledger,
                    WorkerPool(workers),
                    counts,
                    progress,
                    SourceRows(opened.inputs),
                    self.limits,
                    engine.memory(),
                )
                return runner.run(opened.inputs, first_block)
            finally:
                workers.close()
                progress.close()


def work_dir_of(recipe: Recipe) -> Path:
    """Where a recipe keeps its unfinished work."""
    if recipe.options.work_dir is not None:
        return Path(recipe.options.work_dir)
    path = recipe.export.path if recipe.export is not None else "pipeline"
    return Path(f"{path.rstrip('/')}.work")


__all__ = ["ChangedError", "Run", "RunResult", "StoppedError", "segments_of", "work_dir_of"]
