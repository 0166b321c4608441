"""Runs the service: socket, application and jobs."""

import asyncio
import threading
from typing import TYPE_CHECKING

import uvicorn

from jinx._viewer.guard import MAX_REQUESTS, App
from jinx._viewer.server import LOCAL, MAX_HEAD_BYTES, TimedProtocol, addressed, bound, serve_in_thread
from jinx._viewer.token import secret_path
from jinx_pipeline.service.app import MCP_PATH, Service, ServiceGuard, with_mcp
from jinx_pipeline.service.workplace import Workplace

if TYPE_CHECKING:
    import socket

    from mcp.server import MCPServer


class Server:
    """A running service.

    Args:
        place: The workplace; the server closes it.
        token: The token that clients send.
        host: The interface to listen on.
        port: The port; 0 takes a free one.
        names: Other names by which clients may address the server, such as that of a proxy.
        mcp: A server that speaks MCP at `/mcp`; None if there is none.
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
        self._place, self._token = place, token
        self._host, hosts = addressed(host, names)
        self._service = Service(place)
        app: App = self._service.application()
        if mcp is not None:
            app = with_mcp(app, _mcp_application(mcp))
        self._socket: socket.socket = bound(host, port)
        self.port: int = self._socket.getsockname()[1]
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
            h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        )
        self._server = uvicorn.Server(config)

    @property
    def url(self) -> str:
        """The URL for programs."""
        return f"http://{self._host}:{self.port}/v1"

    @property
    def page(self) -> str:
        """The URL of the page of jobs, which contains a secret."""
        return f"http://{self._host}:{self.port}/{secret_path(self._token)}/"

    def run(self) -> None:
        """Serve until `stop` or Ctrl-C; running jobs continue."""
        self._place.jobs.start()
        try:
            asyncio.run(self._server.serve([self._socket]))
        finally:
            self._service.close()
            self._place.close()
            self._socket.close()

    def start(self) -> threading.Thread:
        """Serve in a thread, and return when the server answers."""
        return serve_in_thread(self.run, self._server, "jinx-pipeline serve")

    def stop(self) -> None:
        """End the server; open requests have a second."""
        self._server.should_exit = True


def _mcp_application(mcp: "MCPServer") -> App:
    from mcp.server.transport_security import TransportSecuritySettings

    # The guard has already checked the host.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return mcp.streamable_http_app(streamable_http_path=MCP_PATH, transport_security=security)  # pyright: ignore[reportReturnType] - is an ASGI app
