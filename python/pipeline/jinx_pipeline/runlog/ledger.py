"""The ledger of a run: its committed work and decisions, which are read from the run log and written to it."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Self, cast

from msgspec import Struct

from jinx_pipeline.model.receipt import BadRow, PortPart, Receipt
from jinx_pipeline.runlog.records import (
    AnyRecord,
    AppliedRecord,
    Built,
    Committed,
    CommittedOutput,
    Decided,
    Discarded,
    Forgotten,
    Grown,
    Partitions,
    Published,
    Publishing,
)
from jinx_pipeline.runlog.run_directory import RunDirectory
from jinx_pipeline.runlog.run_log import RunLog
from jinx_pipeline.runlog.work_dir import SIGNATURES, remove_parts
from jinx_pipeline.schedule.task import Task


class Piece(Struct, frozen=True, gc=False):
    """The committed output for some rows of a block; the whole receipt is only in the log.

    Attributes:
        first: The first of the rows, counted in the block.
        rows: How many rows.
        attempt: The number of the attempt.
        part: The name of the part; None if no rows came out.
        rows_out: Rows in the part.
        bytes_out: The size of the part in bytes.
        bad_rows: Rows that were left out.
        place: The offset of the record in the log.
        ports: The output of other ports than `out`.
        media: The name of the file with the states of the media files that were read; None if there were none.
        end: A digest of the end of the part; None if it is not known.
        lanes: The output of further lanes at the port `out`.
    """

    first: int
    rows: int
    attempt: int
    part: str | None
    rows_out: int
    bytes_out: int
    bad_rows: int
    place: int
    ports: Mapping[str, PortPart]
    media: str | None = None
    end: str | None = None
    lanes: tuple[PortPart, ...] = ()

    def outputs(self, port: str) -> tuple[PortPart, ...]:
        """The output at a port, one part for each lane."""
        if port == "out":
            return (PortPart(self.part, self.rows_out, self.end, self.bytes_out), *self.lanes)
        return (self.ports.get(port, _NOTHING),)

    def parts(self) -> list[PortPart]:
        """All parts of the piece."""
        return [part for part in (*self.outputs("out"), *self.ports.values()) if part.part is not None]


_NOTHING = PortPart(None, 0)
# Shared by all receipts without ports.
_NO_PORTS: Mapping[str, PortPart] = {}


class Ledger:
    """The committed work and the decisions of a run; `claim` it before recording anything.

    Args:
        directory: The directory of the run.

    Attributes:
        directory: The directory of the run.
        header: The first record of the log.
        grown: How the input has grown, in order.
        publishing: The latest publication of each output that was begun.
        built: The latest version of each output that was completed.
        published: The latest version of each output that was published.
        next_attempt: A number above those of all attempts.
        bad_count: How many rows were left out because something failed on them.
        sync_seconds: See `Log.sync_seconds`.

    Raises:
        RunLogError: The log cannot be read.
    """

    def __init__(self, directory: RunDirectory) -> None:
        self.directory = directory
        # Tuples, because nearly all blocks have one piece, and a run may have very many blocks.
        self._pieces: dict[str, dict[int, tuple[Piece, ...]]] = {}
        self._decided: dict[str, Decided] = {}
        self._partitions: dict[str, Partitions] = {}
        self.grown: list[Grown] = []
        self.publishing: dict[int, Publishing] = {}
        self.built: dict[int, Built] = {}
        self.published: dict[int, Published] = {}
        # The offset of the latest record of each kind, to tell which came first.
        self._published_at: dict[int, int] = {}
        self._discarded_at: dict[str, int] = {}
        self.next_attempt = 0
        self.bad_count = 0
        self._log = RunLog(directory.log, self._apply)
        self.header = self._log.header
        self.sync_seconds = self._log.sync_seconds

    def claim(self) -> None:
        """Take over the run, so that records can be added.

        Raises:
            LostEpochError: Another process took it over at the same moment.
        """
        self._log.claim(self.directory.driver)

    def refuse_lost_epoch(self) -> None:
        """Refuse to continue a run that another process has taken over; on some network disks, locks do not prevent it.

        Raises:
            LostEpochError: Another process has taken it over.
        """
        self._log.refuse_lost_epoch()
        self.directory.refuse_other_run()

    def commit(self, task: Task, attempt: int, receipt: Receipt) -> None:
        """Record a receipt that the scheduler accepted; it is on disk after `sync`."""
        self._append(Committed(task.node, task.block, task.first, task.rows, attempt, receipt))

    def give_up(self, task: Task, bad: BadRow) -> None:
        """Record a row on which every worker dies; it is the only row of its task."""
        self.commit(task, -1, Receipt(None, 0, bad=[bad]))

    def sync(self) -> None:
        """Wait until all records are on disk.

        Raises:
            OSError: The records cannot be written.
            LostEpochError: Another process has taken over the run.
        """
        self._log.sync()

    def record(self, record: AnyRecord) -> None:
        """Record a fact of the whole run and sync it, if this process still owns the run.

        Raises:
            OSError: The record cannot be written.
            LostEpochError: Another process has taken over the run.
        """
        self.refuse_lost_epoch()
        self._append(record)
        self.sync()

    def decided(self, node: str) -> Decided | None:
        """The decision of a node's global operator; None if it has not been made for the current input."""
        decided = self._decided.get(node)
        return decided if decided is not None and decided.growth == len(self.grown) else None

    def decided_before(self, node: str) -> Decided | None:
        """The decision of a node from before the input grew, if that is the latest one."""
        return self._decided.get(node) if self.decided(node) is None else None

    def decision_path(self, node: str, ending: str) -> Path:
        """A file of a node's decision; it is a new file whenever the input has grown.

        Other nodes of a cluster may have copies of the earlier files.
        """
        stem = f"{node}-{len(self.grown)}" if self.grown else node
        return self.directory.decisions / f"{stem}.{ending}"

    def decisions(self) -> list[Decided]:
        """All decisions."""
        return list(self._decided.values())

    def partitions(self, node: str) -> Partitions | None:
        """The partitions of the keys of a node; None if they are not recorded yet."""
        return self._partitions.get(node)

    def pieces(self, node: str, block: int) -> list[Piece]:
        """The pieces of a block, in row order."""
        return sorted(self._pieces.get(node, {}).get(block, ()), key=lambda piece: piece.first)

    def lanes(self, node: str, block: int, port: str = "out") -> list[list[PortPart]]:
        """The parts of each lane of a block, in row order; the rows of a lane come after those of the lanes before."""
        outputs = (piece.outputs(port) for piece in self.pieces(node, block))
        return [[part for part in lane if part.part is not None] for lane in zip_longest(*outputs, fillvalue=_NOTHING)]

    def parts(self, node: str, block: int, port: str = "out") -> list[str]:
        """The names of a block's parts, in row order."""
        return [str(part.part) for lane in self.lanes(node, block, port) for part in lane]

    def nodes(self) -> list[str]:
        """The nodes with committed work or a decision."""
        return [*(node for node, blocks in self._pieces.items() if blocks), *self._decided]

    def committed(self, node: str, block: int, rows: int) -> dict[str, int] | None:
        """The output rows of each port of a block with the given number of rows; None if the block is not complete."""
        pieces = self._pieces.get(node, {}).get(block)
        if not pieces or sum(piece.rows for piece in pieces) != rows:
            return None
        ports = dict.fromkeys(port for piece in pieces for port in piece.ports)
        return {port: sum(part.rows for piece in pieces for part in piece.outputs(port)) for port in ("out", *ports)}

    def has_pieces(self, node: str, block: int) -> bool:
        """Whether any rows of a block are committed."""
        return block in self._pieces.get(node, {})

    def forget(self, node: str, block: int) -> None:
        """Drop the pieces of a block that is incomplete or no longer needed, also for later processes."""
        self._append(Forgotten(node, block))

    def discard(self, nodes: Iterable[str]) -> None:
        """Drop everything that nodes have committed and decided, because their input rows have changed.

        Raises:
            OSError: The record cannot be written.
            LostEpochError: Another process has taken over the run.
        """
        self.record(Discarded(list(nodes)))

    def was_discarded(self, node: str, number: int) -> bool:
        """Whether the work of a node was dropped after an output was published."""
        return self._discarded_at.get(node, -1) > self._published_at.get(number, -1)

    def receipts(self) -> Iterator[Receipt]:
        """The receipts of all pieces, read from the log: node by node, with the blocks in order."""
        return self._receipts(self.all_pieces())

    def bad_rows(self) -> list[BadRow]:
        """All rows that are in no output because an operation on them failed."""
        return self._bad_rows(self.all_pieces())

    def bad_rows_of(self, node: str, block: int) -> list[BadRow]:
        """The rows of a block on which something failed."""
        return self._bad_rows(self.pieces(node, block))

    def has_lost_parts(self, node: str, blocks: Iterable[int]) -> bool:
        """Whether committed parts of a node are missing from the directory, for example because they became shards."""
        present = set(self.directory.part_names())
        return any(name not in present for block in blocks for name in self.parts(node, block))

    def sweep(self) -> None:
        """Remove the files of attempts that were not committed."""
        left = set(self.directory.part_names())
        for piece in self.all_pieces():
            for name in (str(part.part) for part in piece.parts()):
                left.difference_update((name, name + SIGNATURES, f"{name.removesuffix('.jinx')}.binx"))
            if piece.media is not None and not self.published:
                left.discard(piece.media)
        remove_parts([self.directory.parts / name for name in sorted(left)])

    def close(self) -> None:
        """Close the log, after all records are on disk."""
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def pieces_with_media(self) -> Iterator[tuple[int, Piece]]:
        """The pieces for which media files were read, each with its block."""
        for blocks in self._pieces.values():
            yield from ((block, piece) for block, pieces in blocks.items() for piece in pieces if piece.media)

    def all_pieces(self) -> Iterator[Piece]:
        """All committed pieces, node by node."""
        for node, blocks in self._pieces.items():
            for block in sorted(blocks):
                yield from self.pieces(node, block)

    def _receipts(self, pieces: Iterable[Piece]) -> Iterator[Receipt]:
        for record in self._log.records_at(piece.place for piece in pieces):
            yield cast("Committed", record).receipt

    def _bad_rows(self, pieces: Iterable[Piece]) -> list[BadRow]:
        failed = (piece for piece in pieces if piece.bad_rows)
        return [bad for receipt in self._receipts(failed) for bad in receipt.bad]

    def _append(self, record: AnyRecord) -> None:
        self._apply(record, self._log.append(record))

    def _apply(self, record: AnyRecord | AppliedRecord, place: int) -> None:
        match record:
            case Committed() | CommittedOutput():
                self._apply_committed(record, place)
            case Forgotten(node, block):
                self._drop(self._pieces.get(node, {}).pop(block, ()))
            case Discarded(nodes):
                self._apply_discarded(nodes, place)
            case Decided(node):
                self._decided[node] = record
            case Partitions(node):
                self._partitions[node] = record
            case Publishing():
                self.publishing[record.number] = record
                self.built.pop(record.number, None)  # built for an earlier publication or a changed output
            case Built():
                self.built[record.number] = record
            case Published():
                self.published[record.number] = record
                self._published_at[record.number] = place
            case Grown():
                self.grown.append(record)
            case _:
                raise TypeError(f"a {type(record).__name__} is not a record of the ledger")

    def _apply_committed(self, record: Committed | CommittedOutput, place: int) -> None:
        receipt = record.receipt
        self.next_attempt = max(self.next_attempt, record.attempt + 1)
        self.bad_count += len(receipt.bad)
        piece = Piece(
            record.first,
            record.rows,
            record.attempt,
            receipt.part,
            receipt.rows_out,
            receipt.bytes_out,
            len(receipt.bad),
            place,
            receipt.ports or _NO_PORTS,
            receipt.media,
            receipt.end,
            tuple(receipt.lanes),
        )
        blocks = self._pieces.setdefault(record.node, {})
        blocks[record.block] = (*blocks.get(record.block, ()), piece)

    def _apply_discarded(self, nodes: Iterable[str], place: int) -> None:
        for node in nodes:
            for pieces in self._pieces.pop(node, {}).values():
                self._drop(pieces)
            self._decided.pop(node, None)
            self._partitions.pop(node, None)
            self._discarded_at[node] = place

    def _drop(self, pieces: Iterable[Piece]) -> None:
        self.bad_count -= sum(piece.bad_rows for piece in pieces)
