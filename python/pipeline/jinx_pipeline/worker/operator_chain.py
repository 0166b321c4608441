"""Operators one after another on a batch: what each did, and the rows on which one failed."""

import errno
import os
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.model.error_text import message_of, trace_of
from jinx_pipeline.model.receipt import BadRow, OperatorFigures
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.retry_after import seconds_to_wait
from jinx_pipeline.operators.api.returned import ReturnedError
from jinx_pipeline.plan.stage import Stage
from jinx_pipeline.worker.row_examples import row_examples

if TYPE_CHECKING:
    import numpy.typing as npt

# Errors of the machine, not of a row.
_MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
# Rows one after another that fail with such an error, until it is taken for one of the machine.
_UNFIT_ROWS = 8
# Of a task, so many rows that were left out are told with a trace and a long message: an operator that fails on every
# row would fill the run log.
_TOLD_WHOLE, _SHORT_CHARACTERS = 20, 200
_PAGE = resource.getpagesize()
# A worker waits so long for a service without a row done, until the stage waits.
_MOST_WAIT_SECONDS = 60.0


class MachineError(Exception):
    """All rows that were tried failed with errors that may be the machine's: a package or disk space is missing.

    Attributes:
        operator: On which operator.
        cause: The first of these errors.
    """

    def __init__(self, operator: str, cause: BaseException) -> None:
        super().__init__(operator)
        self.operator = operator
        self.cause = cause


class BatchError(Exception):
    """What an operator returned does not fit a batch, and fits each part of it."""

    concerns_all_rows = True
    needs_repair = True


class _DividedError(Exception):
    """After a wait, the halves of a batch are tried."""


class ThrottledError(Exception):
    """A service that an operator asked wants us to wait.

    Attributes:
        seconds: For how long.
        what: The operator, and what the service said.
    """

    concerns_all_rows = True

    def __init__(self, seconds: float) -> None:
        super().__init__(f"wait {seconds:g} s")
        self.seconds = seconds
        self.what = ""


@dataclass(slots=True)
class _Sum:
    rows_in: int = 0
    rows_out: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0


