"""Progress: a redrawn line on a terminal or a line a minute in a log, and every event in a file."""

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import IO, Any

EventObserver = Callable[[str, Mapping[str, Any]], None]
"""Receives the kind and the facts of an event."""
MODES = ("auto", "plain", "none")
_LINE_SECONDS = 60.0
_REDRAW_SECONDS = 0.2
# With a smaller share of finished rows, an estimate of the remaining time would be misleading.
_MIN_SHARE = 0.01
# The maximum number of workers that the message about waiting lists.
_MAX_NAMED = 3


class Progress:
    """Shows progress and records events.

    Args:
        mode: `"auto"`: a redrawn line if standard error is a terminal, otherwise like `"plain"`; `"plain"`: a line a
            minute; `"none"`: nothing is shown.
        rows: Samples of the input.
        log: The file for events.
        on_tick: Called with each `tick`.
        observers: Called with the kind and the facts of each event.
    """

    def __init__(
        self,
        mode: str,
        rows: int,
        log: IO[str],
        on_tick: Callable[[], None] = lambda: None,
        observers: Sequence[EventObserver] = (),
    ) -> None:
        self._log = log
        self._on_tick = on_tick
        self._observers = observers
        self._is_terminal = mode == "auto" and sys.stderr.isatty()
        self._silent = mode == "none"
        self._rows = rows
        self._title = ""
        self._total = self._done_rows = self._kept = self._bad = 0
        self._begin: AbstractSet[str] = frozenset()
        self._end: AbstractSet[str] = frozenset()
        self._started = self._last = time.monotonic()
        self._width = 0

    def blocks(
        self, number: int, count: int, blocks: Mapping[int, int], begin: AbstractSet[str], end: AbstractSet[str]
    ) -> None:
        """Begin the blocks of the sources, or those after a decision.

        Args:
            number: How many decisions are made.
            count: How many times blocks begin in the whole run.
            blocks: Rows of each block.
            begin: The nodes that read these blocks.
            end: The last nodes that process them.
        """
        self._title = f"{number + 1}/{count} " if count > 1 else ""
        self._total = sum(blocks.values())
        self._begin, self._end = begin, end
        self._done_rows = self._kept = 0
        self._started = time.monotonic()
        self.event("blocks", {"number": number, "blocks": len(blocks), "rows": self._total})

    def phase(self, operator: str, work: str, tasks: int) -> None:
        """Begin other tasks after the blocks, such as those over keys."""
        self._title = f"{self._title.partition('then ')[0]}then {operator}: "
        self.event("phase", {"operator": operator, "work": work, "tasks": tasks})

    def event(self, kind: str, facts: dict[str, Any]) -> None:
        """Record an event."""
        record = {"time": round(time.time(), 3), "kind": kind, **facts}
        self._log.write(json.dumps(record, ensure_ascii=False) + "\n")
        self._log.flush()
        for observer in self._observers:
            observer(kind, facts)
        if kind == "block":
            self._done_rows += facts["rows"] if facts["node"] in self._begin else 0
            self._kept += facts["rows_out"] if facts["node"] in self._end else 0
        elif kind == "bad_row":
            self._bad += 1
        elif kind == "waiting" and not self._silent:
            sys.stderr.write(f"{_waiting_text(facts)}\n")

    def tick(self) -> None:
        """Update the line, if enough time has passed."""
        self._on_tick()
        now = time.monotonic()
        if self._silent or now - self._last < (_REDRAW_SECONDS if self._is_terminal else _LINE_SECONDS):
            return
        self._last = now
        text = self._text(now - self._started)
        if self._is_terminal:
            sys.stderr.write(f"\r{text:{self._width}}")
            self._width = len(text)
        else:
            sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Remove the line."""
        if self._width:
            sys.stderr.write(f"\r{'':{self._width}}\r")
            sys.stderr.flush()

    def _text(self, seconds: float) -> str:
        from jinx._cli.progress import natural_seconds

        share = self._done_rows / self._total if self._total else 1.0
        rate = self._done_rows / seconds if seconds > 0 else 0.0
        remaining = f", {natural_seconds(seconds * (1 / share - 1))} left" if share > _MIN_SHARE else ""
        failed = f", {self._bad:,} failed" if self._bad else ""
        done = f"{self._title}{share:4.0%} {self._done_rows:,} samples, {self._kept:,} kept{failed}"
        return f"{done}, {rate:,.0f} samples/s{remaining}"


def _waiting_text(facts: dict[str, Any]) -> str:
    """A message about the operators, blocks and workers that a run waits for."""
    operators = facts.get("operators", {})
    waiting = [f"{operators.get(worker) or worker} at block {block:,}" for worker, block in facts["working"].items()]
    waiting += [f"{worker} to start" for worker in facts["starting"]]
    more = f" and {len(waiting) - _MAX_NAMED:,} more" if len(waiting) > _MAX_NAMED else ""
    names = ", ".join(waiting[:_MAX_NAMED]) or "a retry"
    return f"nothing was finished for {facts['seconds']:g} s; waiting for {names}{more}"
