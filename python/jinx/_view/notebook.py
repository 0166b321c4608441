"""The viewer in a notebook: a server in a thread of the kernel, and a frame that shows its page."""

import os
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from jinx._core import Reader
from jinx._optional import require

if TYPE_CHECKING:
    from jinx._view.server import ViewServer

_IDLE_SECONDS = 8 * 3600.0


class NotebookView:
    """A running viewer; notebooks show its page.

    Attributes:
        url: The address of the page. It has a secret in it, and works until `close` or the end of the kernel.
    """

    def __init__(self, server: "ViewServer", start: str, height: int) -> None:
        self._server = server
        self._height = height
        self._path = f"{server.secret}/{start}"
        self.url = f"{server.url}{start}"

    def close(self) -> None:
        """End the viewer."""
        self._server.stop()

    def _repr_html_(self) -> str:
        source = f"{proxy_prefix(self._server.port) or f'http://127.0.0.1:{self._server.port}/'}{self._path}"
        style = "border:1px solid rgba(128,128,128,.35);border-radius:8px"
        return (
            f'<iframe src="{escape(source)}" width="100%" height="{self._height}" style="{style}" '
            f'allow="clipboard-write; fullscreen" title="jinx view"></iframe>'
        )

    def __repr__(self) -> str:
        return f"NotebookView({self.url!r})"


def view(dataset: Reader, *, where: str, sort: str, height: int) -> NotebookView:
    """See `Dataset.view`."""
    for module in ("starlette", "uvicorn"):
        require(module, extra="view", what="Dataset.view")
    from jinx._dataset.summary import path_of
    from jinx._view.app import Viewer
    from jinx._view.server import ViewServer
    from jinx._view.shown import ShownDataset

    shown = ShownDataset(dataset, path_of(dataset))
    # Behind a proxy, requests come with the name of the proxy; the secret is what protects the page.
    any_host = proxy_prefix(0) is not None
    server = ViewServer(Viewer([shown], {}, is_framed=True), idle_seconds=_IDLE_SECONDS, any_host=any_host)
    server.start()
    query = urlencode({name: text for name, text in (("where", where), ("sort", sort)) if text})
    return NotebookView(server, f"?{query}" if query else "", height)


def proxy_prefix(port: int) -> str | None:
    """The path at which JupyterHub's proxy shows a port; None where there is no hub."""
    prefix = os.environ.get("JUPYTERHUB_SERVICE_PREFIX")
    return None if not prefix else f"{prefix.rstrip('/')}/proxy/{port}/"
