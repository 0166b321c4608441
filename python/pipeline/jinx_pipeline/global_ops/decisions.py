"""The decisions of the global operators of a run: each is made once, and kept for resume."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.annotation.wait import People
from jinx_pipeline.exchange.chunks import Chunks, chunk_bounds, write_npy
from jinx_pipeline.global_ops.decide import decide
from jinx_pipeline.global_ops.signature_files import read_table
from jinx_pipeline.operators.api.annotation import Annotation
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.keyed import Decision, Keys, Partitioned
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.records import Decided, Partitions
from jinx_pipeline.runlog.run_log import START_OVER, RunLogError
from jinx_pipeline.runlog.work_dir import published
from jinx_pipeline.store.mirror import fetched, shown

if TYPE_CHECKING:
    import numpy.typing as npt

_PAIR = ("later", "first")
# The suffixes of a decision's files, whose names are the name of its node.
_ORDER, _BOUNDS, _KEYS = "npy", "bounds.npy", "keys.npy"


@dataclass(frozen=True)
class Decisions:
    """Makes the decisions of global operators, or loads the decisions of an earlier process.

    Attributes:
        recipe: The recipe with the operators.
        ledger: Records the decisions.
        memory: Bytes that a task may use; None for no limit.
        people: Where people answer.
        discard_after: Drops the work after a node, whose decision is no longer the earlier one with rows added.
    """

    recipe: Recipe
    ledger: Ledger
    memory: int | None
    people: People
    discard_after: Callable[[str], None]

    @property
    def _folder(self) -> Path:
        return self.ledger.directory.decisions

    def settled(self, node: str, place: int, rows: int) -> Partitions:
        """The partitions of the keys of an operator, which are chosen and recorded in the first call.

        Args:
            node: The node whose tasks write the keys.
            place: The place of the operator in the recipe.
            rows: The rows that the node begins with.
        """
        settled = self.ledger.partitions(node)
        if settled is None:
            operator = self.recipe.steps[place].operator
            if isinstance(operator, Partitioned):
                # Record the number, because finished tasks of an earlier process used it, even if the available memory
                # is different now.
                max_keys = operator.keys_at_once(self.memory)
                settled = Partitions(node, operator.partitions(rows, max_keys), max_keys)
                self.ledger.record(settled)
            else:
                settled = Partitions(node, 1, 0)
        return settled

    def after(
        self, node: str, place: int, rows: Source, keys: Keys | None, looks: Sequence[Path]
    ) -> tuple[Source, list[int]]:
        """The rows, or groups of rows, after a decision; and the decision's `ends`.

        Args:
            node: The node that decides.
            place: The place of the operator in the recipe.
            rows: The rows before the decision.
            keys: The keys of a `Partitioned` operator; None if there are none.
            looks: The results of the tasks over the keys.

        Raises:
            RunLogError: The files of an earlier decision have changed.
        """
        decided = self.ledger.decided(node)
        if decided is None:
            decided = self._decide(node, place, rows, keys, looks)
        else:
            self._verify(decided)
        order, bounds = (self.ledger.decision_path(node, ending) for ending in (_ORDER, _BOUNDS))
        has_groups = bounds.name in decided.files
        return replace(rows, order=str(order), bounds=str(bounds) if has_groups else None), decided.ends

    def edits_path(self, node: str) -> Path:
        """The file in which a decision stores the data for its edits of samples."""
        return self.ledger.decision_path(node, _KEYS)

    def _verify(self, decided: Decided) -> None:
        """Refuse files that differ from the recorded decision of an earlier process."""
        for name, digest in decided.files.items():
            path = self._folder / name
            try:
                is_same = _digest(np.load(fetched(path), mmap_mode="r")) == digest
            except FileNotFoundError:
                is_same = False
            if not is_same:
                raise RunLogError(f"{shown(path)} has changed since the decision was made; {START_OVER}")

    def _decide(self, node: str, place: int, source: Source, keys: Keys | None, looks: Sequence[Path]) -> Decided:
        started, cpu = time.perf_counter(), time.process_time()
        decision = self._decision(node, place, source, keys, looks)
        files: dict[str, str] = {}
        length = rows_out = self._publish(node, _ORDER, decision.order, files)
        if decision.bounds is not None:
            rows_out = max(self._publish(node, _BOUNDS, decision.bounds, files) - 1, 0)
        is_edited = decision.keys is not None
        if isinstance(decision.keys, Chunks):
            self._publish(node, _KEYS, decision.keys, files)
        elif decision.keys is not None:
            self._publish(node, _KEYS, [decision.keys], files, decision.keys.dtype)
        opened = OpenSource(source)
        rows = len(opened)
        ends = self._ends(node, length, files)
        decided = Decided(
            node,
            place,
            files,
            # If an operator edits samples after the decision, that operator counts the remaining rows.
            rows - rows_out if is_edited else rows,
            0 if is_edited else rows_out,
            time.perf_counter() - started,
            time.process_time() - cpu,
            dict(decision.counts),
            self._pairs(decision, opened),
            len(self.ledger.grown),
            ends,
        )
        before = self.ledger.decided_before(node)
        self.ledger.record(decided)
        for name in () if before is None else before.files:
            self._remove(name)
        return decided

    def _ends(self, node: str, length: int, files: Mapping[str, str]) -> list[int]:
        """The `ends` of a decision; the work after an earlier decision is dropped, unless this one only adds to it.

        Args:
            node: The node that decides.
            length: The number of positions of the decision.
            files: The digest of each of its files, by name.
        """
        before = self.ledger.decided_before(node)
        if before is None:
            return [length]
        if self._adds_to(before, files):
            return before.ends if before.ends[-1:] == [length] else [*before.ends, length]
        self.discard_after(node)
        return [length]

    def _adds_to(self, before: Decided, files: Mapping[str, str]) -> bool:
        """Whether a decision is an earlier one with positions added at its end; new samples then only add samples."""
        old, new = (_by_ending(names) for names in (before.files, files))
        if _BOUNDS in old or _BOUNDS in new or old.get(_KEYS) != new.get(_KEYS):
            return False
        try:
            earlier = np.load(fetched(self._folder / _named(before.files, _ORDER)), mmap_mode="r")
        except FileNotFoundError:
            return False
        if _digest(earlier) != old[_ORDER]:
            return False
        order = np.load(fetched(self.ledger.decision_path(before.node, _ORDER)), mmap_mode="r")
        return len(earlier) <= len(order) and all(
            np.array_equal(earlier[first:stop], order[first:stop]) for first, stop in chunk_bounds(len(earlier))
        )

    def _remove(self, name: str) -> None:
        """Remove a file of an earlier decision, which no node reads any more."""
        directory = self.ledger.directory
        directory.store.delete(f"{self._folder.relative_to(directory.path)}/{name}")

    def _decision(self, node: str, place: int, source: Source, keys: Keys | None, looks: Sequence[Path]) -> Decision:
        operator: Any = self.recipe.steps[place].operator
        if not source.part_paths():
            return Decision(Chunks(lambda: iter(())))
        if isinstance(operator, Annotation):
            return self.people.decide(operator, OpenSource(source), node)
        if keys is not None:
            return operator.decide(keys, [read_table(path) for path in looks])
        return decide(operator, source, self.recipe.roles, Context(seed=self.recipe.options.seed))

    def _publish(
        self,
        node: str,
        ending: str,
        chunks: "Iterable[npt.NDArray[Any]]",
        files: dict[str, str],
        dtype: Any = np.int64,
    ) -> int:
        """Write a file of a decision, and add its digest to `files`; returns the number of values."""
        path = self.ledger.decision_path(node, ending)
        count = publish_order(path, chunks, dtype)
        files[path.name] = _digest(np.load(path, mmap_mode="r"))
        return count

    def _pairs(self, decision: Decision, source: OpenSource) -> list[tuple[str, str]]:
        """The ids of the first duplicates and of the rows that they repeat, as examples."""
        limit = self.recipe.options.trace
        heads = [table.slice(0, limit) for table in decision.repeats]
        pairs = [pair for head in heads for pair in zip(*(head[name].to_pylist() for name in _PAIR), strict=True)]
        return [(_id_of(source, row), _id_of(source, repeated)) for row, repeated in sorted(pairs)[:limit]]


def _id_of(source: OpenSource, row: int) -> str:
    """The id of a row as other examples show it: not its number, if earlier operators have dropped rows."""
    if source.bounds is not None:
        return str(row)
    part = source.slice(row, 1)
    return part.ids(part.positions(row, 1))[0]


def _by_ending(files: Mapping[str, str]) -> dict[str, str]:
    """The digests of a decision's files, by the suffixes of their names."""
    return {name.partition(".")[2]: digest for name, digest in files.items()}


def _named(files: Mapping[str, str], ending: str) -> str:
    """The name of a decision's file with this suffix."""
    return next(name for name in files if name.partition(".")[2] == ending)


def _digest(values: "npt.NDArray[Any]") -> str:
    data = np.ascontiguousarray(values)
    digest = sha256(repr((data.dtype.descr, data.shape)).encode())
    digest.update(data.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()[:32]


def publish_order(path: Path, chunks: "Iterable[npt.NDArray[Any]]", dtype: Any = np.int64) -> int:
    """Write positions or keys to a file atomically; returns how many there are."""
    with published(path) as file:
        return write_npy(file, chunks, dtype)
