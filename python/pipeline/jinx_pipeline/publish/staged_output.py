"""An output that workers write next to its final path: the tasks for it, and the assembly of their results."""

import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import jinx
from jinx._sizes import parse_size
from jinx_pipeline.model.receipt import PortPart
from jinx_pipeline.plan.graph import Kind, PlanNode
from jinx_pipeline.plan.manifest import write_manifest
from jinx_pipeline.plan.source import Source
from jinx_pipeline.publish.identity import Identity, identity_of
from jinx_pipeline.publish.pack_work import ExportWork, PackWork
from jinx_pipeline.publish.place import hidden_directory, put_in_place
from jinx_pipeline.publish.shards import assemble, can_rename, groups_of, is_assembled, link_dataset, place_of
from jinx_pipeline.recipe.export import Export
from jinx_pipeline.runlog.ledger import Ledger, Piece
from jinx_pipeline.runlog.records import Publishing
from jinx_pipeline.runlog.work_dir import published, remove_part, remove_parts
from jinx_pipeline.worker.work import Tasks

if TYPE_CHECKING:
    import numpy.typing as npt


class LostOutputError(RuntimeError):
    """Raised if the output is gone or replaced, and the parts from which it was made are gone too."""


class StagedOutput(ABC):
    """The output of one publication.

    Args:
        export: The kind and path of the output.
        ledger: The committed work.
        writer: Keywords of `jinx.Writer`.
        base: The dataset whose rows the parts show; empty if the parts hold the rows themselves.
        rows: The node whose parts become the output.
        writers: The nodes that write the output, by kind.
        begun: The record that begins the publication, with its blocks.
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
        # The parts that can be removed once a task is committed.
        self._used: dict[tuple[Kind, int], list[Path]] = {}

    # Whether tasks write the output directly at its final path, where an earlier process may have left some of it.
    may_be_partly_there = False

    @abstractmethod
    def join_tasks(self) -> Tasks:
        """The tasks that combine the parts of divided blocks."""

    @abstractmethod
    def pack_tasks(self) -> Tasks:
        """The tasks that write the output, after those of `join_tasks`."""

    @abstractmethod
    def built(self) -> Identity | None:
        """Make one output from the results of the tasks; returns its identity, or None if it is gone."""

    @abstractmethod
    def put_in_place(self, *, replaces: bool) -> None:
        """Move the complete output to its path.

        Args:
            replaces: Whether an existing output may be replaced.

        Raises:
            FileExistsError: Another output has appeared there.
            LostOutputError: The complete output is gone.
        """

    @abstractmethod
    def facts(self) -> tuple[int, int]:
        """Samples and bytes of the output, which is at its final path."""

    @abstractmethod
    def remove_parts(self) -> None:
        """Remove the parts whose samples are in the output and that no later publication needs."""

    def may_begin_again(self) -> bool:
        """Whether the results of the tasks still exist, so that the output can be made from them again."""
        return True

    def begin_again(self) -> None:  # noqa: B027 - only outputs that are made in steps need this
        """Remove what was made for an output that has changed since; the results of the tasks stay."""

    def committed(self, kind: Kind, block: int) -> None:
        """Remove the parts that are no longer needed once a task is committed."""
        for path in self._used.pop((kind, block), ()):
            remove_part(path)

    @cached_property
    def _lanes(self) -> list[list[PortPart]]:
        """The parts of each lane of each block, without lanes that have none."""
        blocks = range(self._begun.first_block, self._begun.end_block)
        return [parts for block in blocks for parts in self._ledger.lanes(self._rows.id, block) if parts]

    def _path(self, part: PortPart) -> Path:
        return self._parts / str(part.part)

    def _listed(self, parts: Sequence[PortPart]) -> list[tuple[Path, int]]:
        """The path of each part, and its number of rows."""
        return [(self._path(part), part.rows) for part in parts]

    def _source(self, kind: Kind, parts: Sequence[tuple[Path, int]], base: tuple[str, ...] = ()) -> Source:
        """A source that consists of parts with the given numbers of rows."""
        path = self._ledger.directory.decisions / f"{self._writers[kind].id}.parts.npy"
        # Each process that needs it writes it again.
        with published(path, syncs=False) as file:
            write_manifest(file, path.parent, parts)
        return Source(base, manifest=str(path))

    def _written(self, kind: Kind, block: int) -> Piece | None:
        pieces = self._ledger.pieces(self._writers[kind].id, block)
        return pieces[0] if pieces else None


class LocalOutput(StagedOutput):
    """An output on a file system; it is completed next to its final path before it is moved there."""

    @abstractmethod
    def complete(self) -> Path | None:
        """Make one output from the results of the tasks; returns its temporary path."""

    @abstractmethod
    def staged(self) -> Path | None:
        """The temporary path of the output."""

    def built(self) -> Identity | None:
        """See `StagedOutput.built`."""
        path = self.complete()
        return None if path is None else identity_of(replace(self._export, path=str(path)))

    def put_in_place(self, *, replaces: bool) -> None:
        """See `StagedOutput.put_in_place`."""
        staged = self.staged()
        if staged is None or not staged.exists():
            out = self._export.path
            raise LostOutputError(f"{out} was written, and is gone or has been replaced, with its parts")
        put_in_place(self._export, staged, replaces=replaces)

    @cached_property
    def _hidden(self) -> Path:
        return hidden_directory(self._export, self._ledger.directory.run)


class StagedFile(LocalOutput):
    """An output that is a single file or not JINX, written by one task."""

    def join_tasks(self) -> Tasks:
        """Return no tasks: the parts are read one after another."""
        return Tasks()

    def pack_tasks(self) -> Tasks:
        """The task that writes the output."""
        parts = self._listed([part for lane in self._lanes for part in lane])
        # Parts that are not views contain the samples themselves.
        base = self._base if not parts or parts[0][0].suffix == ".jinx" else ()
        self._hidden.mkdir(exist_ok=True)
        work = ExportWork(self._export, self._writer, f"{self._hidden}/")
        return Tasks(work, {0: 1}, self._source("pack", parts, base))

    def complete(self) -> Path | None:
        """The temporary path of the output, which is already complete."""
        return self.staged()

    def staged(self) -> Path | None:
        """The path to which the task wrote."""
        piece = self._written("pack", 0)
        return None if piece is None else self._hidden / str(piece.part) / Path(self._export.path).name

    def facts(self) -> tuple[int, int]:
        """Samples and bytes, as the worker reported them."""
        piece = self._written("pack", 0)
        return (0, 0) if piece is None else (piece.rows_out, piece.bytes_out)

    def remove_parts(self) -> None:
        """Keep the parts: if the input grows, the output is written again from them."""


class DirectoryOutput(StagedOutput):
    """A directory of shards, or shards that are appended to one."""

    def join_tasks(self) -> Tasks:
        """A task for each lane of a block that was divided.

        How a block was divided depends on failures of workers. The bytes of the joined part do not, and neither does
        its size, which determines the shards.
        """
        divided = [self._listed(parts) for parts in self._lanes if len(parts) > 1]
        if not divided or self._is_complete():
            return Tasks()
        self._used |= {("join", number): [path for path, _ in group] for number, group in enumerate(divided)}
        work = PackWork(self._writer, bounds_of([[rows for _, rows in group] for group in divided]))
        source = self._source("join", [part for group in divided for part in group])
        return Tasks(work, dict.fromkeys(range(len(divided)), 1), source)

    @abstractmethod
    def _is_complete(self) -> bool:
        """Whether an earlier process has made the output from all shards."""

    @cached_property
    def _joined(self) -> list[PortPart]:
        """The part of each lane of each block."""
        divided = [parts for parts in self._lanes if len(parts) > 1]
        written = (self._written("join", number) for number in range(len(divided)))
        joined = (None if piece is None else piece.outputs("out")[0] for piece in written)
        parts = [parts[0] if len(parts) == 1 else next(joined) for parts in self._lanes]
        return [part for part in parts if part is not None]

    @cached_property
    def _groups(self) -> list[range]:
        """The indices of the parts that become one shard, for each shard."""
        size = self._export.shard_size
        sizes = [part.bytes for part in self._joined]
        return list(groups_of(sizes, None if size is None else parse_size(size)))

    def remove_parts(self) -> None:
        """Remove the parts whose samples are in shards, including leftovers of earlier processes."""
        remove_parts([self._path(part) for parts in self._lanes for part in parts])


class StagedDirectory(DirectoryOutput, LocalOutput):
    """A directory of shards on a file system: a part that is large enough becomes a shard by a rename."""

    def _is_complete(self) -> bool:
        return is_assembled(self.staged())

    def pack_tasks(self) -> Tasks:
        """A task for each shard that is not simply a renamed part."""
        staged, parts, groups = self.staged(), self._joined, self._groups
        if is_assembled(staged):
            return Tasks()
        Path(self._prefix).mkdir(parents=True, exist_ok=True)
        if not groups and not self._begun.append:
            # A directory without samples keeps the column descriptions of the inputs.
            work = PackWork(self._writer, bounds_of([[]]), self._prefix)
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
        self._used |= {("pack", number): [self._path(parts[index]) for index in groups[number]] for number in packed}
        rows = [[parts[index].rows for index in group] for group in groups]
        work = PackWork(self._writer, bounds_of(rows), self._prefix)
        source = self._source("pack", self._listed(parts))
        return Tasks(work, dict.fromkeys(packed, 1), source)

    def complete(self) -> Path:
        """Make one dataset from the shards."""
        staged, out = self.staged(), Path(self._export.path)
        if is_assembled(staged):
            assemble(staged, [])  # remove leftovers of an earlier process
            return staged
        places, shards = self._places, self._shards
        if not shards:
            if not self._begun.append and places[0] is not None:
                places[0].rename(staged)
            return out if self._begun.append else staged
        if self._begun.append:
            shards = [out, *shards]
        for number, shard in enumerate(shards):
            place = place_of(staged, number, len(shards))
            # If other runs may change the output meanwhile, link our own shards instead of moving them.
            if not place.exists() and (shard == out or self._export.append):
                link_dataset(shard, place)
        assemble(staged, shards)
        return staged

    @property
    def _places(self) -> list[Path | None]:
        """Where tasks have written each shard; None for a part that becomes a shard unchanged."""
        written = [self._written("pack", number) for number in range(max(len(self._groups), 1))]
        return [None if piece is None else Path(f"{self._prefix}{piece.part}") for piece in written]

    @property
    def _shards(self) -> list[Path]:
        """The shards of this run."""
        groups = zip(self._places, self._groups, strict=False)
        return [place or self._path(self._joined[group[0]]) for place, group in groups]

    def may_begin_again(self) -> bool:
        """See `StagedOutput.may_begin_again`."""
        return not self.staged().exists() or all(shard.exists() for shard in self._shards)

    def begin_again(self) -> None:
        """See `StagedOutput.begin_again`."""
        shutil.rmtree(self.staged(), ignore_errors=True)

    def staged(self) -> Path:
        """The directory where the shards become one dataset."""
        return self._hidden / "whole"

    def facts(self) -> tuple[int, int]:
        """Samples and bytes, from the manifest of the directory."""
        info = jinx.open(self._export.path).info()
        return info.samples, info.bytes + info.sidecar_bytes

    @property
    def _prefix(self) -> str:
        return f"{self._hidden}/shards/"


def bounds_of(groups: Sequence[Sequence[int]]) -> "npt.NDArray[np.int64]":
    """The first row of each group, and the total number of rows, given the rows of the parts of each group."""
    return np.cumsum([0, *(sum(rows) for rows in groups)], dtype=np.int64)
