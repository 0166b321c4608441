"""Sends a request to a service, and describes errors; the key never appears in a message or an answer."""

import asyncio
import atexit
import os
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import msgspec

from jinx_pipeline.operators.api.retry_after import BUSY_STATUSES, seconds_to_wait
from jinx_pipeline.optional import require

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")

_MAX_BYTES: Final = 16 << 20
# Statuses that concern all requests: the key or the URL is wrong, or the account has no credit.
_REFUSE_ALL: Final = frozenset({401, 402, 403, 404, 405})
# 529 means that the service is overloaded.
_BUSY: Final = BUSY_STATUSES | {529}
_PASSING: Final = frozenset({408, 409, 425})
_CLOSE_SECONDS: Final = 5.0
# Turns of the event loop after a time limit, in which an answer that is there already is still read.
_LAST_TURNS: Final = 4
_QUOTA: Final = ("insufficient_quota", "billing_hard_limit_reached")


class FailedError(Exception):
    """Raised if a request gets no answer; it may be sent again.

    Attributes:
        retry_after: The seconds that the service asks to wait; None if it does not ask.
        is_late: Whether there was no answer in time.
        is_unreachable: Whether no connection was made.
    """

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        is_late: bool = False,
        is_unreachable: bool = False,
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.is_late = is_late
        self.is_unreachable = is_unreachable

    @property
    def is_overload(self) -> bool:
        """Whether the error shows that the service may have too many requests."""
        return self.is_late or self.retry_after is not None


class RefusedError(FailedError):
    """Raised if the service refuses the request, and would refuse it again.

    Attributes:
        concerns_all_rows: Whether it would refuse every request.
    """

    def __init__(self, message: str, *, concerns_all_rows: bool = False) -> None:
        super().__init__(message)
        self.concerns_all_rows = concerns_all_rows


@lru_cache(maxsize=1)
def _aiohttp() -> Any:
    return require("aiohttp", extra="llm", what="An operator that asks a language model")


class _Connections:
    """An event loop in a thread, with connections that all clients of this process share.

    The thread is its own because a notebook has a loop in its main thread.
    """

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="jinx-llm", daemon=True)
        self._thread.start()
        self._session: Any = None
        self._process = os.getpid()

    def session(self) -> Any:
        if self._session is None:
            aiohttp = _aiohttp()
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=30),
                headers={
                    "Content-Type": "application/json",
                    "User-Agent": "jinx-pipeline",
                    "Accept-Encoding": "identity",
                },
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            )
        return self._session

    def close(self) -> None:
        if self._process != os.getpid():
            return
        if self._session is not None:
            asyncio.run_coroutine_threadsafe(self._session.close(), self.loop).result(_CLOSE_SECONDS)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(_CLOSE_SECONDS)
        if not self._thread.is_alive():
            self.loop.close()


@lru_cache(maxsize=1)
def _connections() -> _Connections:
    connections = _Connections()
    atexit.register(connections.close)
    return connections


# A forked process has no event loop thread, and must not share its parent's connections.
os.register_at_fork(after_in_child=_connections.cache_clear)


def start(work: Coroutine[Any, Any, T]) -> "Future[T]":
    """Start a coroutine that posts a request, in the thread of the event loop."""
    return asyncio.run_coroutine_threadsafe(work, _connections().loop)


def call_soon(function: Callable[..., Any], *args: Any) -> None:
    """Call a function in the thread of the event loop."""
    _connections().loop.call_soon_threadsafe(function, *args)


async def post(url: str, data: bytes, key: str | None, seconds: float) -> dict[str, Any]:
    """The JSON answer of a service, a dict; a redirection is not followed, so that no other host receives the key.

    Args:
        url: The URL.
        data: The body.
        key: A key for the header `Authorization`.
        seconds: The time limit.

    Raises:
        FailedError: There is no answer.
    """
    aiohttp = _aiohttp()
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    session = _connections().session()
    try:
        async with (
            _time_limit(seconds),
            session.post(url, data=data, headers=headers, allow_redirects=False, proxy=_proxy(url)) as response,
        ):
            body = await _body(response)
    except TimeoutError:
        raise FailedError(f"no answer in {seconds:g} s", is_late=True) from None
    except aiohttp.ClientConnectorError as error:
        raise FailedError(_shown(str(error), key), is_unreachable=True) from None
    except (aiohttp.ClientError, OSError) as error:
        raise FailedError(_shown(str(error) or type(error).__name__, key)) from None
    except ValueError as error:  # aiohttp rejects a URL or header
        raise RefusedError(_shown(str(error), key), concerns_all_rows=True) from None
    if key is not None:
        body = body.replace(key.encode(), b"[key]")
    return _answer(response.status, response.headers.get("Retry-After"), body)


@asynccontextmanager
async def _time_limit(seconds: float) -> AsyncGenerator[None]:
    """Like `asyncio.timeout`, but a process that is late itself does not lose an answer that came in time, and is paid.

    The time limit and what sockets have received come in one turn of the event loop, in which the limit would win.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as limit:

        def end(turns: int) -> None:
            nonlocal handle
            if turns:
                handle = loop.call_soon(end, turns - 1)
            else:
                limit.reschedule(loop.time())

        handle: asyncio.Handle = loop.call_later(seconds, end, _LAST_TURNS)
        try:
            yield
        finally:
            handle.cancel()


async def _body(response: Any) -> bytes:
    data = bytearray()
    async for chunk in response.content.iter_any():
        data += chunk
        if len(data) > _MAX_BYTES:
            raise RefusedError(f"the answer has more than {_MAX_BYTES:,} bytes")
    return bytes(data)


def _answer(status: int, retry_after: str | None, body: bytes) -> dict[str, Any]:
    beginning = " ".join(body[:300].decode("utf-8", "replace").split())
    if status == HTTPStatus.OK:
        with suppress(ValueError):
            answer = msgspec.json.decode(body)
            if isinstance(answer, dict) and "choices" in answer:
                return answer  # pyright: ignore[reportUnknownVariableType]
        raise FailedError(f"the answer is not JSON of a chat completion: {beginning[:100]!r}")
    message = f"status {status}: {beginning}"
    if status in _REFUSE_ALL or (status in _BUSY and any(word in beginning for word in _QUOTA)):
        raise RefusedError(message, concerns_all_rows=True)
    if status in _BUSY:
        raise FailedError(message, retry_after=seconds_to_wait(retry_after))
    if status in _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise FailedError(message)
    raise RefusedError(message)


@lru_cache(maxsize=64)
def _proxy(url: str) -> str | None:
    """The proxy for a URL, from the environment."""
    parts = urlsplit(url)
    proxy = getproxies().get(parts.scheme)
    return None if proxy is None or proxy_bypass(parts.hostname or "") else proxy


def _shown(message: str, key: str | None) -> str:
    return message if key is None else message.replace(key, "[key]")
