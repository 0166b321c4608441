"""Live metrics of a run in the Prometheus text format, at `/metrics` of an HTTP server."""

import threading
from collections import defaultdict
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self

from jinx_pipeline.report.metrics import metric

_CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
# By metric name: the type, the description, and the label of its samples.
_METRICS: Final = {
    "phase_rows": ("gauge", "Rows of the blocks that began last.", ""),
    "tasks_total": ("counter", "Committed tasks.", "node"),
    "task_input_rows_total": ("counter", "Rows that committed tasks have read.", "node"),
    "task_output_rows_total": ("counter", "Rows that committed tasks have written.", "node"),
    "task_seconds_total": ("counter", "Wall time of committed tasks, over all workers.", "node"),
    "failed_rows_total": ("counter", "Rows on which an operator has failed.", "operator"),
    "failed_tasks_total": ("counter", "Tasks that failed and are tried again.", "cause"),
    "dead_workers_total": ("counter", "Workers that died.", "cause"),
    "started_workers_total": ("counter", "Workers that became ready.", ""),
}


class LiveMetrics:
    """Counts the events of a run; several threads may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))

    def __call__(self, kind: str, facts: Mapping[str, Any]) -> None:
        """Count an event."""
        with self._lock:
            if kind == "blocks":
                self._values["phase_rows"][""] = facts["rows"]
            elif kind in {"block", "task"}:
                for name, count in (
                    ("tasks_total", 1),
                    ("task_input_rows_total", facts["rows"]),
                    ("task_output_rows_total", facts["rows_out"]),
                    ("task_seconds_total", facts["seconds"]),
                ):
                    self._values[name][facts["node"]] += count
            elif kind == "bad_row":
                self._values["failed_rows_total"][facts["operator"]] += 1
            elif kind == "failed":
                self._values["failed_tasks_total"][facts["cause"]] += 1
            elif kind == "died":
                self._values["dead_workers_total"][facts["cause"]] += 1
            elif kind == "ready":
                self._values["started_workers_total"][""] += 1

    def text(self) -> str:
        """The current metrics as text."""
        with self._lock:
            values = {name: dict(samples) for name, samples in self._values.items()}
        lines: list[str] = []
        for name, (kind, meaning, label) in _METRICS.items():
            samples = values.get(name, {} if label else {"": 0})
            lines += metric(name, kind, meaning, [({label: key} if label else {}, n) for key, n in samples.items()])
        return "\n".join(lines) + "\n"


class MetricsServer:
    """Serves the metrics of a run at `/metrics` until it is closed.

    Args:
        address: The port, of this machine alone, or `"host:port"`; port 0: any that is free.
        metrics: The counts.

    Raises:
        ValueError: It is no address.
        OSError: The port is taken.

    Attributes:
        url: Where they are.
    """

    def __init__(self, address: str, metrics: LiveMetrics) -> None:
        host, _, port = address.rpartition(":")
        if not port.isdecimal() or int(port) >= 1 << 16:
            raise ValueError(f"{address!r} is not a port, or an address like 0.0.0.0:9109")
        self._server = ThreadingHTTPServer((host or "127.0.0.1", int(port)), _handler_of(metrics))
        self._server.daemon_threads = True
        name, number = self._server.server_address[:2]
        self.url = f"http://{name!s}:{number}/metrics"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True, name="metrics")
        self._thread.start()

    def close(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _handler_of(metrics: LiveMetrics) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10  # seconds until a client that sends nothing is disconnected

        def do_GET(self) -> None:
            is_found = self.path.partition("?")[0] == "/metrics"
            body = metrics.text().encode() if is_found else b"see /metrics\n"
            self.send_response(200 if is_found else 404)
            self.send_header("Content-Type", _CONTENT_TYPE if is_found else "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing for each request."""

    return Handler
