"""Progress on standard error: a bar on a terminal, a line per minute in a log."""

import sys
import time
from typing import Self

from jinx._sizes import natural_size

_BAR = 24
_LINE_SECONDS = 60.0
_REDRAW_SECONDS = 0.1


class ProgressBar:
    """A context manager; call it with the samples, the bytes done (0: not shown), and the total bytes or None.

    Args:
        what: The word for the counted things, e.g. "samples".
        mode: `"plain"` writes a line a minute, `"none"` writes nothing, and `"auto"` shows a bar on a terminal and
            otherwise does the same as `"plain"`.
    """

    def __init__(self, what: str, mode: str) -> None:
        self.what = what
        self.started = self.last = time.monotonic()
        self.is_terminal = mode == "auto" and sys.stderr.isatty()
        self.interval = _REDRAW_SECONDS if self.is_terminal else _LINE_SECONDS
        self.silent = mode == "none"
        self.drawn = 0

    def __call__(self, samples: int, done: int, total: int | None) -> None:
        """Show the progress, if enough time has passed since the last call."""
        now = time.monotonic()
        if self.silent or now - self.last < self.interval:
            return
        self.last = now
        seconds = now - self.started
        text = f"{samples:,} {self.what}, {natural_size(done)}, {natural_size(done / seconds)}/s"
        if not done:  # the operation does not report bytes
            text = f"{samples:,} {self.what}, {samples / seconds:,.0f}/s"
        if total:
            share = min(done / total, 1.0)
            left = seconds * (1 / share - 1) if share > 0 else 0
            filled = round(share * _BAR)
            bar = f"[{'#' * filled}{'.' * (_BAR - filled)}] " if self.is_terminal else ""
            text = f"{bar}{share:4.0%} {text}, {natural_seconds(left)} left"
        if self.is_terminal:
            sys.stderr.write(f"\r{text:{self.drawn}}")
            self.drawn = len(text)
        else:
            sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.drawn:
            sys.stderr.write(f"\r{'':{self.drawn}}\r")
            sys.stderr.flush()

    @property
    def seconds(self) -> float:
        """Seconds since this object was created."""
        return time.monotonic() - self.started


def natural_seconds(seconds: float) -> str:
    """A duration in a readable unit: `14 ms`, `0.3 s`, `42 s`, `3 min 5 s`, `2 h 10 min`."""
    if seconds < 0.1:  # noqa: PLR2004
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:  # noqa: PLR2004 - below ten seconds the tenths matter
        return f"{seconds:.1f} s"
    whole = round(seconds)
    minutes, seconds_left = divmod(whole, 60)
    if not minutes:
        return f"{seconds_left} s"
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours} h {minutes_left} min" if hours else f"{minutes} min {seconds_left} s"
