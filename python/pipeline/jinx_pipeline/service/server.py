"""Runs the service: a socket, the application, and the jobs."""

import asyncio
import os
import secrets
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import uvicorn

from jinx._view.guard import MAX_REQUESTS, App
from jinx._view.server import LOCAL, LOCAL_NAMES, TimedProtocol, bound
from jinx_pipeline.service.app import MCP_PATH, Service, ServiceGuard, secret_path, with_mcp
from jinx_pipeline.service.workplace import Workplace

if TYPE_CHECKING:
    import socket

    from mcp.server import MCPServer

_STARTING_SECONDS: Final = 30.0
_TOKEN_BYTES: Final = 32
_LEAST_TOKEN: Final = 16


class Server:
    """A running service.

    Args:
        place: The workplace; the server closes it.
        token: The token that clients send.
        host: The interface to listen on.
        port: The port; 0 takes a free one.
        names: Other names by which clients may address the server, such as that of a proxy.
        mcp: A server that speaks MCP at `/mcp`; None: there is none.
    """

    def __init__(
        self,
        place: Workplace,
        token: str,
        *,
        host: str = LOCAL,
        port: int = 0,
        names: tuple[str, ...] = (),
        mcp: "MCPServer | None" = None,
    ) -> None:
        self._place, self._token, self._host = place, token, host
        self._service = Service(place)
        app: App = self._service.application()
        if mcp is not None:
            app = with_mcp(app, _mcp_application(mcp))
        self._socket: socket.socket = bound(host, port)
        # Clients that are told the address may connect at once.
        self._socket.listen()
        self.port: int = self._socket.getsockname()[1]
        hosts = LOCAL_NAMES | {host, *(name.lower() for name in names)}
        config = uvicorn.Config(
            ServiceGuard(app, token, hosts),
            http=TimedProtocol,
            ws="none",
            lifespan="off" if mcp is None else "on",
            log_level="error",
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=1,
            limit_concurrency=4 * MAX_REQUESTS,
        )
        self._server = uvicorn.Server(config)

    @property
    def url(self) -> str:
        """The address for programs."""
        return f"http://{self._host}:{self.port}/v1"

    @property
    def page(self) -> str:
        """The address of the page of jobs, which has a secret in it."""
        return f"http://{self._host}:{self.port}/{secret_path(self._token)}/"

    def run(self) -> None:
        """Serve until `stop` or Ctrl-C; jobs that run go on."""
        self._place.jobs.start()
        try:
            asyncio.run(self._server.serve([self._socket]))
        finally:
            self._service.close()
            self._place.close()
            self._socket.close()

    def start(self) -> threading.Thread:
        """Serve in a thread, and return when the server answers."""
        thread = threading.Thread(target=self.run, name="jinx-pipeline serve", daemon=True)
        thread.start()
        limit = time.monotonic() + _STARTING_SECONDS
        while not self._server.started and thread.is_alive() and time.monotonic() < limit:
            time.sleep(0.01)
        return thread

    def stop(self) -> None:
        """End the server; open requests have a second."""
        self._server.should_exit = True


def _mcp_application(mcp: "MCPServer") -> App:
    from mcp.server.transport_security import TransportSecuritySettings

    # The guard has compared the host already.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return mcp.streamable_http_app(streamable_http_path=MCP_PATH, transport_security=security)  # pyright: ignore[reportReturnType] - ASGI


def read_token(path: Path) -> str:
    """The token in a file, which is made if it does not exist.

    Raises:
        ValueError: The token is too short, or others may read the file.
    """
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(_TOKEN_BYTES) + "\n")
    if path.stat().st_mode & 0o077:
        raise ValueError(f"{path}: others may read it; run: chmod 600 {path}")
    token = path.read_text("ascii").strip()
    if len(token) < _LEAST_TOKEN or not token.isprintable() or " " in token:
        raise ValueError(f"{path}: a token has at least {_LEAST_TOKEN} characters and no spaces")
    return token
