"""What workers write of an output, next to its place: the tasks for it, and what becomes of what they have written."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import jinx
from jinx._sizes import parse_size
from jinx_pipeline.plan.graph import Kind, PlanNode
from jinx_pipeline.plan.manifest import write_manifest
from jinx_pipeline.plan.source import Source
from jinx_pipeline.publish.pack_work import ExportWork, PackWork
from jinx_pipeline.publish.place import hidden_directory
from jinx_pipeline.publish.shards import assemble, can_rename, groups_of, is_assembled, link_dataset, place_of
from jinx_pipeline.recipe.model import Export
from jinx_pipeline.runlog.ledger import Ledger, Piece
from jinx_pipeline.runlog.records import Publishing
from jinx_pipeline.runlog.work_dir import published, remove_part
from jinx_pipeline.worker.work import Tasks

if TYPE_CHECKING:
    import numpy.typing as npt


class StagedOutput(ABC):
    """What one publication writes.

    Args:
        export: What and where.
        ledger: What is committed.
        writer: Keywords of `jinx.Writer`.
        base: The dataset whose rows the parts are; none where they hold rows of their own.
        rows: The node whose parts become the output.
        writers: The nodes that write it, by kind.
        begun: Which blocks.
    """

    def __init__(
        self,
        export: Export,
        ledger: Ledger,
        writer: Mapping[str, Any],
        *,
        base: tuple[str, ...],
        rows: PlanNode,
        writers: Mapping[Kind, PlanNode],
        begun: Publishing,
    ) -> None:
        self._export = export
        self._ledger = ledger
        self._writer = writer
        self._base = base
        self._rows = rows
        self._writers = writers
        self._begun = begun
        self._parts = ledger.directory.parts
        self._hidden = hidden_directory(export, ledger.directory.run)
        # Parts that are of no use once a task is committed.
        self._used: dict[tuple[Kind, int], list[Path]] = {}

    @abstractmethod
    def join_tasks(self) -> Tasks:
        """The tasks that put the parts of divided blocks together."""

    @abstractmethod
    def pack_tasks(self) -> Tasks:
        """The tasks that write the output; those of `join_tasks` are committed."""

    @abstractmethod
    def complete(self) -> Path | None:
        """Make one output of what the tasks have written; returns where it is until it has its name."""

    @abstractmethod
    def staged(self) -> Path | None:
        """Where it is, or was, until it has its name."""

    @abstractmethod
    def facts(self) -> tuple[int, int]:
        """Samples and bytes of the output, which has its name."""

    @abstractmethod
    def remove_parts(self) -> None:
        """Remove the parts whose samples are in the output, and which no later publication needs."""

    def committed(self, kind: Kind, block: int) -> None:
        """A task is committed for good: remove the parts that are of no use any more."""
        for path in self._used.pop((kind, block), ()):
            remove_part(path)

    @cached_property
    def _blocks(self) -> list[list[Piece]]:
        """The pieces of each block that has any."""
        numbers = range(self._begun.first_block, self._begun.end_block)
        blocks = ([piece for piece in self._ledger.pieces(self._rows.id, number) if piece.part] for number in numbers)
        return [pieces for pieces in blocks if pieces]

    def _path(self, piece: Piece) -> Path:
        return self._parts / str(piece.part)

    def _source(self, kind: Kind, parts: Sequence[tuple[Path, int]], base: tuple[str, ...] = ()) -> Source:
        """Parts with their rows, as a source of any number of them."""
        path = self._ledger.directory.decisions / f"{self._writers[kind].id}.parts.npy"
        with published(path) as file:
            write_manifest(file, path.parent, parts)
        return Source(base, manifest=str(path))

    def _written(self, kind: Kind, block: int) -> Piece | None:
        pieces = self._ledger.pieces(self._writers[kind].id, block)
        return pieces[0] if pieces else None


class StagedFile(StagedOutput):
    """One file, or another format than JINX: one task writes it."""

    def join_tasks(self) -> Tasks:
        """Nothing: the parts are read one after another."""
        return Tasks()

    def pack_tasks(self) -> Tasks:
        """The one task."""
        parts = [(self._path(piece), piece.rows_out) for block in self._blocks for piece in block]
        # Parts that are no views hold the samples themselves.
        base = self._base if not parts or parts[0][0].suffix == ".jinx" else ()
        self._hidden.mkdir(exist_ok=True)
        work = ExportWork(self._export, self._writer, f"{self._hidden}/")
        return Tasks(work, {0: 1}, self._source("pack", parts, base))

    def complete(self) -> Path | None:
        """Where it was written."""
        return self.staged()

    def staged(self) -> Path | None:
        """Where it was written."""
        piece = self._written("pack", 0)
        return None if piece is None else self._hidden / str(piece.part) / Path(self._export.path).name

    def facts(self) -> tuple[int, int]:
        """As the worker has reported them."""
        piece = self._written("pack", 0)
        return (0, 0) if piece is None else (piece.rows_out, piece.bytes_out)

    def remove_parts(self) -> None:
        """Keep the parts: they are written again with those of rows that the input may gain."""


class StagedDirectory(StagedOutput):
    """A directory of shards, or what is added to one."""

    def join_tasks(self) -> Tasks:
        """A task for each block that was divided.

        How a block was divided depends on what happened to its workers. The bytes of the joined part do not, nor does
        its size, from which the shards follow.
        """
        divided = [pieces for pieces in self._blocks if len(pieces) > 1]
        if not divided or is_assembled(self.staged()):
            return Tasks()
        parts = [[(self._path(piece), piece.rows_out) for piece in pieces] for pieces in divided]
        self._used |= {("join", number): [path for path, _ in group] for number, group in enumerate(parts)}
        work = PackWork(self._writer, _bounds([[rows for _, rows in group] for group in parts]))
        source = self._source("join", [part for group in parts for part in group])
        return Tasks(work, dict.fromkeys(range(len(parts)), 1), source)

    def pack_tasks(self) -> Tasks:
        """A task for each shard that is not a part as it is."""
        staged, parts, groups = self.staged(), self._joined, self._groups
        if is_assembled(staged):
            return Tasks()
        Path(self._prefix).mkdir(parents=True, exist_ok=True)
        if not groups and not self._begun.append:
            # A directory of no samples keeps what the inputs say of their columns.
            work = PackWork(self._writer, _bounds([[]]), self._prefix)
            return Tasks(work, {0: 1}, self._source("pack", [], self._base))
        are_renamed = can_rename(self._parts, self._hidden)
        count = len(groups) + self._begun.append
        packed = [
            number
            for number, group in enumerate(groups)
            if (len(group) > 1 or not are_renamed) and not place_of(staged, number + self._begun.append, count).exists()
        ]
        if not packed:
            return Tasks()
        self._used |= {("pack", number): [self._path(parts[at]) for at in groups[number]] for number in packed}
        work = PackWork(self._writer, _bounds([[parts[at].rows_out for at in group] for group in groups]), self._prefix)
        source = self._source("pack", [(self._path(part), part.rows_out) for part in parts])
        return Tasks(work, dict.fromkeys(packed, 1), source)

    def complete(self) -> Path:
        """Make one dataset of the shards."""
        staged, out = self.staged(), Path(self._export.path)
        if is_assembled(staged):
            assemble(staged, [])  # removes what an earlier process could not
            return staged
        written = [self._written("pack", number) for number in range(max(len(self._groups), 1))]
        places = [None if piece is None else Path(f"{self._prefix}{piece.part}") for piece in written]
        shards = [
            place or self._path(self._joined[group[0]]) for place, group in zip(places, self._groups, strict=False)
        ]
        if not shards:
            if not self._begun.append and places[0] is not None:
                places[0].rename(staged)
            return out if self._begun.append else staged
        if self._begun.append:
            before = place_of(staged, 0, len(shards) + 1)
            if not before.exists():
                link_dataset(out, before)
            shards = [before, *shards]
        assemble(staged, shards)
        return staged

    def staged(self) -> Path:
        """Where the shards become one dataset."""
        return self._hidden / "whole"

    def facts(self) -> tuple[int, int]:
        """As the manifest of the directory says."""
        info = jinx.open(self._export.path).info()
        return info.samples, info.bytes + info.sidecar_bytes

    def remove_parts(self) -> None:
        """Remove the parts whose samples are in shards; a process that ended may have left some."""
        for pieces in self._blocks:
            for piece in pieces:
                remove_part(self._path(piece))

    @property
    def _prefix(self) -> str:
        return f"{self._hidden}/shards/"

    @cached_property
    def _joined(self) -> list[Piece]:
        """The part of each block."""
        divided = [pieces for pieces in self._blocks if len(pieces) > 1]
        joined = (self._written("join", number) for number in range(len(divided)))
        parts = [pieces[0] if len(pieces) == 1 else next(joined) for pieces in self._blocks]
        return [part for part in parts if part is not None]

    @cached_property
    def _groups(self) -> list[range]:
        """Which of them become one shard."""
        size = self._export.shard_size
        sizes = [part.bytes_out for part in self._joined]
        return list(groups_of(sizes, None if size is None else parse_size(size)))


def _bounds(groups: Sequence[Sequence[int]]) -> "npt.NDArray[np.int64]":
    """The first row of each group, from the rows of its parts, and the number of all rows."""
    return np.cumsum([0, *(sum(rows) for rows in groups)], dtype=np.int64)
