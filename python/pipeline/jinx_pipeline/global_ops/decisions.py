"""The global operators of a run: each decides once, and what it decided is kept for resume."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.exchange.chunks import Chunks, write_npy
from jinx_pipeline.exchange.division import divide
from jinx_pipeline.exchange.key_file import KeyFiles
from jinx_pipeline.global_ops.decide import decide
from jinx_pipeline.global_ops.key_work import KeyWork, LookWork, MergeKeysWork
from jinx_pipeline.global_ops.signature_files import read_table
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.key_exchange import edges_of
from jinx_pipeline.operators.api.keyed import Decision, Exchanged, Keys, Partitioned
from jinx_pipeline.plan.source import OpenSource, Source
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.records import Decided, Partitions
from jinx_pipeline.runlog.run_directory import RunDirectory
from jinx_pipeline.runlog.run_log import START_OVER, RunLogError
from jinx_pipeline.runlog.work_dir import published, signatures_path

if TYPE_CHECKING:
    import numpy.typing as npt

RunKeyWork = Callable[[str, KeyWork], list[Path]]
"""Runs tasks over keys on the engine, under a name; returns their files."""

RunOther = Callable[[int, str, Exchanged, int], tuple[str, ...]]
"""Computes the keys of another dataset on the engine, in so many partitions; returns parts, next to which they are."""

_PAIR = ("later", "first")


class Decisions:
    """Decides at the ends of segments.

    Args:
        recipe: With the operators.
        directory: Of the run, where decisions are kept.
        ledger: Where it is recorded that they are complete.
        run_key_work: How tasks over keys are run.
        run_other: How the keys of another dataset are computed.
        memory: Bytes that a task may use; None: no limit.
    """

    def __init__(
        self,
        recipe: Recipe,
        directory: RunDirectory,
        ledger: Ledger,
        run_key_work: RunKeyWork,
        run_other: RunOther,
        *,
        memory: int | None,
    ) -> None:
        self._recipe = recipe
        self._folder = directory.decisions
        self._ledger = ledger
        self._run_key_work, self._run_other = run_key_work, run_other
        self._memory = memory
        self._waited = 0.0

    def partitions(self, segment: int, place: int, rows: int) -> int:
        """Into how many partitions the tasks of a segment write the keys of the operator at its end.

        Args:
            segment: Which one.
            place: Of the operator in the recipe.
            rows: That the segment begins with.
        """
        operator = self._recipe.steps[place].operator
        if not isinstance(operator, Partitioned):
            return 1
        settled = self._ledger.partitions(node_of(segment))
        if settled is None:
            # What some of the tasks have done in an earlier run is of use for the same numbers, whatever memory is now.
            most = operator.keys_at_once(self._memory)
            settled = Partitions(node_of(segment), operator.partitions(rows, most), most)
            self._ledger.record(settled)
        return settled.count

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
        decision = self._decision(segment, place, made) if made.part_paths() else Decision(Chunks(lambda: iter(())))
        # What the tasks over keys took is in their own receipts.
        started += self._waited
        files: dict[str, str] = {}
        rows_out = self._publish(f"{segment}.npy", decision.order, files)
        if decision.bounds is not None:
            rows_out = max(self._publish(f"{segment}.bounds.npy", decision.bounds, files) - 1, 0)
        is_edited = decision.keys is not None
        if isinstance(decision.keys, Chunks):
            self._publish(self.keys_path(segment).name, decision.keys, files)
        elif decision.keys is not None:
            self._publish(self.keys_path(segment).name, [decision.keys], files, decision.keys.dtype)
        rows = len(OpenSource(made))
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
        if not isinstance(operator, Partitioned):
            return decide(operator, made, recipe.roles, Context(seed=recipe.options.seed))
        started = time.perf_counter()
        keys = self._keys(segment, place, operator, made)
        files = self._run_key_work(f"{segment}.look", LookWork(operator, place, keys))
        self._waited = time.perf_counter() - started
        return operator.decide(keys, [read_table(path) for path in files])

    def _keys(self, segment: int, place: int, operator: Partitioned, made: Source) -> Keys:
        """The keys that tasks wrote next to their parts; they are merged where that is better."""
        settled = self._ledger.partitions(node_of(segment))
        if settled is None:
            raise RunLogError(f"the log does not say how the keys of {operator.name} are divided; {START_OVER}")
        partitions, most = settled.count, settled.keys_at_once
        path, of_other = operator.other or ("", operator)
        parts = self._run_other(segment, path, of_other, partitions) if operator.other is not None else ()
        mine = made.part_paths()
        files, other = key_files(mine), key_files(parts)
        # Temporary files go where the parts are.
        folder = str(Path(mine[0]).parent)
        division = divide(files, other, kinds=operator.kinds, partitions=partitions, most=most)
        if not division.runs:
            return Keys(files, division, folder, other)
        edges = edges_of(operator, files, division)
        merge = MergeKeysWork(operator, place, files, division, division.runs, edges)
        merged = self._run_key_work(f"{segment}.merge", merge)
        merged_other: list[Path] = []
        if len(other):
            merge = MergeKeysWork(of_other, place, other, division, division.other_runs, edges)
            merged_other = self._run_key_work(f"{segment}.merge-other", merge)
        return Keys(KeyFiles(merged), division, folder, KeyFiles(merged_other))

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
        most = self._recipe.options.trace
        heads = [table.slice(0, most) for table in decision.repeats]
        pairs = [pair for head in heads for pair in zip(*(head[name].to_pylist() for name in _PAIR), strict=True)]
        return sorted(pairs)[:most]


def key_files(parts: Sequence[str]) -> KeyFiles:
    """The keys that tasks wrote next to their parts."""
    return KeyFiles([signatures_path(Path(part)) for part in parts])


def node_of(segment: int) -> str:
    """The node that decides at the end of a segment."""
    return f"{segment}.decision"


def _digest(values: "npt.NDArray[Any]") -> str:
    data = np.ascontiguousarray(values)
    digest = sha256(repr((data.dtype.descr, data.shape)).encode())
    digest.update(data.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()[:32]


def publish_order(path: Path, chunks: "Iterable[npt.NDArray[Any]]", dtype: Any = np.int64) -> int:
    """Write positions or keys to a file that is there whole or not at all; returns how many there are."""
    with published(path) as file:
        return write_npy(file, chunks, dtype)
