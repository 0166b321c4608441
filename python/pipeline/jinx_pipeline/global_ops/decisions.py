"""The global operators of a run: each decides once, and what it decided is kept for resume."""

import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.global_ops.decide import decide
from jinx_pipeline.global_ops.look_task import LookTask, keys_of
from jinx_pipeline.global_ops.signature_files import read_table
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.keyed import Decision, Divided, Keyed
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.records import Decided, Partitions
from jinx_pipeline.runlog.run_directory import RunDirectory
from jinx_pipeline.runlog.run_log import START_OVER, RunLogError
from jinx_pipeline.runlog.work_dir import published

if TYPE_CHECKING:
    import numpy.typing as npt

RunLook = Callable[[int, LookTask, Source], list[Path]]
"""Runs the tasks of a phase at the end of a segment on the engine; returns the files with what they found, in order."""

RunOther = Callable[[int, str, Keyed], tuple[str, ...]]
"""Computes the keys of another dataset on the engine; returns parts, next to which they are, in order."""


class Decisions:
    """Decides at the ends of segments.

    Args:
        recipe: With the operators.
        directory: Of the run, where decisions are kept.
        ledger: Where it is recorded that they are complete.
        run_look: How the tasks of a look at all keys are run.
        run_other: How the keys of another dataset are computed.
        memory: Bytes that a task may use; None: no limit.
    """

    def __init__(
        self,
        recipe: Recipe,
        directory: RunDirectory,
        ledger: Ledger,
        run_look: RunLook,
        run_other: RunOther,
        *,
        memory: int | None,
    ) -> None:
        self._recipe = recipe
        self._folder = directory.decisions
        self._ledger = ledger
        self._run_phase, self._run_other = run_look, run_other
        self._memory = memory
        self._waited = 0.0

    def after(self, segment: int, place: int, made: Source) -> Source:
        """The source of the next segment.

        Args:
            segment: Whose end it is.
            place: Of the operator in the recipe.
            made: What the segment has made.
        """
        decided = self._ledger.decided(node_of(segment))
        if decided is None:
            decided = self._decide(segment, place, made)
        else:
            self._verify(decided)
        order, bounds = self._folder / f"{segment}.npy", self._folder / f"{segment}.bounds.npy"
        return replace(made, order=str(order), bounds=str(bounds) if bounds.name in decided.files else None)

    def keys_path(self, segment: int) -> Path:
        """Where the operator at the end of a segment puts what its edit of the next one needs."""
        return self._folder / f"{segment}.keys.npy"

    def _verify(self, decided: Decided) -> None:
        """Refuse files that are not those of a decision of an earlier process."""
        for name, digest in decided.files.items():
            path = self._folder / name
            if not path.exists() or _digest(np.load(path, mmap_mode="r")) != digest:
                raise RunLogError(f"{path} is not what was decided; {START_OVER}")

    def _decide(self, segment: int, place: int, made: Source) -> Decided:
        self._waited = 0.0
        started, cpu = time.perf_counter(), time.process_time()
        decision = self._decision(segment, place, made) if made.parts else Decision(np.empty(0, np.int64))
        # What the tasks of a look took is in their own receipts.
        started += self._waited
        files: dict[str, str] = {}
        for path, values in (
            (self._folder / f"{segment}.npy", decision.order),
            (self._folder / f"{segment}.bounds.npy", decision.bounds),
            (self.keys_path(segment), decision.keys),
        ):
            if values is not None:
                publish_order(path, values)
                files[path.name] = _digest(values)
        rows_out = len(decision.order) if decision.bounds is None else max(len(decision.bounds) - 1, 0)
        is_edited = decision.keys is not None
        rows = len(OpenSource(made).dataset) if made.parts else 0
        decided = Decided(
            node_of(segment),
            place,
            files,
            # Where an edit follows, it counts the rows that remain.
            rows - rows_out if is_edited else rows,
            0 if is_edited else rows_out,
            time.perf_counter() - started,
            time.process_time() - cpu,
            dict(decision.counts),
            self._pairs(decision),
        )
        self._ledger.record(decided)
        return decided

    def _decision(self, segment: int, place: int, made: Source) -> Decision:
        recipe = self._recipe
        operator: Any = recipe.steps[place].operator
        if not isinstance(operator, Divided):
            return decide(operator, made, recipe.roles, Context(seed=recipe.options.seed))
        started = time.perf_counter()
        other = () if operator.other is None else self._run_other(segment, *operator.other)
        keys = keys_of(made.parts, other, self._memory)
        # What some of the tasks have found in an earlier run is of use for the same number of them.
        shares = self._ledger.partitions(node_of(segment))
        if shares is None:
            shares = operator.shares(keys)
            self._ledger.record(Partitions(node_of(segment), shares))
        phase = LookTask(operator, place, shares, other)
        files = self._run_phase(segment, phase, made)
        self._waited = time.perf_counter() - started
        return operator.decide(keys, [read_table(path) for path in files])

    def _pairs(self, decision: Decision) -> list[tuple[int, int]]:
        """The first duplicates and what they repeat, for people to look at."""
        if decision.originals is None:
            return []
        repeated = np.flatnonzero(decision.originals >= 0)[: self._recipe.options.trace]
        return [(int(at), int(decision.originals[at])) for at in repeated]


def node_of(segment: int) -> str:
    """The node that decides at the end of a segment."""
    return f"{segment}.decision"


def _digest(values: "npt.NDArray[Any]") -> str:
    data = np.ascontiguousarray(values)
    digest = sha256(repr((data.dtype.descr, data.shape)).encode())
    digest.update(data.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()[:32]


def publish_order(path: Path, positions: "npt.NDArray[Any]") -> None:
    """Write positions or keys to a file that is there whole or not at all."""
    with published(path) as file:
        np.save(file, positions)
