"""One run of a recipe, from its inputs to the published output."""

import json
import os
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import jinx
from jinx_pipeline.commit.journal import Journal
from jinx_pipeline.commit.ledger import BadRow, Ledger
from jinx_pipeline.commit.place import refuse_place
from jinx_pipeline.commit.publish import publish, published_before, shard_groups
from jinx_pipeline.commit.work_dir import WorkDir, publish_text
from jinx_pipeline.engines.crew import Crew
from jinx_pipeline.engines.driver import Driver, Observer, RepairError, Segment, StoppedError
from jinx_pipeline.engines.engine import Engine, opened_engine
from jinx_pipeline.engines.probing import probed
from jinx_pipeline.operators.answers import Answers
from jinx_pipeline.operators.keyed import Keyed
from jinx_pipeline.plan.differences import differences
from jinx_pipeline.plan.inputs import Input, find_inputs, has_grown, refuse_input_as_output
from jinx_pipeline.plan.media_root import with_media_root
from jinx_pipeline.plan.mixture import mixture_order
from jinx_pipeline.plan.planner import (
    Plan,
    block_rows,
    cut,
    joined_paths,
    make_plan,
    refuse_impossible,
    segments_of,
    stage_of,
    writer_options,
)
from jinx_pipeline.plan.probe import declared, measured_bytes
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.plan.source_rows import SourceRows
from jinx_pipeline.plan.stage import Stage
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.recipe.write import as_data
from jinx_pipeline.report.figures import OperatorTotals, totals
from jinx_pipeline.report.progress import MODES, Progress
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.sample.validators import validate
from jinx_pipeline.schedule.task import Limits
from jinx_pipeline.shuffle.phase import Phase
from jinx_pipeline.shuffle.step import Decisions, publish_order


@dataclass(frozen=True)
class RunResult:
    """What a run did.

    Attributes:
        path: The output.
        rows_in: Samples of the input.
        rows_out: Samples of the output.
        bytes: Of the output.
        seconds: Of this run; a resumed one does not count what was done before.
        bad_rows: Rows that are not in the output because something failed on them.
        operators: What each operator did, over all runs of the plan.
        work_dir: Where the journal and the log of events are.
        traces: Examples of what operators changed and dropped, if the recipe asks for them.
        resumed: Whether work of an earlier run was used.
        max_bad_rows: As the recipe has it.
    """

    path: str
    rows_in: int
    rows_out: int
    bytes: int
    seconds: float
    bad_rows: list[BadRow]
    operators: list[OperatorTotals]
    work_dir: str
    traces: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    resumed: bool = False
    max_bad_rows: int = 0

    @property
    def ok(self) -> bool:
        """Whether no more rows were left out than the recipe allows."""
        return len(self.bad_rows) <= self.max_bad_rows

    def to_dict(self) -> dict[str, Any]:
        """The same as a plain dict."""
        return {**asdict(self), "ok": self.ok}


START_OVER = "start over with restart=True, overwrite=True (--restart --overwrite)"


class ChangedError(ValueError):
    """The recipe, an input or the version is not that of the run to resume; the message says what changed."""


