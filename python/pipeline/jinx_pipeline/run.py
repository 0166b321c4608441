"""One run of a recipe, from its inputs to the published output."""

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import jinx
from jinx.errors import JinxError
from jinx_pipeline.commit.claim import Claim, ClaimedError
from jinx_pipeline.commit.journal import Journal
from jinx_pipeline.commit.ledger import BadRow, Ledger
from jinx_pipeline.commit.place import refuse_below_file, refuse_folder_of
from jinx_pipeline.commit.publication import LostOutputError, Publication
from jinx_pipeline.commit.work_dir import WorkDir, publish_text
from jinx_pipeline.engines.crew import Crew
from jinx_pipeline.engines.driver import Driver, Observer, RepairError, Segment, StoppedError
from jinx_pipeline.engines.engine import Engine, opened_engine
from jinx_pipeline.operators.answers import Answers
from jinx_pipeline.operators.keyed import Keyed
from jinx_pipeline.plan.inputs import Input, find_inputs, refuse_output_within_input, refuse_replaced_inputs
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
from jinx_pipeline.recipe.model import Export, Recipe
from jinx_pipeline.report.figures import totals
from jinx_pipeline.report.progress import MODES, Progress
from jinx_pipeline.run_plan import (
    START_OVER,
    ChangedError,
    grown_plan,
    input_has_grown,
    known_plan,
    new_plan,
    refuse_other_recipe,
)
from jinx_pipeline.run_result import RunResult, all_traces, json_lines, write_quarantine
from jinx_pipeline.sample.content import content_digest
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.schedule.task import Limits
from jinx_pipeline.shuffle.phase import Phase
from jinx_pipeline.shuffle.step import Decisions

_STRIKES_OF_A_LOOK = 5


@dataclass(frozen=True)
class _Opened:
    """What a run has open while it lasts."""

    work_dir: WorkDir
    inputs: list[Input]
    ledger: Ledger
    plan: Plan
    publication: Publication


