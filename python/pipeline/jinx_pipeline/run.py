"""One run of a recipe, from its inputs to the published output."""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from jinx_pipeline.engines.driver import Driver, Observer, RepairError, Segment, StoppedError
from jinx_pipeline.engines.engine import Engine, opened_engine
from jinx_pipeline.engines.worker_pool import WorkerPool
from jinx_pipeline.global_ops.decisions import Decisions
from jinx_pipeline.global_ops.look_task import KeyTask
from jinx_pipeline.operators.api.keyed import Exchanged
from jinx_pipeline.operators.api.response_cache import Answers
from jinx_pipeline.plan.inputs import Input, find_inputs, refuse_output_within_input
from jinx_pipeline.plan.manifest import write_manifest
from jinx_pipeline.plan.media_root import with_media_root
from jinx_pipeline.plan.planner import (
    Plan,
    block_rows,
    cut,
    joined_paths,
    refuse_missing_files,
    segments_of,
    stage_of,
    writer_options,
)
from jinx_pipeline.plan.probe import declared, measured_bytes
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.plan.source_rows import SourceRows
from jinx_pipeline.plan.stage import Stage
from jinx_pipeline.publish.destination import claimed_output, refuse_below_file
from jinx_pipeline.publish.publication import LostOutputError, Publication
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.report.figures import totals
from jinx_pipeline.report.progress import MODES, Progress
from jinx_pipeline.run_plan import (
    ChangedError,
    input_has_grown,
    known_run,
    new_run,
    plan_of,
    record_growth,
    refuse_other_recipe,
    sweep_other_runs,
)
from jinx_pipeline.run_result import RunResult, all_traces, json_lines, write_quarantine
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.records import Published
from jinx_pipeline.runlog.run_directory import RunDirectory
from jinx_pipeline.runlog.run_log import START_OVER
from jinx_pipeline.runlog.work_dir import WorkDir, publish_text, published
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.schedule.task import Limits

if TYPE_CHECKING:
    from jinx_pipeline.model.receipt import BadRow

_STRIKES_OF_A_LOOK = 5


@dataclass(frozen=True)
class _Opened:
    """What a run has open while it lasts."""

    work_dir: WorkDir
    directory: RunDirectory
    inputs: list[Input]
    ledger: Ledger
    plan: Plan
    publication: Publication