_STRIKES_OF_A_LOOK = 5


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
        self._append = False

    def __call__(self) -> RunResult:
        """Run it, or resume what an earlier run has left.

        Raises:
            RecipeError: The recipe asks for what cannot be.
            ChangedError: The working directory belongs to another recipe or another state of the input.
            FileExistsError: The output exists.
            StoppedError: The run stopped; call it again to resume.
        """
        started = time.monotonic()
        with WorkDir(work_dir_of(self.recipe)) as work_dir:
            if self.restart:
                work_dir.clear()
            inputs = find_inputs(self.recipe, work_dir.inputs)
            with opened_engine(self.recipe.options) as engine, Journal(work_dir.journal_path) as journal:
                plan = self._plan(work_dir, inputs, engine)
                ledger = Ledger(work_dir, journal)
                done = ledger.noted("published") if self._output_is_there() else None
                if done is None and ledger.noted("published") is not None and ledger.lost_parts():
                    raise ChangedError(f"{self.export.path} was written, and is gone, with its parts; {START_OVER}")
                if done is None or done["rows"] != plan.rows:
                    fitted = engine.fitted(declared(self.recipe), measured_bytes(self.recipe, plan.findings))
                    done = self._finish(work_dir, ledger, plan, inputs, fitted)
                rows = SourceRows(inputs)
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
                    time.monotonic() - started,
                    bad_rows,
                    totals(ledger, self.recipe),
                    str(work_dir.path),
                    traces,
                    resumed=self._resumed,
                    max_bad_rows=self.recipe.options.max_bad_rows,
                )

    def _output_is_there(self) -> bool:
        """Whether there is an output; a directory that an interrupted run has left unfinished is none."""
        path = Path(self.export.path)
        if self.export.kind == "jinx" and path.is_dir():
            return (path / "jinx.json").exists()
        return os.path.lexists(path)

    # The plan.

    def _plan(self, work_dir: WorkDir, inputs: list[Input], engine: Engine) -> Plan:
        recipe = self.recipe
        known = work_dir.read_plan()
        if known is not None:
            try:
                plan = Plan.from_dict(known)
            except ValueError as error:
                raise ChangedError(f"{work_dir.path}: {error}; {START_OVER}") from None
            return self._known_plan(work_dir, plan, inputs)
        refuse_input_as_output(recipe, [*(one.path for one in inputs), *joined_paths(recipe)])
        refuse_place(self.export)
        order = (
            mixture_order(recipe.sources, [one.rows for one in inputs], recipe.options.seed)
            if recipe.only_rows is None
            else np.array(recipe.only_rows, dtype=np.int64)
        )
        rows = sum(one.rows for one in inputs) if order is None else len(order)
        source = Source(tuple(one.path for one in inputs))
        if order is not None:
            publish_order(work_dir.globals / "mixture.npy", order)
            source = replace(source, order=str(work_dir.globals / "mixture.npy"))
        opened = OpenSource(source)
        fitted = engine.fitted(declared(recipe))
        refuse_impossible(
            recipe,
            gpus=fitted.counts()["gpu"],
            memory=fitted.memory(),
            columns=opened.dataset.column_names if rows else None,
        )
        if recipe.validators:
            validate(opened.dataset, recipe.validators, recipe.roles)
        findings = probed(recipe, source, rows)
        fitted = engine.fitted(declared(recipe), measured_bytes(recipe, findings))
        plan = make_plan(recipe, inputs, rows, findings, fitted.memory())
        _publish_facts(work_dir, opened)
        publish_text(work_dir.path / "recipe.json", json.dumps(as_data(recipe), indent=1, ensure_ascii=False) + "\n")
        work_dir.write_plan(plan.to_dict())
        return plan

    def _known_plan(self, work_dir: WorkDir, plan: Plan, inputs: list[Input]) -> Plan:
        self._resumed = True
        recipe, where = self.recipe, work_dir.path
        if plan.digest != recipe.digest:
            what = "; ".join(differences(plan.recipe, recipe.described()))
            raise ChangedError(f"{where} belongs to another recipe: {what}; {START_OVER}, or use another work_dir")
        if len(plan.inputs) == len(inputs) and all(a == b.identity for a, b in zip(plan.inputs, inputs, strict=True)):
            return plan
        grown = len(inputs) == len(plan.inputs) == 1 and has_grown(plan.inputs[0], inputs[0].identity, inputs[0].source)
        if grown and len(plan.segments) == 1 and not (work_dir.globals / "mixture.npy").exists():
            return self._grown_plan(work_dir, plan, inputs[0])
        if grown:
            raise ChangedError(f"{where}: the input has grown, and this recipe looks at all rows; {START_OVER}")
        changes = [
            f"{one.source}: {'; '.join(differences(a, one.identity)) or 'changed'}"
            for a, one in zip(plan.inputs, inputs, strict=False)
            if a != one.identity
        ]
        raise ChangedError(f"{where}: the input changed: {' / '.join(changes)}; {START_OVER}")

    def _grown_plan(self, work_dir: WorkDir, plan: Plan, now: Input) -> Plan:
        """More blocks after those of the plan, for the rows that the input has gained."""
        blocks = [*plan.blocks, *cut(now.rows - plan.rows, plan.rows_per_block)]
        made = replace(plan, inputs=[now.identity], paths=[now.path], rows=now.rows, blocks=blocks)
        _publish_facts(work_dir, OpenSource(Source((now.path,))))
        work_dir.write_plan(made.to_dict())
        return made

    # The work.

    def _finish(
        self, work_dir: WorkDir, ledger: Ledger, plan: Plan, inputs: list[Input], engine: Engine
    ) -> dict[str, Any]:
        base = tuple(one.path for one in inputs)
        ledger.sweep(_publishing(ledger))
        Answers(work_dir.answers).sweep()
        published = ledger.noted("published")
        # An output that was removed is made of all the parts again.
        before = published if self._output_is_there() else None
        # Blocks whose rows are in the output already.
        append = before is not None and self.export.kind == "jinx" and not self.export.path.endswith(".jinx")
        first_block = before["blocks"] if before is not None and append else 0
        with _events(work_dir.events_path) as log:
            counts = engine.counts()
            modules = [type(step.operator).__module__ for step in self.recipe.steps]
            others = [str(Path(path).absolute()) for path in joined_paths(self.recipe)]
            workers = engine.workers(work_dir, (*base, *others), modules)
            progress = Progress(self.progress, plan.rows, log)
            try:
                job = _Job(work_dir, ledger, plan, Crew(workers), counts, progress, SourceRows(inputs), engine.memory())
                blocks = self._segments(job, base, first_block)
            finally:
                workers.close()
                progress.close()
        done = self._publish(ledger, plan, blocks, append=append, again=published is not None)
        # Workers of a cluster do not end at once: attempts that lost may have written until now, and may still do.
        with suppress(OSError):
            ledger.sweep()
        return done

    def _segments(
        self, job: "_Job", base: tuple[str, ...], first_block: int
    ) -> tuple[list[list[Path]], tuple[str, ...]]:
        """Run all segments; returns the parts of each block of the last one, and the dataset whose rows they are."""
        recipe, plan, work_dir, ledger = self.recipe, job.plan, job.work_dir, job.ledger
        mixture, facts = work_dir.globals / "mixture.npy", work_dir.facts_path
        order = str(mixture) if mixture.exists() else None
        source = Source(base, order=order, facts=str(facts) if facts.exists() else None)
        decisions = Decisions(
            recipe, work_dir, ledger, partial(self._look, job), partial(self._keys_of_other, job), memory=job.memory
        )
        counts = list(plan.blocks)
        blocks: list[list[Path]] = []
        for number, planned in enumerate(plan.segments):
            is_last = number == len(plan.segments) - 1
            if planned.group is not None:
                base = ()
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
            last = len(stages) - 1
            blocks = [[work_dir.parts / name for name in ledger.parts(number, last, block)] for block in numbered]
            if planned.decides is not None:
                parts = tuple(str(part) for block in blocks for part in block)
                source = decisions.after(number, planned.decides, Source(base, parts))
                rows = _length(source)
                counts = cut(rows, plan.rows_per_block)
        return blocks, base

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
        options, source = self.recipe.options, Source((str(Path(path).absolute()),))
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

    def _publish(
        self, ledger: Ledger, plan: Plan, made: tuple[list[list[Path]], tuple[str, ...]], *, append: bool, again: bool
    ) -> dict[str, Any]:
        """Make the output of the parts.

        Args:
            ledger: What is committed.
            plan: The plan.
            made: Parts of each block, and the dataset whose rows they are.
            append: The parts come after what the output holds.
            again: The output was published before: with fewer rows, or it was removed.
        """
        blocks, base = made
        options = writer_options(self.recipe, self.export)
        noted = ledger.noted("publishing")
        is_half_made = Path(self.export.path).is_dir() and not self._output_is_there()
        if noted is None or (again and not is_half_made):
            groups = shard_groups(self.export, blocks, options, append=append)
            names = None if groups is None else [[str(one) for one in group] for group in groups]
            ledger.note("publishing", groups=names)
        else:
            names = noted["groups"]
        groups = None if names is None else [[Path(one) for one in group] for group in names]
        export = replace(self.export, overwrite=True) if again else self.export
        if append and self._is_appended(ledger, plan):
            done = published_before(Path(export.path))
        else:
            done = publish(export, blocks, base, options, append=append, groups=groups)
        samples = len(jinx.open(export.path)) if append else done.samples
        facts = {"samples": samples, "bytes": done.bytes, "rows": plan.rows, "blocks": len(plan.blocks)}
        ledger.note("published", **facts)
        return facts

    def _is_appended(self, ledger: Ledger, plan: Plan) -> bool:
        """Whether an earlier run has added the new blocks to the output, and ended before it could note that."""
        before = ledger.noted("published") or {"samples": 0, "blocks": 0}
        number, last = len(plan.segments) - 1, len(plan.segments[-1].stages) - 1
        new = range(before["blocks"], len(plan.blocks))
        added = sum(one.receipt.rows_out for block in new for one in ledger.pieces(number, last, block))
        return added > 0 and len(jinx.open(self.export.path)) == before["samples"] + added


