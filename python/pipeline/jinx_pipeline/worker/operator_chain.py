"""Runs operators one after another on a batch, and records what each one did and on which rows it failed."""

import errno
import os
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.model.error_text import message_of, trace_of
from jinx_pipeline.model.receipt import BadRow, OperatorFigures
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.retry_after import seconds_to_wait
from jinx_pipeline.operators.api.returned import ReturnedError
from jinx_pipeline.plan.graph import Lane
from jinx_pipeline.plan.stage import Stage
from jinx_pipeline.worker.merged_columns import MergedColumns
from jinx_pipeline.worker.row_examples import row_examples

if TYPE_CHECKING:
    import numpy.typing as npt

# Errors that concern the machine, not a row.
_MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
# If this many rows in a row fail with such an error, the machine is to blame.
_UNFIT_ROWS = 8
# The number of bad rows per task that are reported with a traceback and the full message. If an operator fails on every
# row, more of these would fill the run log.
_FULL_REPORTS, _SHORT_CHARACTERS = 20, 200
_PAGE = resource.getpagesize()
# The longest time that a worker waits for a service without finishing a row; after that, the whole stage waits.
_MAX_WAIT_SECONDS = 60.0


class MachineError(Exception):
    """Raised if all rows failed with errors that the machine may have caused, such as a full disk.

    Attributes:
        operator: The operator that failed.
        cause: The first of these errors.
    """

    def __init__(self, operator: str, cause: BaseException) -> None:
        super().__init__(operator)
        self.operator = operator
        self.cause = cause


class BatchError(Exception):
    """Raised if the result of an operator fits each single row of a batch, but not the whole batch."""

    concerns_all_rows = True
    needs_repair = True


class _DividedError(Exception):
    """Raised to try the batch again in halves, after a wait."""


class ThrottledError(Exception):
    """Raised when a service that an operator calls asks it to wait.

    Attributes:
        seconds: How long to wait.
        what: The operator, and the message of the service.
    """

    concerns_all_rows = True

    def __init__(self, seconds: float) -> None:
        super().__init__(f"wait {seconds:g} s")
        self.seconds = seconds
        self.what = ""


@dataclass(slots=True)
class _Totals:
    rows_in: int = 0
    rows_out: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    counts: Counter[str] = field(default_factory=Counter[str])


