"""The run log: one JSON line for each decision and each piece of finished work; only work in the log counts.

Each driver of a run has an epoch. It claims the next number by appending an `Epoch` record; of two records with the
same number, the first counts. Locks keep two drivers apart, but not on every network disk; the epoch always does.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from itertools import accumulate, takewhile
from typing import Any, Self, TypeVar

import msgspec

from jinx_pipeline.runlog.records import VERSION, AnyRecord, AppliedRecord, Epoch, Header
from jinx_pipeline.store.store import Log

T = TypeVar("T")

START_OVER = "start over with restart=True, overwrite=True (--restart --overwrite)"


class LostEpochError(RuntimeError):
    """Raised if another process has taken over the run; this process writes no output."""


class RunLogError(ValueError):
    """Raised when a run log cannot be read; the message says why, and what to do."""


class RunLog:
    """The append-only records of one run.

    A line that a crash truncated does not count, and the next driver removes it. To append, claim the run first.

    Args:
        log: The lines.
        apply: Called in order with each record that counts, and the offset of its line.

    Attributes:
        header: The first record.
        epoch: The newest epoch.
        sync_seconds: See `Log.sync_seconds`.

    Raises:
        RunLogError: Another version wrote it, or a line before the last one is damaged.
        OSError: The log cannot be read.
    """

    def __init__(self, log: Log, apply: Callable[[AppliedRecord, int], None]) -> None:
        self._log = log
        self.header = read_header(log)
        self.epoch = 0
        self.sync_seconds = log.sync_seconds
        self._apply = apply
        self._driver = ""
        # Up to this offset, the log was read or written by this process.
        self._end = 0
        # Whether an incomplete line follows, because a process or the machine died while writing it.
        self._is_torn = False
        self._is_open = False
        self._is_synced = True
        self._catch_up()

    @staticmethod
    def create(log: Log, run: str, plan: dict[str, Any]) -> None:
        """Begin the log of a run; the first line is on disk afterwards, and its name once the directory is synced.

        Args:
            log: The log to begin.
            run: The id of the run.
            plan: The plan, as plain data.
        """
        log.begin(_encoded(Header(VERSION, run, _plan_digest(plan), plan)))

    def claim(self, driver: str) -> None:
        """Take over the run: from now on, new records from earlier drivers do not count.

        Args:
            driver: A token of this process.

        Raises:
            LostEpochError: Another process claimed it at the same moment.
        """
        self._catch_up()
        self._log.open(self._end if self._is_torn else None)
        self._is_open = True
        self._log.append(_encoded(Epoch(driver, epoch=self.epoch + 1)))
        self._sync()
        self._catch_up()
        if self._driver != driver:
            raise self._lost()

    def append(self, record: AnyRecord) -> int:
        """Append a record. It survives a crash of this process and, after `sync`, a crash of the machine.

        Returns:
            The offset of its line.
        """
        self._refuse_unclaimed()
        record.epoch = self.epoch
        line = _encoded(record)
        place = self._log.append(line)
        self._is_synced = False
        if place == self._end:
            self._end += len(line)
        return place

    def sync(self) -> None:
        """Wait until all records are on disk.

        Raises:
            OSError: The records cannot be written; the content of the disk is then unknown, so later calls do nothing.
            LostEpochError: Another process has taken over the run.
        """
        if not self._is_synced:
            # Not repeated: after a failed sync, a second one would report success.
            self._is_synced = True
            self._sync()
        self.refuse_lost_epoch()

    def refuse_lost_epoch(self) -> None:
        """Refuse to continue a run that another process has taken over.

        Raises:
            LostEpochError: Another process has taken it over.
        """
        self._refuse_unclaimed()
        size = self._log.size()
        if size is None:
            raise self._lost()
        if size == self._end:
            return
        for record, _, end in self._lines_from(self._end):
            self._end = end
            if isinstance(record, Epoch) and record.epoch > self.epoch:
                raise self._lost()

    def records_at(self, places: Iterable[int]) -> Iterator[AnyRecord]:
        """The records whose lines begin at the given offsets."""
        return (_decoded(line, _DECODER) for line in self._log.lines_at(places))

    def close(self) -> None:
        """Close the log, after all records are on disk."""
        try:
            if self._is_open and not self._is_synced:
                self._is_synced = True
                self._sync()
        finally:
            self._is_open = False
            self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _sync(self) -> None:
        try:
            self._log.sync()
        except FileExistsError:  # happens only in an object store: another process has written the next lines
            raise self._lost() from None

    def _catch_up(self) -> None:
        """Apply the records that were added since the last call."""
        for record, place, end in self._lines_from(self._end):
            self._end = end
            if isinstance(record, Epoch):
                if record.epoch > self.epoch:
                    self.epoch, self._driver = record.epoch, record.driver
            elif record.epoch > self.epoch:
                raise self._damaged(place, f"of epoch {record.epoch}, which no driver has claimed")
            elif record.epoch == self.epoch and not isinstance(record, Header):
                self._apply(record, place)

    def _lines_from(self, start: int) -> Iterator[tuple[AppliedRecord, int, int]]:
        """The records from an offset on, and the offsets where their lines begin and end."""
        self._is_torn = False
        place = start
        for line in self._log.lines(start):
            if not line.endswith(b"\n"):
                self._is_torn = True
                return
            try:
                record = _decoded(line, _APPLIED_DECODER)
            except ValueError:
                if b"\0" in line:
                    self._is_torn = True
                    return
                raise self._damaged(place, "damaged") from None
            yield record, place, place + len(line)
            place += len(line)

    def _refuse_unclaimed(self) -> None:
        if not self._is_open:
            raise RuntimeError(f"{self._log.name}: the run was not claimed")

    def _lost(self) -> LostEpochError:
        return LostEpochError(f"{self._log.name}: another process has taken over this run; leave it to that one")

    def _damaged(self, place: int, problem: str) -> RunLogError:
        ends = accumulate(len(line) for line in self._log.lines())
        number = sum(1 for _ in takewhile(lambda end: end <= place, ends)) + 1
        return RunLogError(f"{self._log.name}, line {number}: {problem}; restore the file, or {START_OVER}")


def read_header(log: Log) -> Header:
    """The first record of a log.

    Raises:
        RunLogError: Another version wrote it, or it is damaged.
        OSError: The log cannot be read.
    """
    line = next(log.lines(), b"")
    try:
        version = json.loads(line)["version"]
        header = _decoded(line, _DECODER) if version == VERSION else None
    except (LookupError, TypeError, ValueError):
        raise RunLogError(f"{log.name}, line 1: damaged; restore the file, or {START_OVER}") from None
    if version != VERSION:
        raise RunLogError(
            f"{log.name} is of version {version}, and this program reads version {VERSION}; resume with the "
            f"jinx-pipeline that wrote it, or {START_OVER}"
        )
    if not isinstance(header, Header) or header.digest != _plan_digest(header.plan):
        raise RunLogError(f"{log.name}, line 1: not the plan that was written; restore the file, or {START_OVER}")
    return header


def _encoded(record: AnyRecord) -> bytes:
    """A record as a line of UTF-8."""
    try:
        return _ENCODER.encode(record) + b"\n"
    except UnicodeEncodeError:
        # A path or text may contain lone surrogates, which JSON can only contain as escapes.
        plain = msgspec.to_builtins(record)
        return json.dumps(plain, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"


def _decoded(line: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """The record of a line.

    Raises:
        ValueError: The line is damaged.
    """
    try:
        return decoder.decode(line)
    except msgspec.DecodeError:
        return msgspec.convert(json.loads(line), decoder.type)


def _plan_digest(plan: dict[str, Any]) -> str:
    return sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()[:32]


_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[AnyRecord] = msgspec.json.Decoder(AnyRecord)
_APPLIED_DECODER: msgspec.json.Decoder[AppliedRecord] = msgspec.json.Decoder(AppliedRecord)
