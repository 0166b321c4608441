"""The ledger of a run: which pieces are committed, read from the journal and written to it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from jinx_pipeline.model.receipt import BadRow, OperatorFigures, Receipt
from jinx_pipeline.runlog.journal import Journal
from jinx_pipeline.runlog.work_dir import SIGNATURES, WorkDir, remove_part
from jinx_pipeline.schedule.task import Task


@dataclass(frozen=True, slots=True)
class Piece:
    """Committed output of some rows of a block; `receipt.part` is None where nothing came out."""

    first: int
    rows: int
    attempt: int
    receipt: Receipt


class Ledger:
    """What is committed.

    Args:
        work_dir: Where parts lie.
        journal: What was committed by earlier runs of the same plan.
    """

    def __init__(self, work_dir: WorkDir, journal: Journal) -> None:
        self._work_dir = work_dir
        self._journal = journal
        # By segment, stage and block.
        self._pieces: dict[tuple[int, int, int], list[Piece]] = defaultdict(list)
        self._notes: dict[str, dict[str, Any]] = {}
        self.next_attempt = 0
        for record in journal.records:
            self._take(record)

    def commit(self, segment: int, task: Task, attempt: int, receipt: Receipt) -> None:
        """Record a receipt that the scheduler has accepted; it is on the disk after `sync`."""
        stage = int(task.node.rpartition(".")[2])  # of "segment.stage"
        record = {
            "kind": "piece",
            "segment": segment,
            "stage": stage,
            "block": task.block,
            "first": task.first,
            "rows": task.rows,
            "attempt": attempt,
            **asdict(receipt),
        }
        self._journal.append(record)
        self._keep((segment, stage, task.block), Piece(task.first, task.rows, attempt, receipt))

    def sync(self) -> None:
        """Wait until everything that was recorded is on the disk."""
        self._journal.sync()

    def give_up(self, segment: int, task: Task, bad: BadRow) -> None:
        """Record a row that no worker survives, the only one of its task."""
        self.commit(segment, task, -1, Receipt(None, 0, bad=[bad]))

    def note(self, name: str, **facts: Any) -> None:
        """Record that something of the whole run is done, such as a global operator."""
        record = {"kind": "note", "name": name, **facts}
        self._journal.append(record)
        self._journal.sync()
        self._take(record)

    def noted(self, name: str) -> dict[str, Any] | None:
        """What was recorded under this name; None if nothing was."""
        return self._notes.get(name)

    def pieces(self, segment: int, stage: int, block: int) -> list[Piece]:
        """The pieces of a block, in the order of its rows."""
        return sorted(self._pieces.get((segment, stage, block), ()), key=lambda piece: piece.first)

    def parts(self, segment: int, stage: int, block: int) -> list[str]:
        """The names of a block's parts, in the order of its rows."""
        return [one.receipt.part for one in self.pieces(segment, stage, block) if one.receipt.part is not None]

    def done(self, segment: int, blocks: dict[int, int], stages: int) -> dict[tuple[int, int], int]:
        """For (stage, block) the rows that came out, where all pieces are committed.

        The pieces of other blocks are forgotten: their tasks are divided in new ways.
        """
        found: dict[tuple[int, int], int] = {}
        for block, rows in blocks.items():
            expected = rows
            for stage in range(stages):
                pieces = self._pieces.get((segment, stage, block), [])
                if not pieces or sum(piece.rows for piece in pieces) != expected:
                    for later in range(stage, stages):
                        if (segment, later, block) in self._pieces:
                            self.forget(segment, later, block)
                    break
                expected = found[stage, block] = sum(piece.receipt.rows_out for piece in pieces)
                if expected == 0:
                    break
        return found

    def forget(self, segment: int, stage: int, block: int) -> None:
        """Drop the pieces of a block that is not complete, or that is of no use, now and for every later run."""
        record = {"kind": "forget", "segment": segment, "stage": stage, "block": block}
        self._journal.append(record)
        self._take(record)

    def all_pieces(self) -> Iterator[tuple[tuple[int, int, int], Piece]]:
        """Every committed piece with its segment, stage and block, in order."""
        for key in sorted(self._pieces):
            for piece in self.pieces(*key):
                yield key, piece

    def lost_parts(self) -> list[str]:
        """The committed parts that are no longer in the working directory, such as those that became shards."""
        names = [piece.receipt.part for _, piece in self.all_pieces()]
        return [name for name in names if name is not None and not (self._work_dir.parts / name).exists()]

    def bad_rows(self) -> list[BadRow]:
        """All rows that are in no output because something failed on them."""
        return [bad for _, piece in self.all_pieces() for bad in piece.receipt.bad]

    def sweep(self, needed: Iterable[str] = ()) -> None:
        """Remove what attempts left that were not committed, except for what else is `needed`, by name."""
        kept = set(needed)
        for _, piece in self.all_pieces():
            if (name := piece.receipt.part) is not None:
                kept |= {name, name + SIGNATURES, f"{name.removesuffix('.jinx')}.binx"}
        for path in self._work_dir.parts.iterdir():
            if path.name not in kept:
                remove_part(path)

    def _take(self, record: dict[str, Any]) -> None:
        if record["kind"] == "driver":
            return
        if record["kind"] == "note":
            self._notes[record["name"]] = record
            return
        if record["kind"] == "forget":
            self._pieces.pop((record["segment"], record["stage"], record["block"]), None)
            return
        receipt = Receipt(
            record["part"],
            record["rows_out"],
            record["bytes_out"],
            record["seconds"],
            [BadRow(**bad) for bad in record["bad"]],
            [OperatorFigures(**one) for one in record["figures"]],
            record["traces"],
        )
        key = record["segment"], record["stage"], record["block"]
        self._keep(key, Piece(record["first"], record["rows"], record["attempt"], receipt))

    def _keep(self, key: tuple[int, int, int], piece: Piece) -> None:
        self.next_attempt = max(self.next_attempt, piece.attempt + 1)
        self._pieces[key].append(piece)
