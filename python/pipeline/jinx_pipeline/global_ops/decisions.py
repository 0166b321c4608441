"""The global operators of a run: each decides once, and what it decided is kept for resume."""

import time
from collections.abc import Callable
from dataclasses import replace
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
from jinx_pipeline.runlog.work_dir import WorkDir, published

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
        work_dir: Where decisions are kept.
        ledger: Where it is noted that they are complete.
        run_look: How the tasks of a look at all keys are run.
        run_other: How the keys of another dataset are computed.
        memory: Bytes that a task may use; None: no limit.
    """

    def __init__(
        self,
        recipe: Recipe,
        work_dir: WorkDir,
        ledger: Ledger,
        run_look: RunLook,
        run_other: RunOther,
        *,
        memory: int | None,
    ) -> None:
        self._recipe = recipe
        self._folder = work_dir.globals
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
        known = self._ledger.noted(f"decided {segment}")
        if known is None:
            known = self._decide(segment, place, made)
        order, bounds = self._folder / f"{segment}.npy", self._folder / f"{segment}.bounds.npy"
        return replace(made, order=str(order), bounds=str(bounds) if known["groups"] else None)

    def keys_path(self, segment: int) -> Path:
        """Where the operator at the end of a segment puts what its edit of the next one needs."""
        return self._folder / f"{segment}.keys.npy"

    def _decide(self, segment: int, place: int, made: Source) -> dict[str, Any]:
        self._waited = 0.0
        started, cpu = time.perf_counter(), time.process_time()
        decision = self._decision(segment, place, made) if made.part_paths() else Decision(np.empty(0, np.int64))
        # What the tasks of a look took is in their own receipts.
        started += self._waited
        publish_order(self._folder / f"{segment}.npy", decision.order)
        if decision.bounds is not None:
            publish_order(self._folder / f"{segment}.bounds.npy", decision.bounds)
        if decision.keys is not None:
            publish_order(self.keys_path(segment), decision.keys)
        rows_out = len(decision.order) if decision.bounds is None else max(len(decision.bounds) - 1, 0)
        is_edited = decision.keys is not None
        rows = len(OpenSource(made))
        known = {
            # Where an edit follows, it counts the rows that remain.
            "rows_in": rows - rows_out if is_edited else rows,
            "rows_out": 0 if is_edited else rows_out,
            "seconds": time.perf_counter() - started,
            "cpu_seconds": time.process_time() - cpu,
            "place": place,
            "groups": decision.bounds is not None,
            "pairs": self._pairs(decision),
            "counts": dict(decision.counts),
        }
        self._ledger.note(f"decided {segment}", **known)
        return known

    def _decision(self, segment: int, place: int, made: Source) -> Decision:
        recipe = self._recipe
        operator: Any = recipe.steps[place].operator
        if not isinstance(operator, Divided):
            return decide(operator, made, recipe.roles, Context(seed=recipe.options.seed))
        started = time.perf_counter()
        other = () if operator.other is None else self._run_other(segment, *operator.other)
        keys = keys_of(made.part_paths(), other, self._memory)
        name = f"shares {segment}"
        # What some of the tasks have found in an earlier run is of use for the same number of them.
        if self._ledger.noted(name) is None:
            self._ledger.note(name, shares=operator.shares(keys))
        shares = (self._ledger.noted(name) or {})["shares"]
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


def publish_order(path: Path, positions: "npt.NDArray[Any]") -> None:
    """Write positions or keys to a file that is there whole or not at all."""
    with published(path) as file:
        np.save(file, positions)