@dataclass(frozen=True)
class _Job:
    work_dir: WorkDir
    ledger: Ledger
    plan: Plan
    crew: Crew
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
            known = None if self.restart else known_plan(self.recipe, self.export, work_dir)
            self._resumed = known is not None
            if known is None:
                refuse_missing_files(self.recipe)
            inputs = find_inputs(self.recipe, work_dir.inputs)
            has_grown = known is not None and input_has_grown(work_dir, known, inputs)
            with opened_engine(self.recipe.options) as engine:
                plan = known or new_plan(self.recipe, self.export, work_dir, inputs, engine)
                with Journal(work_dir.journal_path, plan.run) as journal:
                    journal.take_over(work_dir.driver)
                    ledger = Ledger(work_dir, journal)
                    publication = self._publication(work_dir, ledger, plan)
                    try:
                        # Before a plan that grows has other blocks.
                        publication.resume()
                        done = publication.published()
                    except LostOutputError as error:
                        raise ChangedError(f"{error}; {START_OVER}") from None
                    if has_grown:
                        plan = grown_plan(work_dir, plan, inputs[0])
                        publication = self._publication(work_dir, ledger, plan)
                    opened = _Opened(work_dir, inputs, ledger, plan, publication)
                    if done is None or done["rows"] != plan.rows:
                        done = self._made(opened, engine, journal, done)
                        # Workers of a cluster do not end at once: attempts that lost may still write.
                        with suppress(OSError):
                            ledger.sweep()
                    return self._result(opened, done, time.monotonic() - started)

    def _publication(self, work_dir: WorkDir, ledger: Ledger, plan: Plan) -> Publication:
        number, last = len(plan.segments) - 1, len(plan.segments[-1].stages) - 1
        is_new = any(one.group is not None for one in plan.segments)

        def parts_of(blocks: range) -> list[list[Path]]:
            return [[work_dir.parts / name for name in ledger.parts(number, last, block)] for block in blocks]

        base = () if is_new else tuple(plan.paths)
        return Publication(self.export, ledger, writer_options(self.recipe, self.export), plan.run, base, parts_of)

    def _result(self, opened: _Opened, done: dict[str, Any], seconds: float) -> RunResult:
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
            done["samples"],
            done["bytes"],
            seconds,
            bad_rows,
            totals(ledger, self.recipe),
            str(work_dir.path),
            traces,
            resumed=self._resumed,
            max_bad_rows=self.recipe.options.max_bad_rows,
        )

    # The work.

    def _made(self, opened: _Opened, engine: Engine, journal: Journal, done: dict[str, Any] | None) -> dict[str, Any]:
        """Do what is not done, and publish it; returns what is noted of the output then."""
        first = self._first_block(done)
        try:
            last_blocks = self._work(opened, engine, first)
            journal.refuse_other_driver()
            return opened.publication.publish(first, last_blocks, opened.plan.rows)
        except (JinxError, OSError):
            # An error of a part that shows rows of an input which is another one now does not say so.
            refuse_replaced_inputs(opened.inputs)
            raise

    def _first_block(self, done: dict[str, Any] | None) -> int:
        """The first block that is not in the output: only a directory takes more after what it holds."""
        is_directory = self.export.kind == "jinx" and not self.export.path.endswith(".jinx")
        return done["end"] if done is not None and is_directory else 0

    def _work(self, opened: _Opened, engine: Engine, first_block: int) -> int:
        """Make the parts of all blocks that are not in the output; returns how many blocks the last segment has."""
        work_dir, ledger, plan = opened.work_dir, opened.ledger, opened.plan
        engine = engine.fitted(declared(self.recipe), measured_bytes(self.recipe, plan.findings))
        base = tuple(one.path for one in opened.inputs)
        ledger.sweep(opened.publication.needed_parts())
        Answers(work_dir.answers).sweep()
        with _events(work_dir.events_path) as log:
            counts = engine.counts()
            modules = [type(step.operator).__module__ for step in self.recipe.steps]
            others = [str(Path(path).absolute()) for path in joined_paths(self.recipe)]
            workers = engine.workers(work_dir, (*base, *others), modules)
            progress = Progress(self.progress, plan.rows, log)
            try:
                rows = SourceRows(opened.inputs)
                job = _Job(work_dir, ledger, plan, Crew(workers), counts, progress, rows, engine.memory())
                return self._segments(job, opened.inputs, first_block)
            finally:
                workers.close()
                progress.close()

    def _segments(self, job: "_Job", inputs: list[Input], first_block: int) -> int:
        """Run all segments; returns how many blocks the last one has."""
        recipe, plan, work_dir, ledger = self.recipe, job.plan, job.work_dir, job.ledger
        order, facts = (None if name is None else str(work_dir.globals / name) for name in (plan.order, plan.facts))
        base, contents = tuple(one.path for one in inputs), tuple(one.content for one in inputs)
        source = Source(base, order=order, contents=contents, facts=facts)
        decisions = Decisions(
            recipe, work_dir, ledger, partial(self._look, job), partial(self._keys_of_other, job), memory=job.memory
        )
        counts = list(plan.blocks)
        for number, planned in enumerate(plan.segments):
            is_last = number == len(plan.segments) - 1
            # Files with operators may have been edited while the segments before ran.
            refuse_other_recipe(recipe, plan, work_dir.path)
            if planned.group is not None:
                base = contents = ()
            keys = str(decisions.keys_path(number - 1))
            stages = [
                replace(
                    stage_of(recipe, planned, at, is_last=is_last, has_base=bool(base), keys=keys),
                    answers_dir=str(work_dir.answers),
                )
                for at in range(len(planned.stages))
            ]
            numbered = {at: rows for at, rows in enumerate(counts) if at >= first_block or not is_last}
            segment = Segment(number, stages, source, dict(enumerate(counts)))
            job.progress.segment(number, len(plan.segments), numbered)
            self._drive(job, segment)
            if planned.decides is not None:
                last = len(stages) - 1
                parts = tuple(
                    str(work_dir.parts / name) for block in numbered for name in ledger.parts(number, last, block)
                )
                source = decisions.after(number, planned.decides, Source(base, parts, contents=contents))
                rows = _length(source)
                counts = cut(rows, plan.rows_per_block)
        return len(counts)

    def _drive(self, job: "_Job", segment: Segment, other: SourceRows | None = None) -> None:
        """Run the tasks of a segment; `other` has its rows where they are not those of the input."""
        limits = self.limits
        Driver(
            segment,
            job.crew,
            job.worker_counts,
            job.ledger,
            job.work_dir,
            # A share cannot be left out, so it has more chances.
            limits=replace(limits, strikes=max(limits.strikes, _STRIKES_OF_A_LOOK)) if segment.is_look else limits,
            stop_after_bad=self.recipe.options.stop_after_bad if other is None else None,
            observer=Observer(job.progress.event, job.progress.tick),
            named=(other or job.rows).named,
        ).run()

    def _look(self, job: "_Job", segment: int, phase: Phase, made: Source) -> list[Path]:
        """Run the tasks of a look at the keys of what a segment has made."""
        number = segment + len(job.plan.segments)
        job.progress.phase(phase.operator.name, phase.shares)
        self._drive(job, Segment(number, [phase], made, dict.fromkeys(range(phase.shares), 1), is_look=True))
        found = [job.ledger.parts(number, 0, share) for share in range(phase.shares)]
        return [job.work_dir.parts / name for names in found for name in names]

    def _keys_of_other(self, job: "_Job", segment: int, path: str, keys: Keyed) -> tuple[str, ...]:
        """Compute the keys of a dataset that a join at the end of a segment adds."""
        number = segment + 2 * len(job.plan.segments)
        options = self.recipe.options
        source = Source((str(Path(path).absolute()),), contents=(content_digest(jinx.open(path)),))
        rows = len(OpenSource(source))
        blocks = dict(enumerate(cut(rows, options.block_rows or block_rows(rows, 1.0))))
        stage = Stage([], [], Roles(), output="view", signatures=keys, seed=options.seed, threads=options.threads)
        job.progress.event("other", {"path": path, "rows": rows})
        other = SourceRows([Input(path, {}, rows, path)])
        self._drive(job, Segment(number, [stage], source, blocks), other)
        bad: list[BadRow] = []
        for block in blocks:
            failed = [other.named(one) for piece in job.ledger.pieces(number, 0, block) for one in piece.receipt.bad]
            if failed:
                # They are no rows of the input, which the ledger counts.
                job.ledger.forget(number, 0, block)
            bad += failed
        if bad:
            first, more = bad[0], f", and {len(bad) - 1:,} more like it" if len(bad) > 1 else ""
            raise RepairError(
                f"{first.place}, {first.operator or 'worker'}: {first.error}{more}; a join needs the keys of all rows: "
                f"restore {path} and run again, or write it without what cannot be read and {START_OVER}"
            )
        return tuple(str(job.work_dir.parts / name) for block in blocks for name in job.ledger.parts(number, 0, block))


@contextmanager
def claimed_output(export: Export, work_dir: Path) -> Generator[None]:
    """Hold the place of an output for one run.

    Raises:
        RuntimeError: Another run is about to write it.
        OSError: Its directory is missing or cannot be written.
    """
    out = Path(export.path)
    refuse_folder_of(out)
    try:
        claim = Claim(out.with_name(f".{out.name}.pipeline"), str(work_dir))
    except ClaimedError as error:
        raise RuntimeError(
            f"{out}: another run writes this output, with the working directory {error}; wait for it, or stop it"
        ) from None
    with claim:
        yield


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


@contextmanager
def _events(path: Path) -> Generator[Any]:
    with path.open("a", encoding="utf-8") as file:
        yield file


__all__ = ["ChangedError", "Run", "RunResult", "StoppedError", "segments_of", "work_dir_of"]
