"""Refuses requests that do not come from the viewer's own page, before any of its code runs."""

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_BODY_BYTES = 1 << 20
MAX_REQUESTS = 64
_SECONDS = 30.0
# What is still read of a request that is too large, and for how long.
_DISCARDED_BYTES, _DISCARDING_SECONDS = 8 * MAX_BODY_BYTES, 2.0
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
_METHODS = ("GET", "HEAD", "POST")
_TOO_LARGE = 413


class Guard:
    """Middleware that passes requests with the secret and a known host, and adds headers to every response.

    Args:
        app: The application; it sees paths without the secret.
        secret: The first part of every path.
        hosts: Names by which the server may be addressed, without ports; None allows any name.
        touched: Is called for each request that is let through.
    """

    def __init__(self, app: App, secret: str, hosts: frozenset[str] | None, touched: Callable[[], None]) -> None:
        self.app = app
        self.secret = secret
        self.hosts = hosts
        self.touched = touched
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            if refusal[0] == _TOO_LARGE:
                await _discard(receive)
            await self.refuse(scope, send, *refusal)
            return
        self.touched()
        self._running += 1
        try:
            await self._pass(scope, receive, send)
        finally:
            self._running -= 1

    async def refuse(self, scope: Scope, send: Send, status: int, message: str) -> None:
        """Answer a request that is refused."""
        del scope
        await answer(send, status, json.dumps({"error": message}).encode(), "application/json")

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """The status and message for a request that must be refused; None for others."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        return self._wrong_address(scope, headers) or self._wrong_request(scope, headers)

    def _wrong_address(self, scope: Scope, headers: dict[bytes, str]) -> tuple[int, str] | None:
        if self.hosts is not None and _host_name(headers.get(b"host", "")) not in self.hosts:
            return 400, "this server does not have this name"
        return self._wrong_secret(scope["path"], headers)

    def _wrong_secret(self, path: str, headers: dict[bytes, str]) -> tuple[int, str] | None:
        del headers
        secret, slash, _ = path.removeprefix("/").partition("/")
        if not hmac.compare_digest(secret.encode(), self.secret.encode()) or not slash:
            return 404, "not found; use the whole address that the server printed"
        return None

    def _wrong_request(self, scope: Scope, headers: dict[bytes, str]) -> tuple[int, str] | None:
        if scope["method"] not in _METHODS:
            return 405, "this method is not known here"
        if headers.get(b"sec-fetch-site", "none") not in {"none", "same-origin"} and scope["method"] != "GET":
            return 403, "this request comes from another site"
        length = headers.get(b"content-length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            return _TOO_LARGE, "the request is too large"
        if self._running >= MAX_REQUESTS:
            return 503, "too many requests at once"
        return None

    def _inner(self, scope: Scope) -> Scope:
        """The request as the application sees it."""
        return {**scope, "path": scope["path"].removeprefix(f"/{self.secret}"), "raw_path": None}

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        inner = self._inner(scope)
        received, is_whole = 0, False
        deadline = asyncio.get_running_loop().time() + _SECONDS

        async def read() -> Message:
            nonlocal received, is_whole
            # A client that sends its request slowly is disconnected; one that waits for its answer is not.
            limit = None if is_whole else deadline - asyncio.get_running_loop().time()
            message = await asyncio.wait_for(receive(), limit)
            is_whole = not message.get("more_body", False)
            received += len(message.get("body", b""))
            if received > MAX_BODY_BYTES:
                if not is_whole:  # otherwise there is nothing to read, and it would wait for the client
                    await _discard(receive)
                raise BodyTooLargeError
            return message

        async def write(message: Message) -> None:
            if message["type"] == "http.response.start":
                names = {name.lower() for name, _ in message["headers"]}
                extra = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message["headers"], *(pair for pair in extra if pair[0] not in names)]
            # A client that does not read its answer must not occupy a thread and memory.
            await asyncio.wait_for(send(message), _SECONDS)

        try:
            await self.app(inner, read, write)
        except BodyTooLargeError:
            await self.refuse(scope, send, _TOO_LARGE, "the request is too large")
        except (TimeoutError, ConnectionError, OSError):
            return  # the client has disconnected or is too slow


class BodyTooLargeError(Exception):
    """The body of a request is larger than allowed."""


def _host_name(host: str) -> str:
    """The name in a Host header, without the port."""
    name, colon, port = host.rpartition(":")
    return name.lower() if colon and port.isdecimal() else host.lower()


async def _discard(receive: Receive) -> None:
    """Read the rest of a request: closing a connection with unread data may delete the answer that is on its way."""
    read = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(_DISCARDING_SECONDS):
            while read < _DISCARDED_BYTES:
                message = await receive()
                if not message.get("more_body", False):
                    return
                read += len(message["body"])


async def answer(send: Send, status: int, body: bytes, kind: str, extra: tuple[tuple[bytes, bytes], ...] = ()) -> None:
    """Send a short answer to a request without reading the rest of it."""
    headers = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
    headers += [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode()), *extra]
    if status == 405:  # noqa: PLR2004
        headers.append((b"allow", ", ".join(_METHODS).encode()))
    # The rest of the request is not read, so the connection cannot be used again.
    headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
