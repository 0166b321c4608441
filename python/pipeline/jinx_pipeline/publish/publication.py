"""The output of a run: written by workers from its parts, and recognised again by what the run log says of it.

Three records tell how far it is: `Publishing`, before anything is written; `Built`, when the output is complete next to
its place; and `Published`. Each carries the generation of the publication, since an output that grows, or was removed,
is published more than once. What workers have written is committed as the output of any task, to nodes of the
generation. This process gives files their names and writes the manifest of a directory; it reads no sample.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import jinx
from jinx import _core
from jinx._sizes import parse_size
from jinx_pipeline.plan.manifest import write_manifest
from jinx_pipeline.plan.source import Source
from jinx_pipeline.publish.identity import identity_of
from jinx_pipeline.publish.pack_work import ExportWork, PackWork, RunWork
from jinx_pipeline.publish.place import hidden_directory, put_in_place, remove_hidden
from jinx_pipeline.publish.shards import assemble, can_rename, groups_of, is_assembled, link_dataset, place_of
from jinx_pipeline.recipe.model import Export
from jinx_pipeline.runlog.ledger import Ledger, Piece
from jinx_pipeline.runlog.records import Built, Published, Publishing
from jinx_pipeline.runlog.work_dir import published, remove_part

_ADVICE = "choose another name, or replace it with overwrite=True (--overwrite)"


class LostOutputError(RuntimeError):
    """The output is gone, or replaced, and the parts that it was made of are gone, too."""


@dataclass(frozen=True)
class Publication:
    """Publishes the output of a run, and resumes where an earlier process ended.

    Attributes:
        export: What and where.
        ledger: What is committed and recorded.
        writer: Keywords of `jinx.Writer`.
        base: The dataset whose rows the parts are; none where they hold rows of their own.
        node: The node whose parts become the output.
    """

    export: Export
    ledger: Ledger
    writer: Mapping[str, Any]
    base: tuple[str, ...]
    node: str

    @property
    def is_pending(self) -> bool:
        """Whether an earlier process has begun it and not recorded its end."""
        return self._pending() is not None

    def published(self) -> Published | None:
        """What was recorded of the output, if that is what lies in its place; None: it is to be made.

        Raises:
            FileExistsError: Another output lies there, and it is not to be replaced.
            LostOutputError: It is gone or to be replaced, and so are the parts that it was made of.
        """
        recorded = self.ledger.published
        if recorded is None:
            return None
        present = identity_of(self.export)
        if present == recorded.output:
            return recorded
        if present is not None and not self.export.overwrite:
            raise FileExistsError(f"{self.export.path} is not the output that this run has written; {_ADVICE}")
        if self.ledger.has_lost_parts(self.node, range(recorded.end_block)):
            what = "is gone" if present is None else "has been replaced"
            raise LostOutputError(f"{self.export.path} was written, and {what}, with its parts")
        return None

    def publish(self, first: int, end: int, rows: int, run_work: RunWork) -> Published:
        """Make the output of blocks, or add them to what it holds; a publication that was begun is finished instead.

        Args:
            first: The first block that is not in the output.
            end: The one after the last block.
            rows: Rows of the input that are then in the output or left out.
            run_work: Runs works on the engine.

        Raises:
            FileExistsError: Somebody else has put another output there meanwhile.
            LostOutputError: The output that was made is gone.
        """
        begun = self._pending()
        if begun is None:
            before = self.ledger.published
            generation = 0 if before is None else before.generation + 1
            # Only this, and nothing that appears meanwhile, is replaced without being asked to.
            replaces = None if before is None else identity_of(self.export)
            begun = Publishing(generation, first, end, rows, before is not None and first > 0, replaces)
            self.ledger.record(begun)
        kind = _Directory if self._is_directory else _OneTask
        output = kind(self, begun, run_work)
        built = self.ledger.built
        if built is None or built.generation != begun.generation:
            self._refuse_other_output(begun)
            staged = identity_of(replace(self.export, path=str(output.written())))
            if staged is None:
                raise LostOutputError(f"{self.export.path} was written, and is gone before it has its name")
            built = Built(begun.generation, staged)
            self.ledger.record(built)
        self._put_in_place(begun, built, output.staged())
        # Before it is recorded: nobody looks for what is left once it is.
        output.remove_parts()
        remove_hidden(self.export, self.ledger.directory.run)
        # What a killed process was writing lies under other hidden names.
        _core.clean(str(Path(self.export.path).absolute().parent))
        samples, size = output.facts()
        facts = (begun.generation, begun.first_block, begun.end_block, begun.rows)
        record = Published(*facts, samples, size, built.output)
        self.ledger.record(record)
        return record

    @property
    def _is_directory(self) -> bool:
        return self.export.kind == "jinx" and not self.export.path.endswith(".jinx")

    def _pending(self) -> Publishing | None:
        begun, ended = self.ledger.publishing, self.ledger.published
        return None if begun is None or (ended is not None and ended.generation == begun.generation) else begun

    def _put_in_place(self, begun: Publishing, built: Built, staged: Path | None) -> None:
        if identity_of(self.export) == built.output:
            return  # an earlier process came as far as this
        out = self.export.path
        if staged is None or not staged.exists():
            raise LostOutputError(f"{out} was written, and is gone or has been replaced, with its parts")
        replaces = self._refuse_other_output(begun)
        self.ledger.refuse_lost_epoch()
        try:
            put_in_place(self.export, staged, replaces=replaces)
        except FileExistsError:
            raise FileExistsError(f"{out} has appeared while this run made it; {_ADVICE}") from None

    def _refuse_other_output(self, begun: Publishing) -> bool:
        """Refuse an output that is not to be replaced; returns whether what lies there may be."""
        present = identity_of(self.export)
        is_ours = present is not None and present == begun.replaces
        if begun.append and not is_ours:
            raise FileExistsError(f"{self.export.path} is not the output that this run has written; {_ADVICE}")
        if present is not None and not is_ours and not self.export.overwrite:
            raise FileExistsError(f"{self.export.path} has appeared while this run made it; {_ADVICE}")
        return is_ours or self.export.overwrite


@dataclass(frozen=True)
class _Output:
    """What one publication writes.

    Attributes:
        publication: Of which output.
        begun: Which blocks.
        run_work: Runs works on the engine.
    """

    publication: Publication
    begun: Publishing
    run_work: RunWork

    @cached_property
    def _hidden(self) -> Path:
        return hidden_directory(self.publication.export, self.publication.ledger.directory.run)

    @property
    def _parts(self) -> Path:
        return self.publication.ledger.directory.parts

    def _node(self, step: str) -> str:
        return f"{step}-{self.begun.generation}"

    def _pieces(self, block: int) -> list[Piece]:
        pieces = self.publication.ledger.pieces(self.publication.node, block)
        return [piece for piece in pieces if piece.part is not None]

    def _blocks(self) -> list[list[Piece]]:
        """The pieces of each block that has any."""
        blocks = (self._pieces(block) for block in range(self.begun.first_block, self.begun.end_block))
        return [pieces for pieces in blocks if pieces]

    def _source(self, step: str, parts: Sequence[tuple[Path, int]], base: tuple[str, ...] = ()) -> Source:
        """Parts with their rows, as a source of any number of them."""
        path = self.publication.ledger.directory.decisions / f"{self._node(step)}.parts.npy"
        with published(path) as file:
            write_manifest(file, path.parent, parts)
        return Source(base, manifest=str(path))

    def _committed(self, step: str, block: int) -> Piece | None:
        pieces = self.publication.ledger.pieces(f"{self._node(step)}.0", block)
        return pieces[0] if pieces else None


class _OneTask(_Output):
    """One file, or another format than JINX."""

    def written(self) -> Path | None:
        """Write it; returns where."""
        export = self.publication.export
        pieces = [piece for block in self._blocks() for piece in block]
        parts = [(self._parts / str(piece.part), piece.rows_out) for piece in pieces]
        # Parts that are no views hold the samples themselves.
        base = self.publication.base if not parts or parts[0][0].suffix == ".jinx" else ()
        self._hidden.mkdir(exist_ok=True)
        work = ExportWork(export, self.publication.writer, f"{self._hidden}/")
        self.run_work(self._node("export"), work, self._source("export", parts, base), [0], lambda _: None)
        return self.staged()

    def staged(self) -> Path | None:
        """Where it is until it has its name."""
        piece = self._committed("export", 0)
        name = Path(self.publication.export.path).name
        return None if piece is None else self._hidden / str(piece.part) / name

    def facts(self) -> tuple[int, int]:
        """Samples and bytes of it."""
        piece = self._committed("export", 0)
        return (0, 0) if piece is None else (piece.rows_out, piece.bytes_out)

    def remove_parts(self) -> None:
        """Keep the parts: they are written again with those of rows that the input may gain."""


class _Directory(_Output):
    """A directory of shards, or what is added to one."""

    def written(self) -> Path:
        """Write the shards, and make one dataset of them."""
        staged = self.staged()
        if not is_assembled(staged):
            self._hidden.mkdir(exist_ok=True)
            (self._hidden / "shards").mkdir(exist_ok=True)
            shards = self._shards(self._joined())
            if self.begun.append and not shards:
                return Path(self.publication.export.path)
            if self.begun.append:
                before = place_of(staged, 0, len(shards) + 1)
                if not before.exists():
                    link_dataset(Path(self.publication.export.path), before)
                shards = [before, *shards]
            if shards:
                assemble(staged, shards)
            else:
                self._write_empty(staged)
        return staged

    def staged(self) -> Path:
        """Where it is until it has its name."""
        return self._hidden / "whole"

    def facts(self) -> tuple[int, int]:
        """Samples and bytes of it."""
        info = jinx.open(self.publication.export.path).info()
        return info.samples, info.bytes + info.sidecar_bytes

    def remove_parts(self) -> None:
        """Remove the parts whose samples are in shards; a process that ended may have left some."""
        for pieces in self._blocks():
            for piece in pieces:
                remove_part(self._parts / str(piece.part))

    @property
    def _prefix(self) -> str:
        return f"{self._hidden}/shards/"

    def _joined(self) -> list[Piece]:
        """The part of each block; the pieces of a block that was divided are joined first.

        How a block was divided depends on what happened to its workers. The bytes of the joined part do not, nor does
        its size, from which the shards follow.
        """
        blocks = self._blocks()
        divided = [number for number, pieces in enumerate(blocks) if len(pieces) > 1]
        if divided:
            parts = [[(self._parts / str(piece.part), piece.rows_out) for piece in blocks[at]] for at in divided]
            work = PackWork(self.publication.writer, _bounds([[rows for _, rows in group] for group in parts]))
            source = self._source("join", [part for group in parts for part in group])

            def remove(block: int) -> None:
                for path, _ in parts[block]:
                    remove_part(path)

            self.run_work(self._node("join"), work, source, list(range(len(parts))), remove)
        joined = iter(range(len(divided)))
        return [pieces[0] if len(pieces) == 1 else _there(self._committed("join", next(joined))) for pieces in blocks]

    def _shards(self, parts: Sequence[Piece]) -> list[Path]:
        """The directory of each group of parts: the only part of a group as it is, or what a worker has written."""
        size = self.publication.export.shard_size
        sizes = [part.bytes_out for part in parts]
        groups = list(groups_of(sizes, None if size is None else parse_size(size)))
        paths = [self._parts / str(part.part) for part in parts]
        count = len(groups) + self.begun.append

        def is_placed(number: int) -> bool:
            return place_of(self.staged(), number + self.begun.append, count).exists()

        renames = can_rename(self._parts, self._hidden)
        packed = [number for number, group in enumerate(groups) if len(group) > 1 or not renames]
        packed = [number for number in packed if not is_placed(number)]
        if packed:
            bounds = _bounds([[parts[at].rows_out for at in group] for group in groups])
            work = PackWork(self.publication.writer, bounds, self._prefix)
            source = self._source("pack", [(path, part.rows_out) for path, part in zip(paths, parts, strict=True)])

            def remove(block: int) -> None:
                for at in groups[block]:
                    remove_part(paths[at])

            self.run_work(self._node("pack"), work, source, packed, remove)
        written = (self._committed("pack", number) for number in range(len(groups)))
        return [
            paths[group[0]] if piece is None else Path(f"{self._prefix}{piece.part}")
            for group, piece in zip(groups, written, strict=True)
        ]

    def _write_empty(self, staged: Path) -> None:
        """A directory of no samples keeps what the inputs say of their columns."""
        source = self._source("pack", [], self.publication.base)
        work = PackWork(self.publication.writer, _bounds([[]]), self._prefix)
        self.run_work(self._node("pack"), work, source, [0], lambda _: None)
        Path(f"{self._prefix}{_there(self._committed('pack', 0)).part}").rename(staged)


def _bounds(groups: Sequence[Sequence[int]]) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """The first row of each group, from the rows of its parts, and the number of all rows."""
    return np.cumsum([0, *(sum(rows) for rows in groups)], dtype=np.int64)


def _there(piece: Piece | None) -> Piece:
    if piece is None:
        raise AssertionError("a task that has run is committed")
    return piece
