"""Models behind Ray Serve, for operators: `ctx.model("captioner", served)` calls the application.

If a replica dies, its requests are sent again, and no sample fails. If the application asks to wait, the request is
repeated after that time. If this happens too often, the block goes back to the queue, without a strike, and its
earlier answers are later requested again.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from jinx_pipeline.operators.api.retry_after import BUSY_STATUSES, PAUSE_SECONDS, BusyError, seconds_to_wait
from jinx_pipeline.optional import require

# The number of concurrent requests of a worker: by default, a replica of Serve processes as many at a time.
_AT_ONCE = 5
# If this many replicas died with a request, the request is the cause.
_DEATHS = 3
# The minimum number of times, and the minimum time, that a worker itself waits for each request.
_WAITS = 4
_PATIENCE_SECONDS = 5.0
_ANSWER_SECONDS = 600.0


class UnservedError(RuntimeError):
    """Raised if there is no such application, or no cluster; this concerns all samples."""

    concerns_all_rows = True


@dataclass(eq=False)
class _PendingRequest:
    """A request that has been sent."""

    value: Any
    response: Any
    deaths: int = 0


class Served:
    """An application of Ray Serve.

    Args:
        name: The name of the application.
        handle: The handle of the application.
    """

    def __init__(self, name: str, handle: Any) -> None:
        self.name = name
        self._handle = handle

    def __call__(self, value: Any) -> Any:
        """The answer to one request."""
        return next(self.map([value]))

    def map(self, values: Iterable[Any]) -> Iterator[Any]:
        """The answers to several requests in order; a few requests are sent at a time.

        Raises:
            BusyError: The application was too busy for longer than a worker waits.
            RuntimeError: Several replicas died with the same request.
            Exception: The error that the application raised for a request.
        """
        remaining = iter(values)
        pending = [_PendingRequest(value, self._handle.remote(value)) for value in islice(remaining, _AT_ONCE)]
        try:
            while pending:
                answer = self._answer(pending[0])
                del pending[0]
                pending += [_PendingRequest(value, self._handle.remote(value)) for value in islice(remaining, 1)]
                yield answer
        finally:
            for request in pending:
                with suppress(Exception):
                    request.response.cancel()

    def _answer(self, request: _PendingRequest) -> Any:
        from ray import exceptions  # pyright: ignore[reportMissingImports] - the extra `ray`

        until, waits = time.monotonic() + _PATIENCE_SECONDS, 0
        while True:
            try:
                return request.response.result(timeout_s=_ANSWER_SECONDS)
            except exceptions.RayActorError as error:
                request.deaths += 1
                if request.deaths >= _DEATHS:
                    raise RuntimeError(f"{request.deaths} replicas of {self.name} died with this request") from error
                pause = PAUSE_SECONDS
            except Exception as error:
                wait = requested_wait(error)
                if wait is None:
                    raise
                if waits >= _WAITS and time.monotonic() >= until:
                    raise BusyError(f"{self.name} is busy: {error}", wait) from error
                waits += 1
                pause = wait
            time.sleep(pause)
            request.response = self._handle.remote(request.value)


def requested_wait(error: BaseException) -> float | None:
    """How many seconds an error of a service asks the caller to wait; None if it does not.

    Errors that ask to wait are too many requests in Serve's queue (`BackPressureError`), a replica that is not ready
    yet, and exceptions with the HTTP status 429 or 503, with their `Retry-After` if present.
    """
    causes: list[Any] = [error, getattr(error, "cause", None), error.__cause__]
    for cause in causes:
        # The class is compared by name, because its module differs between versions, and Serve also wraps it.
        if type(cause).__name__ in {"BackPressureError", "ReplicaUnavailableError"}:
            return PAUSE_SECONDS
        if getattr(cause, "status_code", None) in BUSY_STATUSES:
            headers: Any = getattr(cause, "headers", None) or {}
            return seconds_to_wait(headers.get("Retry-After"))
    return None


def served(name: str, device: str = "") -> Served:
    """An application of Ray Serve on this worker's cluster, to load with `ctx.model`.

    A worker of the local engine uses the cluster that runs on this machine or that `RAY_ADDRESS` names.

    Args:
        name: The name of the application, as in `serve.run(app, name=...)`.
        device: Not used; the application has its own.

    Raises:
        UnservedError: There is no such application, or no cluster.
        ImportError: Ray Serve is not installed.
    """
    del device
    ray = require("ray", extra="ray", what="a model behind Ray Serve")
    serve = require("ray.serve", extra="ray", what="a model behind Ray Serve")
    try:
        if not ray.is_initialized():
            ray.init(address="auto", log_to_driver=False, logging_level="error")
        return Served(name, serve.get_app_handle(name))
    except Exception as error:
        message = " ".join(str(error).split())[:300]
        raise UnservedError(f"no application {name!r} of Ray Serve: {message}; start it with `serve run`") from error