@dataclass(frozen=True)
class _Job:
    opened: _Opened
    worker_pool: WorkerPool
    worker_counts: Mapping[str, int]
    progress: Progress
    rows: SourceRows
    memory: int | None


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
            inputs = find_inputs(self.recipe, work_dir.inputs)
            has_grown = ledger is not None and input_has_grown(work_dir, plan_of(ledger), inputs)
            with opened_engine(self.recipe.options) as engine:
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
                        blocks = self._work(opened, engine, self._first_block(done))
                        done = opened.publication.publish(self._first_block(done), blocks, opened.plan.rows)
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
                rows = SourceRows(opened.inputs)
                job = _Job(opened, WorkerPool(workers), counts, progress, rows, engine.memory())
                return self._segments(job, base, first_block)
            finally:
                workers.close()
                progress.close()

    def _segments(self, job: "_Job", base: tuple[str, ...], first_block: int) -> int:
        """Run all segments; returns how many blocks the last one has."""
        opened = job.opened
        recipe, plan, directory, ledger = self.recipe, opened.plan, opened.directory, opened.ledger
        order, facts = (None if name is None else str(directory.decisions / name) for name in (plan.order, plan.facts))
        source = Source(base, order=order, facts=facts)
        decisions = Decisions(
            recipe,
            directory,
            ledger,
            partial(self._key_tasks, job),
            partial(self._keys_of_other, job),
            memory=job.memory,
        )
        counts = list(plan.blocks)
        for number, planned in enumerate(plan.segments):
            is_last = number == len(plan.segments) - 1
            # Files with operators may have been edited while the segments before ran.
            refuse_other_recipe(recipe, plan, opened.work_dir.path)
            if planned.group is not None:
                base = ()
            keys = str(decisions.keys_path(number - 1))
            stages = [
                replace(
                    stage_of(recipe, planned, at, is_last=is_last, has_base=bool(base), keys=keys, meta=plan.meta),
                    answers_dir=str(opened.work_dir.answers),
                )
                for at in range(len(planned.stages))
            ]
            if planned.decides is not None:
                partitions = decisions.partitions(number, planned.decides, sum(counts))
                stages[-1] = replace(stages[-1], partitions=partitions)
            numbered = {at: rows for at, rows in enumerate(counts) if at >= first_block or not is_last}
            segment = Segment(str(number), stages, source, dict(enumerate(counts)))
            job.progress.segment(number, len(plan.segments), numbered)
            self._drive(job, segment)
            if planned.decides is not None:
                node = f"{number}.{len(stages) - 1}"
                pieces = [piece for block in numbered for piece in ledger.pieces(node, block)]
                manifest = directory.decisions / f"{number}.parts.npy"
                with published(manifest) as file:
                    parts = [(directory.parts / one.part, one.rows_out) for one in pieces if one.part is not None]
                    write_manifest(file, manifest.parent, parts)
                source = decisions.after(
                    number, planned.decides, Source(base, manifest=str(manifest), facts=facts if base else None)
                )
                rows = _length(source)
                counts = cut(rows, plan.rows_per_block)
        return len(counts)

    def _drive(self, job: "_Job", segment: Segment, other: SourceRows | None = None) -> None:
        """Run the tasks of a segment; `other` has its rows where they are not those of the input."""
        limits = self.limits
        Driver(
            segment,
            job.worker_pool,
            job.worker_counts,
            job.opened.ledger,
            job.opened.directory,
            # A share cannot be left out, so it has more chances.
            limits=replace(limits, strikes=max(limits.strikes, _STRIKES_OF_A_LOOK)) if segment.is_look else limits,
            stop_after_bad=self.recipe.options.stop_after_bad if other is None else None,
            observer=Observer(job.progress.event, job.progress.tick),
            named=(other or job.rows).named,
        ).run()

    def _key_tasks(self, job: "_Job", name: str, tasks: KeyTask) -> list[Path]:
        """Run tasks over the keys of what a segment has made."""
        opened = job.opened
        job.progress.phase(tasks.operator.name, tasks.work, tasks.count)
        self._drive(job, Segment(name, [tasks], Source(), dict.fromkeys(range(tasks.count), 1), is_look=True))
        files = [opened.ledger.parts(f"{name}.0", number) for number in range(tasks.count)]
        return [opened.directory.parts / part for parts in files for part in parts]

    def _keys_of_other(self, job: "_Job", segment: int, path: str, keys: Exchanged, partitions: int) -> tuple[str, ...]:
        """Compute the keys of a dataset that a join at the end of a segment adds."""
        name, ledger = f"{segment}.other", job.opened.ledger
        node = f"{name}.0"
        options, source = self.recipe.options, Source((str(Path(path).absolute()),))
        rows = len(OpenSource(source))
        blocks = dict(enumerate(cut(rows, options.block_rows or block_rows(rows, 1.0))))
        stage = Stage(
            [],
            [],
            Roles(),
            output="view",
            signatures=keys,
            partitions=partitions,
            seed=options.seed,
            threads=options.threads,
        )
        job.progress.event("other", {"path": path, "rows": rows})
        other = SourceRows([Input(path, {}, rows, path)])
        self._drive(job, Segment(name, [stage], source, blocks), other)
        bad: list[BadRow] = []
        for block in blocks:
            failed = [other.named(one) for one in ledger.bad_rows_of(node, block)]
            if failed:
                # They are no rows of the input, which the ledger counts.
                ledger.forget(node, block)
            bad += failed
        if bad:
            first, more = bad[0], f", and {len(bad) - 1:,} more like it" if len(bad) > 1 else ""
            raise RepairError(
                f"{first.place}, {first.operator or 'worker'}: {first.error}{more}; a join needs the keys of all rows: "
                f"restore {path} and run again, or write it without what cannot be read and {START_OVER}"
            )
        return tuple(str(job.opened.directory.parts / part) for block in blocks for part in ledger.parts(node, block))


def work_dir_of(recipe: Recipe) -> Path:
    """Where a recipe keeps its unfinished work."""
    if recipe.options.work_dir is not None:
        return Path(recipe.options.work_dir)
    path = recipe.export.path if recipe.export is not None else "pipeline"
    return Path(f"{path.rstrip('/')}.work")


def _length(source: Source) -> int:
    """Rows or groups of a source, without opening its dataset."""
    if source.bounds is not None:
        return max(len(np.load(source.bounds, mmap_mode="r")) - 1, 0)
    return len(np.load(str(source.order), mmap_mode="r"))


__all__ = ["ChangedError", "Run", "RunResult", "StoppedError", "segments_of", "work_dir_of"]