class Chain:
    """The operators of a stage, for one task.

    Args:
        stage: The stage.
        ctx: What operators may use.
        row_of: The row of the pipeline's input from which a position of the batch comes, or another number and what
            that counts.
        busy_with: Told the name of what begins, and of how many rows it is; the driver is told it if the worker dies,
            and ends one that takes too long for these rows. 0 rows may take any time.
    """

    def __init__(
        self,
        stage: Stage,
        ctx: Context,
        row_of: Callable[[int], tuple[int, str]],
        busy_with: Callable[[str, int], None] = lambda *_: None,
    ) -> None:
        self._stage = stage
        self.ctx = ctx
        self.row_of = row_of
        self._pid = os.getpid()
        self._busy_with = busy_with
        self._name = ""
        self._waited = 0.0
        ctx.begins = self._begins
        self._sums = [_Sum() for _ in stage.operators]
        self.bad: list[BadRow] = []
        self.traces: list[dict[str, Any]] = []
        self.of_port: dict[str, list[Batch]] = {port: [] for port in stage.ports}

    def run(self, batch: Batch) -> list[Batch]:
        """What the operators make of a batch; in several parts where rows were left out."""
        batches = [batch]
        for place in range(len(self._stage.operators)):
            batches = [made for one in batches for made in self._run_one(place, one) if len(made)]
        return [one.forgotten() for one in batches]

    def attempt(
        self, name: str, batch: Batch, call: Callable[[Batch], Any], *, is_divided: bool = True
    ) -> list[tuple[Batch, Any]]:
        """Call a function of a batch; if it fails, of smaller ones, so that only the rows on which it fails are lost.

        Args:
            name: What calls it.
            batch: The rows.
            call: The function.
            is_divided: Whether smaller batches are tried also after a service asked to wait, so that rows that are
                done by then stay done.

        Returns:
            Parts of the batch in order, each with what the function returned.
        """
        unfit: list[BaseException] = []
        try:
            made = self._attempt(name, batch, call, unfit, is_divided=is_divided)
        finally:
            self.begins(name)
        if len(unfit) == len(batch):
            raise MachineError(name, unfit[0])
        return made

    def _attempt(
        self, name: str, batch: Batch, call: Callable[[Batch], Any], unfit: list[BaseException], *, is_divided: bool
    ) -> list[tuple[Batch, Any]]:
        """As `attempt`; `unfit` are the errors that may concern all rows, since a row was fine."""
        misfit: ReturnedError | None = None
        try:
            made = self.answered(name, batch, call, is_divided=is_divided)
        except _DividedError:
            pass
        except BaseException as error:  # Ctrl-C reaches the driver alone, and a cancelled request is one of a row
            self._end_if_forked()
            if isinstance(error, ReturnedError):
                misfit = error
            raise_if_not_of_rows(error)
            if len(batch) == 1:
                if may_concern_all_rows(error):
                    unfit.append(error)
                    if len(unfit) == _UNFIT_ROWS:
                        raise MachineError(name, unfit[0]) from error
                self.bad.append(self._bad(name, batch, error))
                return []
        else:
            self._end_if_forked()
            unfit.clear()
            return [(batch, made)]
        half, were_bad = len(batch) // 2, len(self.bad)
        halves = batch.take(range(half)), batch.take(range(half, len(batch)))
        made = [one for part in halves for one in self._attempt(name, part, call, unfit, is_divided=is_divided)]
        if misfit is not None and len(self.bad) == were_bad:
            # No row is to blame. An aggregate of a batch, such as a mean, would else be that of each row alone.
            what = f"{name}: {misfit}; what it returned for these samples one by one did fit"
            raise BatchError(f"{what}: repair it for batches, and start over with restart (--restart)")
        return made

    def answered(self, name: str, batch: Batch, call: Callable[[Batch], Any], *, is_divided: bool = False) -> Any:
        """What a function returns; as often as a service that it asks wants us to wait, it is called again.

        Raises:
            ThrottledError: That took too long without a row done.
            _DividedError: We have waited, and the halves of the batch are to be tried.
        """
        while True:
            self.begins(name, len(batch))
            try:
                made = call(batch)
            except Exception as error:
                self._end_if_forked()
                if not self._has_waited(name, error):
                    raise
            else:
                self._waited = 0.0
                return made
            if is_divided and len(batch) > 1:
                raise _DividedError

    def _has_waited(self, name: str, error: Exception) -> bool:
        """Wait if a service has asked us to."""
        try:
            raise_if_not_of_rows(error)
        except ThrottledError as busy:
            busy.what = f"{name}: {message_of(error)}"
            if self._waited + busy.seconds > _MOST_WAIT_SECONDS:
                raise
            self._waited += busy.seconds
            self.begins(name)
            time.sleep(busy.seconds)
            return True
        return False

    def begins(self, name: str, rows: int = 0) -> None:
        """What begins now, and of how many rows it is; 0: it may take any time."""
        self._name = name
        self._begins(rows)

    def _begins(self, rows: int) -> None:
        self._busy_with(self._name, rows if self._stage.has_time_limit else 0)

    def _end_if_forked(self) -> None:
        """An operator has forked, and this is its child: the task, and what is told of it, are the parent's."""
        if os.getpid() != self._pid:
            os._exit(0)

    def give_up(self, name: str, batch: Batch, error: BaseException) -> None:
        """Record that all rows of a batch are left out."""
        self.bad += [self._bad(name, batch.take([at]), error) for at in range(len(batch))]

    def figures(self) -> list[OperatorFigures]:
        """What each operator did."""
        stage = self._stage
        return [
            OperatorFigures(
                operator.name, number, one.rows_in, one.rows_out, one.seconds, one.cpu_seconds, one.peak_bytes
            )
            for operator, number, one in zip(stage.operators, stage.numbers, self._sums, strict=True)
        ]

    def _run_one(self, place: int, batch: Batch) -> Iterator[Batch]:
        stage, one = self._stage, self._sums[place]
        operator = stage.operators[place]
        is_marked = stage.measure_only and operator.kind == "filter"

        def call(part: Batch) -> tuple[Batch, Batch]:
            """What it makes of a batch, and the batch with what it looked at."""
            if is_marked:
                return operator.mark(part, self.ctx), part
            marked = operator.mark(part, self.ctx) if "dropped" in stage.ports else part
            return operator.run(marked, self.ctx), marked

        started, cpu_started = time.perf_counter(), time.process_time()
        # Results that depend on the batch would depend on when a service was busy.
        made = self.attempt(operator.name, batch, call, is_divided=not operator.depends_on_batch)
        one.seconds += time.perf_counter() - started
        one.cpu_seconds += time.process_time() - cpu_started
        one.rows_in += len(batch)
        one.rows_out += sum(len(after) for _, (after, _) in made)
        one.peak_bytes = max(one.peak_bytes, resident_bytes())
        self._keep_for_ports(batch, [marked for _, (_, marked) in made], [after for _, (after, _) in made])
        for before, (after, _) in made:
            if stage.trace:
                self._trace(operator, stage.numbers[place], before, after)
            yield after

    def _keep_for_ports(self, batch: Batch, marked: list[Batch], kept: list[Batch]) -> None:
        """Keep what an operator has dropped, and what it has failed on, where somebody reads it."""
        if "dropped" in self.of_port:
            pairs = zip(marked, kept, strict=True)
            self.of_port["dropped"] += [_without(before, after.positions) for before, after in pairs]
        if "failed" in self.of_port and sum(map(len, marked)) < len(batch):
            self.of_port["failed"].append(_without(batch, *(part.positions for part in marked)))

    def _trace(self, operator: Operator, number: int, before: Batch, after: Batch) -> None:
        have = sum(one["number"] == number for one in self.traces)
        if have < self._stage.trace:
            found = row_examples(operator, before, after, self._stage.trace - have, self.ctx)
            self.traces += [{"operator": operator.name, "number": number, **one} for one in found]

    def _bad(self, name: str, batch: Batch, error: BaseException) -> BadRow:
        row, counted = self.row_of(int(batch.positions[0]))
        is_one_of_many = len(self.bad) >= _TOLD_WHOLE
        message = message_of(error)[: _SHORT_CHARACTERS if is_one_of_many else None]
        return BadRow(row, name, message, "" if is_one_of_many else trace_of(error), counted=counted)


