"""Runs the viewer: a socket, a secret URL, and a shutdown when nobody has used it for long."""

import asyncio
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from jinx._viewer.app import Viewer
from jinx._viewer.guard import MAX_REQUESTS, Guard

LOCAL = "127.0.0.1"
# Local names as they occur in options and Host headers.
LOCAL_NAMES = frozenset({LOCAL, "localhost", "::1", "[::1]"})
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - allowed only with a token
_SECRET_BYTES = 16
# A URL may contain several long expressions.
MAX_HEAD_BYTES = 256 << 10
_HEADER_SECONDS = 30.0
_KEEP_ALIVE_SECONDS = 30
_STARTING_SECONDS = 30.0
_CHECK_SECONDS = 1.0


class TimedProtocol(H11Protocol):
    """HTTP, with a time limit for sending a request; slow clients are disconnected."""

    def connection_made(self, transport: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Start the clock with the connection."""
        super().connection_made(transport)
        self.loop.call_later(_HEADER_SECONDS, self._close_if_silent)

    def send_400_response(self, msg: str) -> None:
        """Answer a request that is not HTTP, or has too long a URL, in the form of all other errors."""
        facts = {"title": "Bad Request", "status": 400, "code": "bad_request", "detail": msg, "error": msg}
        body = json.dumps(facts).encode()
        head = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: application/problem+json\r\n"
        self.transport.write(b"%scontent-length: %d\r\n\r\n%s" % (head, len(body), body))
        self.transport.close()

    def _close_if_silent(self) -> None:
        if self.cycle is None:  # pyright: ignore[reportUnnecessaryComparison]
            self.transport.close()


class ViewServer:
    """A running viewer.

    Args:
        viewer: The application.
        host: The interface to listen on.
        names: Other names by which browsers may address the server.
        port: The port; 0 takes a free one.
        secret: The first part of the address; a random one by default.
        idle_seconds: The server ends after so long without a request.
        any_host: Whether requests may use any name of the server, as behind a proxy.
    """

    def __init__(
        self,
        viewer: Viewer,
        *,
        host: str = LOCAL,
        names: Sequence[str] = (),
        port: int = 0,
        secret: str | None = None,
        idle_seconds: float | None = None,
        any_host: bool = False,
    ) -> None:
        self.secret = secret or secrets.token_urlsafe(_SECRET_BYTES)
        self._viewer = viewer
        self._idle_seconds = idle_seconds
        self._touched = time.monotonic()
        self._socket = bound(host, port)
        self.port: int = self._socket.getsockname()[1]
        self._host, known = addressed(host, names)
        hosts = None if any_host else known
        config = uvicorn.Config(
            Guard(viewer.application(), self.secret, hosts, self._touch),
            http=TimedProtocol,
            ws="none",
            lifespan="off",
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=1,
            # Beyond this number, even connections are refused; the guard refuses requests earlier.
            limit_concurrency=4 * MAX_REQUESTS,
            h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        )
        self._server = uvicorn.Server(config)

    @property
    def url(self) -> str:
        """The URL of the page."""
        return f"http://{self._host}:{self.port}/{self.secret}/"

    def run(self) -> None:
        """Serve until `stop`, Ctrl-C or the idle time."""
        try:
            asyncio.run(self._serve())
        finally:
            self._viewer.thumbnails.close()
            self._socket.close()

    def start(self) -> threading.Thread:
        """Serve in a thread, and return when the server answers."""
        return serve_in_thread(self.run, self._server, "jinx view")

    def stop(self) -> None:
        """Stop the server; open requests get one more second."""
        self._server.should_exit = True

    def _touch(self) -> None:
        self._touched = time.monotonic()

    async def _serve(self) -> None:
        watch = asyncio.create_task(self._end_when_idle())
        await self._server.serve([self._socket])
        watch.cancel()

    async def _end_when_idle(self) -> None:
        while self._idle_seconds is not None:
            await asyncio.sleep(_CHECK_SECONDS)
            if time.monotonic() - self._touched > self._idle_seconds:
                self.stop()


def serve_in_thread(run: Callable[[], None], server: uvicorn.Server, name: str) -> threading.Thread:
    """Run a server in a thread, and return when it answers or has failed."""
    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    limit = time.monotonic() + _STARTING_SECONDS
    while not server.started and thread.is_alive() and time.monotonic() < limit:
        time.sleep(0.01)
    return thread


def bound(host: str, port: int) -> socket.socket:
    """A listening socket.

    Raises:
        OSError: The port is taken.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # If the protocol is named, asyncio sends each packet at once; otherwise every answer is delayed by 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        # Listen now, so that browsers and clients can connect as soon as they are given the address.
        listener.listen()
    except OSError as error:
        listener.close()
        raise OSError(error.errno, error.strerror, f"{host}:{port}") from None
    return listener


def machine_names() -> tuple[str, ...]:
    """The names and addresses of this machine; the one that others most likely know comes first."""
    host = socket.gethostname()
    with suppress(OSError):
        found = [str(address[0]) for *_, address in socket.getaddrinfo(host, None)]
        return tuple(dict.fromkeys((host, socket.getfqdn(), *found)))
    return (host,)


def addressed(host: str, names: Sequence[str] = ()) -> tuple[str, frozenset[str]]:
    """How clients address a server: the host in its URL, and all names that Host headers may contain.

    Args:
        host: The interface that it listens on.
        names: Other names, such as that of a proxy; the first one becomes the host.
    """
    # A server that listens on all interfaces is addressed by the names of its machine.
    own = machine_names() if host in _EVERYWHERE else (host,)
    known = LOCAL_NAMES | {_in_url(name).lower() for name in (*own, *names)}
    return _in_url(names[0] if names else own[0]), known


def _in_url(host: str) -> str:
    """A host as URLs and Host headers write it."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def ssh_line(port: int, environment: Callable[[str], str | None] = os.environ.get) -> str | None:
    """The command that forwards the port for a user who is connected over ssh; None for anyone else."""
    if not environment("SSH_CONNECTION"):
        return None
    user, host = environment("USER") or "USER", socket.gethostname()
    return f"ssh -N -L {port}:{LOCAL}:{port} {user}@{host}"