class Chain:
    """The operators of a stage, for one task.

    Args:
        stage: The stage.
        ctx: The context for operators.
        row_of: Maps a position of the batch to its row of the pipeline's input, or to another number and the word for
            what that number counts.
        busy_with: Called with the name of each activity that begins and its number of rows. The driver reports the
            name if the worker dies, and ends a worker that takes too long for these rows; 0 rows: no time limit.
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
        self._folder = _working_directory()
        self._busy_with = busy_with
        self._name = ""
        self._number = -1
        self._waited = 0.0
        ctx.begins = self._begin_rows
        self._totals = [_Totals() for _ in stage.operators]
        self._merged = MergedColumns(stage)
        self._group_totals = _Totals()
        self.bad: list[BadRow] = []
        self.traces: list[dict[str, Any]] = []
        self.port_batches: dict[str, list[Batch]] = {port: [] for port in stage.ports}

    def run(self, batch: Batch) -> Iterator[tuple[int, Batch]]:
        """The batch after the operators of each lane, with the number of the lane.

        A lane has several parts if rows were left out. Operators with which several lanes begin run once for them.
        """
        return self._run_lanes([batch], dict(enumerate(self._stage.paths)))

    def _run_lanes(self, batches: list[Batch], lanes: Mapping[int, Lane]) -> Iterator[tuple[int, Batch]]:
        """Like `run`, with the remaining operators of some lanes.

        Each branch has values of its own, because its operators may edit them in place.
        """
        branches: dict[int, dict[int, Lane]] = {}
        ended: list[int] = []
        for lane, places in lanes.items():
            if places:
                branches.setdefault(places[0], {})[lane] = places[1:]
            else:
                ended.append(lane)
        remaining_ways = len(ended) + len(branches)

        def own_batches() -> Iterator[Batch]:
            nonlocal remaining_ways
            remaining_ways -= 1
            yield from (part.copied() if remaining_ways else part for part in batches)

        for lane in ended:
            for output in own_batches():
                yield lane, self._merged.padded(-1, output).forgotten()
        for place, remaining in branches.items():
            padded = (self._merged.padded(place, part) for part in own_batches())
            outputs = [output for part in padded for output in self._run_operator(place, part) if len(output)]
            yield from self._run_lanes(outputs, remaining)

    def attempt(
        self, name: str, batch: Batch, call: Callable[[Batch], Any], *, is_divided: bool = True
    ) -> list[tuple[Batch, Any]]:
        """Call a function with a batch; if it fails, with smaller batches, so that only the rows that fail are lost.

        Args:
            name: The name of the caller.
            batch: The rows.
            call: The function.
            is_divided: Whether to try smaller batches also after a service asked to wait, so that the rows that are
                done by then stay done.

        Returns:
            Parts of the batch in order, each with what the function returned.
        """
        unfit: list[BaseException] = []
        try:
            results = self._attempt(name, batch, call, unfit, is_divided=is_divided)
        finally:
            self.begin(name)
        if len(unfit) == len(batch):
            raise MachineError(name, unfit[0])
        return results

    def _attempt(
        self, name: str, batch: Batch, call: Callable[[Batch], Any], unfit: list[BaseException], *, is_divided: bool
    ) -> list[tuple[Batch, Any]]:
        """Like `attempt`; `unfit` collects errors since the last good row that may concern all rows."""
        misfit: ReturnedError | None = None
        try:
            result = self.call_with_waits(name, batch, call, is_divided=is_divided)
        except _DividedError:
            pass
        except BaseException as error:  # Ctrl-C reaches only the driver, and a cancelled request only fails its row
            self._end_if_forked()
            if isinstance(error, ReturnedError):
                misfit = error
            raise_if_not_of_rows(error)
            if len(batch) == 1:
                if may_concern_all_rows(error):
                    unfit.append(error)
                    if len(unfit) == _UNFIT_ROWS:
                        raise MachineError(name, unfit[0]) from error
                self.bad.append(self._bad_row(name, batch, error))
                return []
        else:
            self._end_if_forked()
            unfit.clear()
            return [(batch, result)]
        half, bad_before = len(batch) // 2, len(self.bad)
        halves = batch.take(range(half)), batch.take(range(half, len(batch)))
        results = [
            result for part in halves for result in self._attempt(name, part, call, unfit, is_divided=is_divided)
        ]
        if misfit is not None and len(self.bad) == bad_before:
            # No row is to blame. Running single rows instead would be wrong: an aggregate of the batch, such as a mean,
            # would become the aggregate of each row.
            message = f"{name}: {misfit}; what it returned for these samples one by one did fit"
            raise BatchError(f"{message}: repair it for batches, and start over with restart (--restart)")
        return results

    def call_with_waits(
        self, name: str, batch: Batch, call: Callable[[Batch], Any], *, is_divided: bool = False
    ) -> Any:
        """Call a function, again after each wait that a service requests; returns its result.

        An operator may change the working directory, where the next one looks for the files that its recipe names; so
        each call begins in that of the task.

        Raises:
            ThrottledError: The waits took too long without a finished row.
            _DividedError: After a wait, the batch is to be tried in halves.
        """
        while True:
            self.begin(name, len(batch))
            try:
                try:
                    result = call(batch)
                finally:
                    self._return_to_folder()
            except Exception as error:
                self._end_if_forked()
                if not self._wait_if_throttled(name, error):
                    raise
            else:
                self._waited = 0.0
                return result
            if is_divided and len(batch) > 1:
                raise _DividedError

    def _return_to_folder(self) -> None:
        if self._folder is not None and _working_directory() != self._folder:
            with suppress(OSError):  # the directory is gone
                os.chdir(self._folder)

    def _wait_if_throttled(self, name: str, error: Exception) -> bool:
        """Wait if a service requests it; returns whether it did."""
        try:
            raise_if_not_of_rows(error)
        except ThrottledError as busy:
            busy.what = f"{name}: {message_of(error)}"
            if self._waited + busy.seconds > _MAX_WAIT_SECONDS:
                raise
            self._waited += busy.seconds
            self.begin(name)
            time.sleep(busy.seconds)
            return True
        return False

    def begin(self, name: str, rows: int = 0) -> None:
        """Report the activity that begins now, with its number of rows (0: no time limit)."""
        self._name = name
        self._begin_rows(rows)

    def _begin_rows(self, rows: int) -> None:
        self._busy_with(self._name, rows if self._stage.has_time_limit else 0)

    def _end_if_forked(self) -> None:
        """Exit if this is a process forked by an operator: the task and its reports belong to the parent."""
        if os.getpid() != self._pid:
            os._exit(0)

    def of_group(
        self, operator: Operator, group: Batch, call: Callable[[Batch], list[dict[str, Any]]]
    ) -> list[dict[str, Any]]:
        """Call a function with a group, for the operator that makes samples from groups; returns the samples."""
        totals, edits = self._group_totals, may_edit(operator)
        started, cpu_started = time.perf_counter(), time.process_time()
        try:
            made = self.call_with_waits(
                operator.name, group, lambda part: call(part.copied(keeps_shared=True) if edits else part)
            )
            totals.rows_out += len(made)
        finally:
            self._take_counts(totals.counts)
            totals.rows_in += 1
            totals.seconds += time.perf_counter() - started
            totals.cpu_seconds += time.process_time() - cpu_started
            totals.peak_bytes = max(totals.peak_bytes, resident_bytes())
        return made

    def _take_counts(self, counts: Counter[str]) -> None:
        """Add the counts of an operator."""
        counts.update(self.ctx.counts)
        self.ctx.counts.clear()

    def give_up(self, name: str, batch: Batch, error: BaseException) -> None:
        """Record that all rows of a batch are left out."""
        self.bad += [self._bad_row(name, batch.take([row]), error) for row in range(len(batch))]

    def figures(self) -> list[OperatorFigures]:
        """The figures of each operator."""
        stage = self._stage
        measured = zip(stage.operators, stage.numbers, self._totals, strict=True)
        of_group = [] if stage.group is None else [(stage.group, stage.group_number, self._group_totals)]
        return [
            OperatorFigures(
                operator.name,
                number,
                totals.rows_in,
                totals.rows_out,
                totals.seconds,
                totals.cpu_seconds,
                totals.peak_bytes,
                dict(totals.counts),
            )
            for operator, number, totals in (*of_group, *measured)
        ]

    def _run_operator(self, place: int, batch: Batch) -> Iterator[Batch]:
        stage, totals = self._stage, self._totals[place]
        operator = stage.operators[place]
        is_marked = stage.measure_only and operator.kind == "filter"
        edits = may_edit(operator)

        def call(part: Batch) -> tuple[Batch, Batch]:
            """The output of the operator, and the batch with the values that the operator has read."""
            if edits:  # If it fails, other attempts begin with the values of now.
                part = part.copied(keeps_shared=True)
            if is_marked:
                return operator.mark(part, self.ctx), part
            marked = operator.mark(part, self.ctx) if "dropped" in stage.ports else part
            return operator.run(marked, self.ctx), marked

        started, cpu_started = time.perf_counter(), time.process_time()
        # Do not divide such a batch: its results would depend on when a service was busy.
        self._number = stage.numbers[place]
        results = self.attempt(operator.name, batch, call, is_divided=not operator.depends_on_batch)
        self._number = -1
        self._take_counts(totals.counts)
        totals.seconds += time.perf_counter() - started
        totals.cpu_seconds += time.process_time() - cpu_started
        totals.rows_in += len(batch)
        totals.rows_out += sum(len(after) for _, (after, _) in results)
        totals.peak_bytes = max(totals.peak_bytes, resident_bytes())
        self._keep_for_ports(batch, [marked for _, (_, marked) in results], [after for _, (after, _) in results])
        for before, (after, _) in results:
            if stage.trace:
                self._trace(operator, stage.numbers[place], before, after)
            yield after

    def _keep_for_ports(self, batch: Batch, marked: list[Batch], kept: list[Batch]) -> None:
        """Keep the rows that an operator dropped or failed on, for ports that other nodes read."""
        if "dropped" in self.port_batches:
            pairs = zip(marked, kept, strict=True)
            self.port_batches["dropped"] += [_without(before, after.positions) for before, after in pairs]
        if "failed" in self.port_batches and sum(map(len, marked)) < len(batch):
            self.port_batches["failed"].append(_without(batch, *(part.positions for part in marked)))

    def _trace(self, operator: Operator, number: int, before: Batch, after: Batch) -> None:
        count = sum(trace["number"] == number for trace in self.traces)
        if count < self._stage.trace:
            examples = row_examples(operator, before, after, self._stage.trace - count, self.ctx)
            self.traces += [{"operator": operator.name, "number": number, **example} for example in examples]

    def _bad_row(self, name: str, batch: Batch, error: BaseException) -> BadRow:
        row, counted = self.row_of(int(batch.positions[0]))
        is_one_of_many = len(self.bad) >= _FULL_REPORTS
        message = message_of(error)[: _SHORT_CHARACTERS if is_one_of_many else None]
        trace = "" if is_one_of_many else trace_of(error)
        return BadRow(row, name, message, trace, counted=counted, number=self._number)


def _without(batch: Batch, *positions: "npt.NDArray[np.int64]") -> Batch:
    """The rows of a batch that are not at the given positions."""
    excluded = np.concatenate([*positions, np.empty(0, dtype=np.int64)])
    return batch.take(~np.isin(batch.positions, excluded)).forgotten()


def may_edit(operator: Operator) -> bool:
    """Whether an operator may edit the values of its batch in place; those of the package do not."""
    is_ours = type(operator).__module__.startswith("jinx_pipeline.")
    return not is_ours or any(map(may_edit, getattr(operator, "operators", ())))


def raise_if_not_of_rows(error: BaseException) -> None:
    """Raise an error that the rows did not cause; the error of a busy service becomes a `ThrottledError`."""
    if concerns_all_rows(error):
        raise error
    wait = getattr(error, "retry_after", None)
    if isinstance(wait, int | float):
        raise ThrottledError(seconds_to_wait(wait)) from error


def concerns_all_rows(error: BaseException) -> bool:
    """Whether an error would occur for every row: a service or another requirement is missing, or memory is short."""
    if isinstance(error, MemoryError) or getattr(error, "concerns_all_rows", False):
        return True
    # Ray ends this worker with a SystemExit.
    return hasattr(error, "ray_terminate_msg")


def may_concern_all_rows(error: BaseException) -> bool:
    """Whether only other rows can show if this row is to blame: for a missing package, or a full disk."""
    return isinstance(error, ImportError) or (isinstance(error, OSError) and error.errno in _MACHINE)


def resident_bytes() -> int:
    """The resident memory of this process, without mapped files."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - opened a thousand times a second
            _, resident, shared, *_ = file.read().split()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return (int(resident) - int(shared)) * _PAGE


def _working_directory() -> str | None:
    """The working directory; None if it was removed."""
    try:
        return os.getcwd()  # noqa: PTH109 - called for each batch
    except OSError:
        return None
