"""The tasks of a run as spans of OpenTelemetry, if its package is installed and configured."""

import os
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final

_NANOSECONDS: Final = 1_000_000_000
# Environment variables that make OpenTelemetry load a provider or a context without any code.
_CONFIGURING: Final = ("OTEL_PYTHON_TRACER_PROVIDER", "OTEL_PYTHON_CONTEXT")


class TaskSpans:
    """Makes a span for each committed task, and an event in the span of the run for anything that went wrong.

    Args:
        tracer: A tracer of OpenTelemetry.
        run: The span of the run, to which all of them belong.
    """

    def __init__(self, tracer: Any, run: Any) -> None:
        self._tracer = tracer
        self._run = run

    def __call__(self, kind: str, facts: Mapping[str, Any]) -> None:
        """Record an event of the run."""
        if kind in {"block", "task"}:
            now = time.time_ns()
            attributes = {f"jinx.{name}": facts[name] for name in ("block", "rows", "rows_out", "worker")}
            started = now - int(facts["seconds"] * _NANOSECONDS)
            span = self._tracer.start_span(str(facts["node"]), start_time=started, attributes=attributes)
            span.end(end_time=now)
        elif kind in {"bad_row", "failed", "died", "waiting"}:
            plain = {f"jinx.{name}": value for name, value in facts.items() if isinstance(value, str | int | float)}
            self._run.add_event(kind, plain)


@contextmanager
def run_span(name: str) -> Generator[TaskSpans | None]:
    """The span of a run while it is running; None: OpenTelemetry is not installed, or nothing has configured it.

    Nothing is recorded unless the program configures a provider of traces, for instance by `opentelemetry-instrument`.

    Args:
        name: The name of the span.
    """
    # Whoever configures a provider imports this module, or sets one of these variables so that it is imported.
    if "opentelemetry.trace" not in sys.modules and not any(name in os.environ for name in _CONFIGURING):
        yield None
        return
    try:
        from opentelemetry import trace
    except ImportError:
        yield None
        return
    tracer: Any = trace.get_tracer("jinx_pipeline")
    with tracer.start_as_current_span(name) as span:
        yield TaskSpans(tracer, span)
