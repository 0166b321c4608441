"""An HTTP client with one connection pool per process, limited response sizes, and retries."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from socket import gaierror
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import httpx2

# The delays before a request is repeated because the connection broke or a gateway got no answer.
_PAUSES: Final = (0.1, 0.5)
# Bad gateway and gateway timeout: a proxy returns these, not the service itself.
_GATEWAY_STATUSES: Final = frozenset({502, 504})
_MAX_REDIRECTS: Final = 10


class HttpError(OSError):
    """Raised when a request gets no answer.

    Attributes:
        is_unreachable: The connection was refused, or the host does not exist.
    """

    def __init__(self, message: str, *, is_unreachable: bool = False) -> None:
        super().__init__(message)
        self.is_unreachable = is_unreachable


class TooLargeError(HttpError):
    """Raised when the answer is larger than the limit."""


@dataclass(frozen=True)
class Answer:
    """The response of a server.

    Attributes:
        status: The status code.
        headers: The headers, with names in lower case.
        body: The bytes as they were sent.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_ok(self) -> bool:
        """Whether the status means success."""
        return 200 <= self.status < 300  # noqa: PLR2004 - the status codes for success

    @property
    def beginning(self) -> str:
        """The beginning of the body, for an error message."""
        return " ".join(self.body[:200].decode("utf-8", "replace").split())


def parsed_url(url: str) -> "httpx2.URL":
    """A URL, parsed in the same way as by the client.

    Raises:
        HttpError: The string is not a valid `http` or `https` URL.
    """
    import httpx2

    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise HttpError(f"not a URL: {error}") from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise HttpError("not an http or https URL")
    return parsed


def get(url: str, *, seconds: float, max_bytes: int, check: "Callable[[httpx2.URL], None]") -> Answer:
    """Get a URL, following redirections.

    Args:
        url: The URL.
        seconds: How long the server may take for each piece of the answer.
        max_bytes: The size limit of the answer.
        check: Called with each URL before it is requested, also of a redirection; it raises an error to forbid it.

    Raises:
        HttpError: There is no answer, the answer is too large, or there are too many redirections.
    """
    location = parsed_url(url)
    for _ in range(_MAX_REDIRECTS + 1):
        check(location)
        answer, redirection = _send("GET", location, b"", {}, seconds, max_bytes)
        if redirection is None:
            return answer
        location = redirection
    raise HttpError(f"more than {_MAX_REDIRECTS} redirections")


def post(url: str, body: bytes, headers: Mapping[str, str], *, seconds: float, max_bytes: int) -> Answer:
    """Post to a service; redirections are not followed, so that no other host receives a key.

    Raises:
        HttpError: There is no answer, or the answer is too large.
    """
    return _send("POST", parsed_url(url), body, headers, seconds, max_bytes)[0]


def get_from_service(url: str, headers: Mapping[str, str], *, seconds: float, max_bytes: int) -> Answer:
    """Get from a service; redirections are not followed, so that no other host receives a key.

    Raises:
        HttpError: There is no answer, or the answer is too large.
    """
    return _send("GET", parsed_url(url), b"", headers, seconds, max_bytes)[0]


def _send(  # noqa: PLR0917 - has few callers
    method: str, url: "httpx2.URL", body: bytes, headers: Mapping[str, str], seconds: float, max_bytes: int
) -> "tuple[Answer, httpx2.URL | None]":
    """Send a request, with retries; returns the answer, and the URL of a redirection."""
    import httpx2

    broken = (httpx2.NetworkError, httpx2.RemoteProtocolError, httpx2.ConnectTimeout)
    for pause in (*_PAUSES, None):
        try:
            answer, redirection = _send_once(method, url, body, headers, seconds, max_bytes)
        except httpx2.HTTPError as error:
            if pause is None or not isinstance(error, broken):
                message = str(error) or type(error).__name__
                raise HttpError(message, is_unreachable=_is_unreachable(error)) from None
        except httpx2.InvalidURL as error:
            raise HttpError(f"a redirection to an invalid URL: {error}") from None
        else:
            if pause is None or answer.status not in _GATEWAY_STATUSES:
                return answer, redirection
        time.sleep(pause)
    raise AssertionError("the last try returns or raises")


def _send_once(  # noqa: PLR0917 - as above
    method: str, url: "httpx2.URL", body: bytes, headers: Mapping[str, str], seconds: float, max_bytes: int
) -> "tuple[Answer, httpx2.URL | None]":
    with _client().stream(method, url, content=body or None, headers=headers, timeout=seconds) as response:
        data = bytearray()
        # Read raw bytes: decompressed data could exceed the limit before it is checked.
        for chunk in response.iter_raw():
            data += chunk
            if len(data) > max_bytes:
                raise TooLargeError(f"more than {max_bytes:,} bytes")
        redirection = None if response.next_request is None else response.next_request.url
        answer = Answer(
            response.status_code, {name.lower(): value for name, value in response.headers.items()}, bytes(data)
        )
    return answer, redirection


def _is_unreachable(error: BaseException) -> bool:
    """Whether a connection was refused, or the host does not exist."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ConnectionRefusedError | gaierror):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


@lru_cache(maxsize=1)
def _client() -> "httpx2.Client":
    from http.cookiejar import CookieJar, DefaultCookiePolicy

    import httpx2

    # Cookies must not carry over to the next request, which belongs to another row.
    cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    headers = {"User-Agent": "jinx-pipeline", "Accept-Encoding": "identity"}
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=30.0)
    return httpx2.Client(headers=headers, cookies=cookies, limits=limits)


# A forked process must not share its parent's connections.
os.register_at_fork(after_in_child=_client.cache_clear)
