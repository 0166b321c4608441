"""The viewer for the datasets of a service: `view/KEY/`, where KEY is the name of a dataset."""

import binascii
import threading
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from typing import Any, Final

from starlette.concurrency import run_in_threadpool

from jinx._viewer.app import Viewer
from jinx._viewer.guard import App, Receive, Scope, Send
from jinx_pipeline.service.datasets import Datasets
from jinx_pipeline.service.errors import ServiceError, not_found
from jinx_pipeline.service.operations import problem

_MAX_OPEN: Final = 8


def view_address(name: str) -> str:
    """The URL of the viewer for a dataset, relative to the page of the service."""
    return f"view/{urlsafe_b64encode(name.encode()).decode().rstrip('=')}/"


class Views:
    """Opens a viewer for each dataset that someone looks at.

    Args:
        datasets: The datasets.
    """

    def __init__(self, datasets: Datasets) -> None:
        self._datasets = datasets
        self._open: OrderedDict[int, tuple[Viewer, App]] = OrderedDict()
        self._lock = threading.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request below `view/`."""
        key, slash, rest = scope["path"].removeprefix("/view/").partition("/")
        try:
            if not slash:
                raise not_found("the address of a view ends in /")
            app = await run_in_threadpool(self._app, key)
        except ServiceError as error:
            await problem(error)(scope, receive, send)
            return
        await app({**scope, "path": f"/{rest}"}, receive, send)

    def _app(self, key: str) -> App:
        try:
            name = urlsafe_b64decode(key + "=" * (-len(key) % 4)).decode()
        except (ValueError, binascii.Error):
            raise not_found("there is no such view") from None
        shown: Any = self._datasets.shown(name)
        with self._lock:
            if id(shown) not in self._open:
                viewer = Viewer([shown], {})
                self._open[id(shown)] = (viewer, viewer.application())
                while len(self._open) > _MAX_OPEN:
                    self._open.popitem(last=False)[1][0].thumbnails.close()
            self._open.move_to_end(id(shown))
            return self._open[id(shown)][1]

    def close(self) -> None:
        """End the processes that make thumbnails."""
        for viewer, _ in self._open.values():
            viewer.thumbnails.close()
