"""The global operators of a run: each decides once, and what it decided is kept for resume."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.exchange.chunks import Chunks, write_npy
from jinx_pipeline.global_ops.decide import decide
from jinx_pipeline.global_ops.signature_files import read_table
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.keyed import Decision, Keys, Partitioned
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.records import Decided, Partitions
from jinx_pipeline.runlog.run_log import START_OVER, RunLogError
from jinx_pipeline.runlog.work_dir import published

if TYPE_CHECKING:
    import numpy.typing as npt

_PAIR = ("later", "first")


@dataclass(frozen=True)
class Decisions:
    """What global operators decide, and what was decided in earlier runs.

    Attributes:
        recipe: With the operators.
        ledger: Where it is recorded that they are complete.
        memory: Bytes that a task may use; None: no limit.
    """

    recipe: Recipe
    ledger: Ledger
    memory: int | None

    @property
    def _folder(self) -> Path:
        return self.ledger.directory.decisions

    def settled(self, node: str, place: int, rows: int) -> Partitions:
        """Into how many partitions the tasks of a node write the keys of an operator.

        Args:
            node: The node whose tasks write the keys.
            place: Of the operator in the recipe.
            rows: That the node begins with.
        """
        settled = self.ledger.partitions(node)
        if settled is None:
            operator = self.recipe.steps[place].operator
            if isinstance(operator, Partitioned):
                # What some tasks have done in an earlier run is of use for the same numbers, whatever memory is now.
                most = operator.keys_at_once(self.memory)
                settled = Partitions(node, operator.partitions(rows, most), most)
                self.ledger.record(settled)
            else:
                settled = Partitions(node, 1, 0)
        return settled

    def after(self, node: str, place: int, made: Source, keys: Keys | None, looks: Sequence[Path]) -> Source:
        """The rows that remain, or groups of them.

        Args:
            node: The node that decides.
            place: Of the operator in the recipe.
            made: The rows that it looks at.
            keys: Those of a `Partitioned` operator; None: there are none.
            looks: What the looks at them have found.

        Raises:
            RunLogError: The files of an earlier decision are not what was decided.
        """
        decided = self.ledger.decided(node)
        if decided is None:
            decided = self._decide(node, place, made, keys, looks)
        else:
            self._verify(decided)
        order, bounds = self._folder / f"{node}.npy", self._folder / f"{node}.bounds.npy"
        return replace(made, order=str(order), bounds=str(bounds) if bounds.name in decided.files else None)

    def edits_path(self, node: str) -> Path:
        """Where a node that decides puts what an edit of each sample needs."""
        return self._folder / f"{node}.keys.npy"

    def _verify(self, decided: Decided) -> None:
        """Refuse files that are not those of a decision of an earlier process."""
        for name, digest in decided.files.items():
            path = self._folder / name
            if not path.exists() or _digest(np.load(path, mmap_mode="r")) != digest:
                raise RunLogError(f"{path} is not what was decided; {START_OVER}")

    def _decide(self, node: str, place: int, made: Source, keys: Keys | None, looks: Sequence[Path]) -> Decided:
        started, cpu = time.perf_counter(), time.process_time()
        decision = self._decision(place, made, keys, looks)
        files: dict[str, str] = {}
        rows_out = self._publish(f"{node}.npy", decision.order, files)
        if decision.bounds is not None:
            rows_out = max(self._publish(f"{node}.bounds.npy", decision.bounds, files) - 1, 0)
        is_edited = decision.keys is not None
        if isinstance(decision.keys, Chunks):
            self._publish(self.edits_path(node).name, decision.keys, files)
        elif decision.keys is not None:
            self._publish(self.edits_path(node).name, [decision.keys], files, decision.keys.dtype)
        rows = len(OpenSource(made))
        decided = Decided(
            node,
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
        self.ledger.record(decided)
        return decided

    def _decision(self, place: int, made: Source, keys: Keys | None, looks: Sequence[Path]) -> Decision:
        operator: Any = self.recipe.steps[place].operator
        if not made.part_paths():
            return Decision(Chunks(lambda: iter(())))
        if keys is not None:
            return operator.decide(keys, [read_table(path) for path in looks])
        return decide(operator, made, self.recipe.roles, Context(seed=self.recipe.options.seed))

    def _publish(
        self, name: str, chunks: "Iterable[npt.NDArray[Any]]", files: dict[str, str], dtype: Any = np.int64
    ) -> int:
        """Keep a part of a decision, and its digest in `files`; returns how many numbers it has."""
        path = self._folder / name
        count = publish_order(path, chunks, dtype)
        files[name] = _digest(np.load(path, mmap_mode="r"))
        return count

    def _pairs(self, decision: Decision) -> list[tuple[int, int]]:
        """The first duplicates and what they repeat, for people to look at."""
        most = self.recipe.options.trace
        heads = [table.slice(0, most) for table in decision.repeats]
        pairs = [pair for head in heads for pair in zip(*(head[name].to_pylist() for name in _PAIR), strict=True)]
        return sorted(pairs)[:most]


def _digest(values: "npt.NDArray[Any]") -> str:
    data = np.ascontiguousarray(values)
    digest = sha256(repr((data.dtype.descr, data.shape)).encode())
    digest.update(data.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()[:32]


def publish_order(path: Path, chunks: "Iterable[npt.NDArray[Any]]", dtype: Any = np.int64) -> int:
    """Write positions or keys to a file that is there whole or not at all; returns how many there are."""
    with published(path) as file:
        return write_npy(file, chunks, dtype)
