"""HTTP: one pool of connections for each process, answers of bounded size, and another try where one may help."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from socket import gaierror
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import httpx2

# After these seconds a request is sent again whose connection broke, or to which a gateway had no answer.
_PAUSES: Final = (0.1, 0.5)
# Bad gateway and gateway timeout: of what stands before a service, not its own answer.
_GATEWAY_STATUSES: Final = frozenset({502, 504})
_MAX_REDIRECTS: Final = 10


class HttpError(OSError):
    """There is no answer.

    Attributes:
        is_nobody: Nobody listens there, or there is no such host.
    """

    def __init__(self, what: str, *, is_nobody: bool = False) -> None:
        super().__init__(what)
        self.is_nobody = is_nobody


class TooLargeError(HttpError):
    """The answer is larger than was allowed."""


@dataclass(frozen=True)
class Answer:
    """What a server said.

    Attributes:
        status: Its status.
        headers: By names in lower case.
        body: The bytes, as they were sent.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_ok(self) -> bool:
        """Whether the status says so."""
        return 200 <= self.status < 300  # noqa: PLR2004 - of HTTP

    @property
    def beginning(self) -> str:
        """The first words of the body, for an error."""
        return " ".join(self.body[:200].decode("utf-8", "replace").split())


def parsed_url(url: str) -> "httpx2.URL":
    """A URL, taken apart as the client takes it.

    Raises:
        HttpError: It is none, or not of `http` and `https`.
    """
    import httpx2

    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise HttpError(f"not a URL: {error}") from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise HttpError("not an http or https URL")
    return parsed


def get(url: str, *, seconds: float, most_bytes: int, check: "Callable[[httpx2.URL], None]") -> Answer:
    """What is behind a URL, also where it leads elsewhere.

    Args:
        url: The URL.
        seconds: How long the server may take for each piece of the answer.
        most_bytes: The largest answer.
        check: Is given each URL before it is asked, that of a redirection too; it raises what forbids it.

    Raises:
        HttpError: There is no answer, it is too large, or the URL leads to others without end.
    """
    where = parsed_url(url)
    for _ in range(_MAX_REDIRECTS + 1):
        check(where)
        answer, elsewhere = _sent("GET", where, b"", {}, seconds, most_bytes)
        if elsewhere is None:
            return answer
        where = elsewhere
    raise HttpError(f"more than {_MAX_REDIRECTS} redirections")


def post(url: str, body: bytes, headers: Mapping[str, str], *, seconds: float, most_bytes: int) -> Answer:
    """What a service answers; a redirection is an answer too, because a key is for nobody else.

    Raises:
        HttpError: There is no answer, or it is too large.
    """
    return _sent("POST", parsed_url(url), body, headers, seconds, most_bytes)[0]


def _sent(  # noqa: PLR0917 - of two callers
    method: str, url: "httpx2.URL", body: bytes, headers: Mapping[str, str], seconds: float, most_bytes: int
) -> "tuple[Answer, httpx2.URL | None]":
    """The answer, and where a redirection leads."""
    import httpx2

    broken = (httpx2.NetworkError, httpx2.RemoteProtocolError, httpx2.ConnectTimeout)
    for pause in (*_PAUSES, None):
        try:
            answer, elsewhere = _sent_once(method, url, body, headers, seconds, most_bytes)
        except httpx2.HTTPError as error:
            if pause is None or not isinstance(error, broken):
                what = str(error) or type(error).__name__
                raise HttpError(what, is_nobody=_is_nobody(error)) from None
        except httpx2.InvalidURL as error:
            raise HttpError(f"a redirection to no URL: {error}") from None
        else:
            if pause is None or answer.status not in _GATEWAY_STATUSES:
                return answer, elsewhere
        time.sleep(pause)
    raise AssertionError("the last try returns or raises")


def _sent_once(  # noqa: PLR0917 - as above
    method: str, url: "httpx2.URL", body: bytes, headers: Mapping[str, str], seconds: float, most_bytes: int
) -> "tuple[Answer, httpx2.URL | None]":
    with _client().stream(method, url, content=body or None, headers=headers, timeout=seconds) as response:
        data = bytearray()
        # As they were sent: what is packed would be bounded too late.
        for chunk in response.iter_raw():
            data += chunk
            if len(data) > most_bytes:
                raise TooLargeError(f"more than {most_bytes:,} bytes")
        elsewhere = None if response.next_request is None else response.next_request.url
        answer = Answer(
            response.status_code, {name.lower(): value for name, value in response.headers.items()}, bytes(data)
        )
    return answer, elsewhere


def _is_nobody(error: BaseException) -> bool:
    """Whether nobody listens at a place, or its name is not known."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ConnectionRefusedError | gaierror):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


@lru_cache(maxsize=1)
def _client() -> "httpx2.Client":
    import httpx2

    # What one server has said about a client is nothing for the next request, which is of another row.
    cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    headers = {"User-Agent": "jinx-pipeline", "Accept-Encoding": "identity"}
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=30.0)
    return httpx2.Client(headers=headers, cookies=cookies, limits=limits)


# A process that was forked must not share the connections of its parent.
os.register_at_fork(after_in_child=_client.cache_clear)
