"""Models behind Ray Serve, for operators: `ctx.model("captioner", served)` answers with what the application does.

A replica that dies fails no sample: what it was asked is asked again. Where the application wants us to wait, the
request is repeated after that time; the block goes back to the queue only where that happens again and again, because
the answers that it has got are asked for again then. Nothing is counted against it.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from jinx_pipeline.operators.api.retry_after import BUSY_STATUSES, PAUSE_SECONDS, BusyError, seconds_to_wait
from jinx_pipeline.optional import require

# Requests of one worker on the way at a time: as many as Serve lets one replica work on at a time by default.
_AT_ONCE = 5
# A request with which so many replicas died is taken for the reason.
_DEATHS = 3
# A worker waits for the application by itself at least so often and for so long, for each request.
_WAITS = 4
_PATIENCE_SECONDS = 5.0
_ANSWER_SECONDS = 600.0


class UnservedError(RuntimeError):
    """There is no such application, or no cluster; no sample would fare better."""

    concerns_all_rows = True


@dataclass(eq=False)
class _Asked:
    """A request on its way."""

    value: Any
    response: Any
    deaths: int = 0


class Served:
    """An application of Ray Serve.

    Args:
        name: Of the application.
        handle: Its handle.
    """

    def __init__(self, name: str, handle: Any) -> None:
        self.name = name
        self._handle = handle

    def __call__(self, value: Any) -> Any:
        """The answer to one request."""
        return next(self.map([value]))

    def map(self, values: Iterable[Any]) -> Iterator[Any]:
        """The answers to several requests in order; a few are on the way at a time.

        Raises:
            BusyError: The application was too busy for longer than a worker waits.
            RuntimeError: Replica after replica died with the same request.
            Exception: What the application raised for a request.
        """
        rest = iter(values)
        asked = [_Asked(value, self._handle.remote(value)) for value in islice(rest, _AT_ONCE)]
        try:
            while asked:
                one = asked[0]
                answer = self._answer(one)
                del asked[0]
                asked += [_Asked(value, self._handle.remote(value)) for value in islice(rest, 1)]
                yield answer
        finally:
            for one in asked:
                with suppress(Exception):
                    one.response.cancel()

    def _answer(self, one: _Asked) -> Any:
        from ray import exceptions  # pyright: ignore[reportMissingImports] - the extra `ray`

        until, waits = time.monotonic() + _PATIENCE_SECONDS, 0
        while True:
            try:
                return one.response.result(timeout_s=_ANSWER_SECONDS)
            except exceptions.RayActorError as error:
                one.deaths += 1
                if one.deaths >= _DEATHS:
                    raise RuntimeError(f"{one.deaths} replicas of {self.name} died with this request") from error
                pause = PAUSE_SECONDS
            except Exception as error:
                wait = asked_to_wait(error)
                if wait is None:
                    raise
                if waits >= _WAITS and time.monotonic() >= until:
                    raise BusyError(f"{self.name} is busy: {error}", wait) from error
                waits += 1
                pause = wait
            time.sleep(pause)
            one.response = self._handle.remote(one.value)


def asked_to_wait(error: BaseException) -> float | None:
    """For how many seconds an error of a service asks to wait; None: it does not.

    Too many requests in Serve's queue (`BackPressureError`), a replica that is not there yet, or an exception with the
    HTTP status 429 or 503, and its `Retry-After` if it has one.
    """
    causes: list[Any] = [error, getattr(error, "cause", None), error.__cause__]
    for one in causes:
        # By name: the class moves between versions, and Serve also wraps it.
        if type(one).__name__ in {"BackPressureError", "ReplicaUnavailableError"}:
            return PAUSE_SECONDS
        if getattr(one, "status_code", None) in BUSY_STATUSES:
            headers: Any = getattr(one, "headers", None) or {}
            return seconds_to_wait(headers.get("Retry-After"))
    return None


def served(name: str, device: str = "") -> Served:
    """What `ctx.model` loads: the application `name` of Ray Serve on the cluster of this worker.

    A worker of the local engine uses the cluster that runs on this machine or that `RAY_ADDRESS` names.

    Args:
        name: Of the application, as in `serve.run(app, name=...)`.
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
        what = " ".join(str(error).split())[:300]
        raise UnservedError(f"no application {name!r} of Ray Serve: {what}; start it with `serve run`") from error