def _publishing(ledger: Ledger) -> list[str]:
    """The names of what an interrupted run was about to make the output of, such as parts joined for it."""
    groups = (ledger.noted("publishing") or {}).get("groups") or []
    return [Path(one).name for group in groups for one in group]


def write_quarantine(path: Path, bad_rows: list[BadRow]) -> None:
    """Write the rows that were left out; without any, remove the file of an earlier run."""
    if bad_rows:
        publish_text(path, json_lines([asdict(one) for one in bad_rows]))
    else:
        path.unlink(missing_ok=True)


def json_lines(records: list[dict[str, Any]]) -> str:
    """Records as JSON lines."""
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records)


def all_traces(ledger: Ledger, recipe: Recipe) -> list[dict[str, Any]]:
    """The first examples of each operator, in the order of the recipe."""
    limit = recipe.options.trace
    found: list[dict[str, Any]] = [one for _, piece in ledger.all_pieces() for one in piece.receipt.traces]
    for number in range(len(recipe.steps)):
        known = ledger.noted(f"decided {number}")
        if known is not None:
            name = recipe.steps[known["place"]].operator.name
            found += [
                {"operator": name, "number": known["place"], "what": "duplicate", "id": a, "of": b}
                for a, b in known["pairs"]
            ]
    return [
        one
        for place in range(len(recipe.steps))
        for one in [trace for trace in found if trace["number"] == place][:limit]
    ]


def _publish_facts(work_dir: WorkDir, source: OpenSource) -> None:
    """Keep what the footers of the inputs say together, so that workers need not open them all."""
    facts = None if source.base is None else source.base._facts()
    if facts is not None:
        publish_text(work_dir.facts_path, facts)


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