def _without(batch: Batch, *positions: "npt.NDArray[np.int64]") -> Batch:
    """The rows of a batch that do not lie at some positions."""
    others = np.concatenate([*positions, np.empty(0, dtype=np.int64)])
    return batch.take(~np.isin(batch.positions, others)).forgotten()


def raise_if_not_of_rows(error: BaseException) -> None:
    """Raise an error that is no fault of the rows at hand; one of a busy service as `ThrottledError`."""
    if concerns_all_rows(error):
        raise error
    wait = getattr(error, "retry_after", None)
    if isinstance(wait, int | float):
        raise ThrottledError(seconds_to_wait(wait)) from error


def concerns_all_rows(error: BaseException) -> bool:
    """Whether no other rows would fare better: a service or what an operator needs is missing, memory is short."""
    if isinstance(error, MemoryError) or getattr(error, "concerns_all_rows", False):
        return True
    # A SystemExit by which Ray ends this worker, wherever it is at work.
    return hasattr(error, "ray_terminate_msg")


def may_concern_all_rows(error: BaseException) -> bool:
    """Whether it depends on other rows what it means: a package that all need, or one image does; a full disk."""
    return isinstance(error, ImportError) or (isinstance(error, OSError) and error.errno in _MACHINE)


def resident_bytes() -> int:
    """The resident memory of this process, without mapped files."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - read a thousand times a second
            _, resident, shared, *_ = file.read().split()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return (int(resident) - int(shared)) * _PAGE
