"""The viewer in a notebook: a server in a thread of the kernel, and a frame that shows its page."""

import json
import os
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from jinx._core import Reader
from jinx._optional import require

if TYPE_CHECKING:
    from jinx._viewer.server import ViewServer

_IDLE_SECONDS = 8 * 3600.0
_HUB = "JUPYTERHUB_SERVICE_PREFIX"


class NotebookView:
    """A running viewer; notebooks show its page.

    Attributes:
        url: The address of the page. It has a secret in it, and works until `close` or the end of the kernel.
    """

    def __init__(self, server: "ViewServer", start: str, height: int, prefix: str | None) -> None:
        self._server = server
        self._height = height
        self._source = f"{prefix or f'http://127.0.0.1:{server.port}/'}{server.secret}/{start}"
        self.url = f"{server.url}{start}"

    def close(self) -> None:
        """End the viewer."""
        self._server.stop()

    def _repr_html_(self) -> str:
        style = "border:1px solid rgba(128,128,128,.35);border-radius:8px"
        return (
            f'<iframe src="{escape(self._source)}" width="100%" height="{self._height}" style="{style}" '
            f'allow="clipboard-write; fullscreen" title="jinx view"></iframe>'
        )

    def __repr__(self) -> str:
        return f"NotebookView({self.url!r})"


def view(dataset: Reader, *, where: str, sort: str, height: int, proxy: bool | None) -> NotebookView:
    """See `Dataset.view`."""
    for module in ("starlette", "uvicorn"):
        require(module, extra="view", what="Dataset.view")
    from jinx._dataset.summary import path_of
    from jinx._viewer.app import Viewer
    from jinx._viewer.server import ViewServer
    from jinx._viewer.shown import ShownDataset

    shown = ShownDataset(dataset, path_of(dataset), is_saved=False)
    has_proxy = bool(os.environ.get(_HUB)) if proxy is None else proxy
    # Behind a proxy, requests carry the proxy's host name; the secret is what protects the page.
    server = ViewServer(Viewer([shown], {}, is_framed=True), idle_seconds=_IDLE_SECONDS, any_host=has_proxy)
    server.start()
    query = urlencode({name: text for name, text in (("where", where), ("sort", sort)) if text})
    prefix = f"{_base_url().rstrip('/')}/proxy/{server.port}/" if has_proxy else None
    return NotebookView(server, f"?{query}" if query else "", height, prefix)


def _base_url() -> str:
    """The path at which the notebook's server has its pages, according to the hub or to the server itself."""
    hub = os.environ.get(_HUB)
    if hub:
        return hub
    try:
        # Every Jupyter server writes a file about itself, named after the process that started this kernel.
        folder = Path(import_module("jupyter_core.paths").jupyter_runtime_dir())
        about = (folder / f"jpserver-{os.environ['JPY_PARENT_PID']}.json").read_text("utf-8")
        return str(json.loads(about)["base_url"])
    except (ImportError, OSError, ValueError, KeyError, TypeError):
        return "/"
