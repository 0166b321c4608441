"""The run log: one JSON line for each thing that was decided or done; what is not in it did not happen.

Each driver of a run has an epoch. It claims the next number by appending an `Epoch` record: of two records with the
same number, the first one counts. Locks keep two drivers apart, but not on every network disk; the epoch does.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from itertools import accumulate, takewhile
from typing import Any, Self

import msgspec

from jinx_pipeline.runlog.records import VERSION, AnyRecord, Epoch, Header
from jinx_pipeline.store.store import Log

START_OVER = "start over with restart=True, overwrite=True (--restart --overwrite)"


class LostEpochError(RuntimeError):
    """Another process has taken over the run; this one writes no output."""


class RunLogError(ValueError):
    """A run log cannot be read; the message says why, and what to do."""


class RunLog:
    """The records of one run, which are only added to.

    A line that a crash has cut short does not count, and is removed by the next driver. To append, claim the run first.

    Args:
        log: Where its lines are.
        apply: Called with each record that counts, and the place of its line, in order.

    Attributes:
        header: Its first record.
        epoch: The newest one.

    Raises:
        RunLogError: Another version wrote it, or a line before the last one is damaged.
        OSError: It cannot be read.
    """

    def __init__(self, log: Log, apply: Callable[[AnyRecord, int], None]) -> None:
        self._log = log
        self.header = read_header(log)
        self.epoch = 0
        self._apply = apply
        self._driver = ""
        # Up to here the log was read, or written by this process.
        self._end = 0
        # Whether a line that cannot be read follows, because a process or the machine ended while it was written.
        self._is_torn = False
        self._is_open = False
        self._is_synced = True
        self._catch_up()

    @staticmethod
    def create(log: Log, run: str, plan: dict[str, Any]) -> None:
        """Begin the log of a run; it is on the disk afterwards.

        Args:
            log: Where its lines go.
            run: The id of the run.
            plan: The plan, as plain data.
        """
        log.begin(_encoded(Header(VERSION, run, _plan_digest(plan), plan)))

    def claim(self, driver: str) -> None:
        """Take over the run: from here on, records of earlier drivers do not count.

        Args:
            driver: A token of this process.

        Raises:
            LostEpochError: Another process has claimed it at the same moment.
        """
        self._catch_up()
        self._log.open(self._end if self._is_torn else None)
        self._is_open = True
        self._log.append(_encoded(Epoch(driver, epoch=self.epoch + 1)))
        self._log.sync()
        self._catch_up()
        if self._driver != driver:
            raise self._lost()

    def append(self, record: AnyRecord) -> int:
        """Add a record; from then on it survives the end of this process, and after `sync` that of the machine.

        Returns:
            The place of its line.
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
        """Wait until all records are on the disk.

        Raises:
            OSError: They cannot be written; what the disk holds then is not known, so all later calls do nothing.
            LostEpochError: Another process has taken over.
        """
        if not self._is_synced:
            # Of a second call the system would say that all went well.
            self._is_synced = True
            self._log.sync()
        self.refuse_lost_epoch()

    def refuse_lost_epoch(self) -> None:
        """Refuse to go on where another process has taken over the run.

        Raises:
            LostEpochError: It has.
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
        """The records whose lines begin at some places."""
        return map(_decoded, self._log.lines_at(places))

    def close(self) -> None:
        """Append no more; all records are on the disk then."""
        try:
            if self._is_open and not self._is_synced:
                self._is_synced = True
                self._log.sync()
        finally:
            self._is_open = False
            self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _catch_up(self) -> None:
        """Apply the records that have been added since the last call."""
        for record, place, end in self._lines_from(self._end):
            self._end = end
            if isinstance(record, Epoch):
                if record.epoch > self.epoch:
                    self.epoch, self._driver = record.epoch, record.driver
            elif record.epoch > self.epoch:
                raise self._damaged(place, f"of epoch {record.epoch}, which no driver has claimed")
            elif record.epoch == self.epoch and not isinstance(record, Header):
                self._apply(record, place)

    def _lines_from(self, start: int) -> Iterator[tuple[AnyRecord, int, int]]:
        """The records from a place on, and where their lines begin and end."""
        self._is_torn = False
        place = start
        for line in self._log.lines(start):
            if not line.endswith(b"\n"):
                self._is_torn = True
                return
            try:
                record = _decoded(line)
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

    def _damaged(self, place: int, what: str) -> RunLogError:
        ends = accumulate(len(line) for line in self._log.lines())
        number = sum(1 for _ in takewhile(lambda end: end <= place, ends)) + 1
        return RunLogError(f"{self._log.name}, line {number}: {what}; restore the file, or {START_OVER}")


def read_header(log: Log) -> Header:
    """The first record of a log.

    Raises:
        RunLogError: Another version wrote it, or it is damaged.
        OSError: It cannot be read.
    """
    line = next(log.lines(), b"")
    try:
        version = json.loads(line)["version"]
        header = _decoded(line) if version == VERSION else None
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
        # Of a path or a text with lone surrogates; JSON can name them by number.
        plain = msgspec.to_builtins(record)
        return json.dumps(plain, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"


def _decoded(line: bytes) -> AnyRecord:
    """The record of a line.

    Raises:
        ValueError: It is damaged.
    """
    try:
        return _DECODER.decode(line)
    except msgspec.DecodeError:
        return msgspec.convert(json.loads(line), AnyRecord)


def _plan_digest(plan: dict[str, Any]) -> str:
    return sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()[:32]


_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[AnyRecord] = msgspec.json.Decoder(AnyRecord)
