"""The segments of a run, one after another, with the global operators between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import jinx
from jinx_pipeline.engines.driver import Driver, Observer, RepairError, Segment
from jinx_pipeline.engines.worker_pool import WorkerPool
from jinx_pipeline.global_ops.decisions import Decisions
from jinx_pipeline.global_ops.key_work import KeyWork
from jinx_pipeline.operators.api.keyed import Exchanged
from jinx_pipeline.plan.blocks import SampleSize, block_size, cut, cut_groups
from jinx_pipeline.plan.inputs import Input
from jinx_pipeline.plan.manifest import write_manifest
from jinx_pipeline.plan.planner import Plan, stage_of
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.plan.source_rows import SourceRows
from jinx_pipeline.plan.stage import Stage
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.report.progress import Progress
from jinx_pipeline.run_plan import refuse_other_recipe
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.run_log import START_OVER
from jinx_pipeline.runlog.work_dir import WorkDir, published
from jinx_pipeline.sample.content_identity import content_digest
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.schedule.task import Limits
from jinx_pipeline.worker.map_work import MapWork

if TYPE_CHECKING:
    from jinx_pipeline.model.receipt import BadRow

# Failures of a task whose rows cannot be left out until the run stops.
_FATAL_STRIKES = 5


@dataclass(frozen=True)
class SegmentRunner:
    """Runs the segments of a plan.

    Attributes:
        recipe: What to do.
        plan: How.
        work_dir: Where what the runs share is kept.
        ledger: What is committed and decided.
        worker_pool: The workers; those of one segment work on in the next.
        worker_counts: How many of each pool there may be.
        progress: Who is told.
        rows: The names of the rows of the inputs.
        limits: Of the scheduler.
        memory: Bytes that a task may use; None: no limit.
    """

    recipe: Recipe
    plan: Plan
    work_dir: WorkDir
    ledger: Ledger
    worker_pool: WorkerPool
    worker_counts: Mapping[str, int]
    progress: Progress
    rows: SourceRows
    limits: Limits
    memory: int | None

    def run(self, inputs: Sequence[Input], first_block: int) -> int:
        """Run all segments; returns how many blocks the last one has."""
        recipe, plan, directory, ledger = self.recipe, self.plan, self.ledger.directory, self.ledger
        order, facts = (None if name is None else str(directory.decisions / name) for name in (plan.order, plan.facts))
        base, contents = tuple(one.path for one in inputs), tuple(one.content for one in inputs)
        source = Source(base, order=order, contents=contents, facts=facts)
        decisions = Decisions(
            recipe,
            directory,
            ledger,
            self._run_key_work,
            self._keys_of_other,
            memory=self.memory,
        )
        counts = list(plan.blocks)
        for number, planned in enumerate(plan.segments):
            is_last = number == len(plan.segments) - 1
            # Files with operators may have been edited while the segments before ran.
            refuse_other_recipe(recipe, plan, self.work_dir.path)
            if planned.group is not None:
                base = contents = ()
            keys = str(decisions.keys_path(number - 1))
            stages = [
                replace(
                    stage_of(recipe, planned, at, is_last=is_last, has_base=bool(base), keys=keys, meta=plan.meta),
                    answers_dir=str(self.work_dir.answers),
                )
                for at in range(len(planned.stages))
            ]
            if planned.decides is not None:
                partitions = decisions.partitions(number, planned.decides, sum(counts))
                stages[-1] = replace(stages[-1], partitions=partitions)
            numbered = {at: rows for at, rows in enumerate(counts) if at >= first_block or not is_last}
            segment = Segment(str(number), [MapWork(stage) for stage in stages], source, dict(enumerate(counts)))
            self.progress.segment(number, len(plan.segments), numbered)
            self._drive(segment)
            if planned.decides is not None:
                node = f"{number}.{len(stages) - 1}"
                pieces = [piece for block in numbered for piece in ledger.pieces(node, block)]
                manifest = directory.decisions / f"{number}.parts.npy"
                with published(manifest) as file:
                    parts = [(directory.parts / one.part, one.rows_out) for one in pieces if one.part is not None]
                    write_manifest(file, manifest.parent, parts)
                made = Source(base, manifest=str(manifest), contents=contents, facts=facts if base else None)
                source = decisions.after(number, planned.decides, made)
                counts = _blocks_of(source, plan.rows_per_block)
        return len(counts)

    def _drive(self, segment: Segment, other: SourceRows | None = None) -> None:
        """Run the tasks of a segment; `other` has its rows where they are not those of the input."""
        limits = self.limits
        if any(work.poison == "fatal" for work in segment.works):
            # Its tasks cannot be left out, so they have more chances.
            limits = replace(limits, strikes=max(limits.strikes, _FATAL_STRIKES))
        Driver(
            segment,
            self.worker_pool,
            self.worker_counts,
            self.ledger,
            self.ledger.directory,
            limits=limits,
            stop_after_bad=self.recipe.options.stop_after_bad if other is None else None,
            observer=Observer(self.progress.event, self.progress.tick),
            named=(other or self.rows).named,
        ).run()

    def _run_key_work(self, name: str, work: KeyWork) -> list[Path]:
        """Run the tasks over the keys of what a segment has made."""
        self.progress.phase(work.operator.name, work.step, work.count)
        self._drive(Segment(name, [work], Source(), dict.fromkeys(range(work.count), 1)))
        files = [self.ledger.parts(f"{name}.0", number) for number in range(work.count)]
        return [self.ledger.directory.parts / part for parts in files for part in parts]

    def _keys_of_other(self, segment: int, path: str, keys: Exchanged, partitions: int) -> tuple[str, ...]:
        """Compute the keys of a dataset that a join at the end of a segment adds."""
        name, ledger = f"{segment}.other", self.ledger
        node = f"{name}.0"
        options = self.recipe.options
        source = Source((str(Path(path).absolute()),), contents=(content_digest(jinx.open(path)),))
        rows = len(OpenSource(source))
        blocks = dict(enumerate(cut(rows, block_size(rows, SampleSize(), options.block_rows).rows)))
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
        self.progress.event("other", {"path": path, "rows": rows})
        other = SourceRows([Input(path, {}, rows, path)])
        self._drive(Segment(name, [MapWork(stage)], source, blocks), other)
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
        return tuple(str(self.ledger.directory.parts / part) for block in blocks for part in ledger.parts(node, block))


def _blocks_of(source: Source, rows_per_block: int) -> list[int]:
    """Rows or groups of each block of a source that a global operator has made; its dataset is not opened."""
    if source.bounds is not None:
        return cut_groups(np.load(source.bounds, mmap_mode="r"), rows_per_block)
    return cut(len(np.load(str(source.order), mmap_mode="r")), rows_per_block)
