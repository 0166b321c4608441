"""Files over HTTP, only from public addresses and from hosts that the user allows."""

import os
import socket
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from jinx_pipeline.sample.remote.body import Body, TransferError, shown

if TYPE_CHECKING:
    import httpcore2

_MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_OK, _PARTIAL, _UNSATISFIABLE = 200, 206, 416
_MAY_PASS = frozenset({408, 425, 429, 500, 502, 503, 504})


class PrivateAddressError(Exception):
    """Raised when a host has a private address."""


class HttpSource:
    """Files over HTTP and HTTPS.

    A host with a private, loopback or link-local address is refused, also behind a redirection or if its name resolves
    to another address later: connections go to the address that was checked.

    Args:
        seconds: How long the server may take to connect and for each piece.
        private_hosts: Hosts that may have such addresses.
    """

    def __init__(self, seconds: float, private_hosts: Sequence[str] = ()) -> None:
        self._seconds = seconds
        self._pool = _pool(frozenset(host.lower() for host in private_hosts))

    @contextmanager
    def open(self, url: str, start: int, validator: str) -> Generator[Body]:
        """See `Source.open`."""
        import httpcore2

        headers = {"User-Agent": "jinx-pipeline", "Accept-Encoding": "identity"}
        if start and validator:
            headers |= {"Range": f"bytes={start}-", "If-Range": validator}
        try:
            with self._answered(url, headers) as (status, answered, chunks):
                if status != _UNSATISFIABLE or not start:
                    yield _body(url, start, status, answered, chunks)
                    return
            with self.open(url, 0, "") as body:
                yield body
        except PrivateAddressError as error:
            raise TransferError(f"{shown(url)}: {error}") from None
        except (httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError) as error:
            raise TransferError(f"{shown(url)}: {error or type(error).__name__}", may_pass=True) from None

    @contextmanager
    def _answered(self, url: str, headers: dict[str, str]) -> "Generator[tuple[int, dict[str, str], Iterator[bytes]]]":
        """The status, headers and content of the response, after redirections."""
        timeout = {"connect": self._seconds, "read": self._seconds, "write": self._seconds, "pool": self._seconds}
        place = url
        for _ in range(_MAX_REDIRECTS + 1):
            _check(place, is_secure=url.startswith("https:"))
            given: list[tuple[str, str]] = [("Host", _host_header(place)), *headers.items()]
            with self._pool.stream("GET", place, headers=given, extensions={"timeout": timeout}) as response:
                answered = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
                if response.status not in _REDIRECTS or "location" not in answered:
                    yield response.status, answered, response.iter_stream()
                    return
            place = urljoin(place, answered["location"])
        raise TransferError(f"{shown(url)}: more than {_MAX_REDIRECTS} redirections")


def _check(url: str, *, is_secure: bool) -> None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise TransferError(f"not a URL: {error}") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        raise TransferError(f"{shown(url)}: not an http or https URL")
    if parts.username is not None:
        raise TransferError(f"{shown(url)}: a URL with a user or password; remove them")
    if is_secure and parts.scheme == "http":
        raise TransferError(f"{shown(url)}: a redirection from https to http")


def _host_header(url: str) -> str:
    return urlsplit(url).netloc


def _body(url: str, start: int, status: int, headers: dict[str, str], chunks: Iterator[bytes]) -> Body:
    length = headers.get("content-length", "")
    size = int(length) if length.isdecimal() else None
    tag = headers.get("etag", "")
    # A weak tag does not guarantee equal bytes.
    validator = tag if tag and not tag.startswith("W/") else headers.get("last-modified", "")
    if status == _PARTIAL:
        first = headers.get("content-range", "").removeprefix("bytes ").partition("-")[0]
        if not first.isdecimal() or int(first) != start:
            raise TransferError(f"{shown(url)}: the server sent another range than byte {start} on")
        return Body(start, None if size is None else start + size, validator, chunks)
    if status != _OK:
        raise TransferError(f"{shown(url)}: status {status}", may_pass=status in _MAY_PASS)
    return Body(0, size, validator, chunks)


@lru_cache(maxsize=16)
def _pool(private_hosts: frozenset[str]) -> "httpcore2.ConnectionPool":
    import httpcore2
    import httpx2

    class PublicBackend(httpcore2.SyncBackend):
        """Connects only to allowed addresses."""

        def connect_tcp(
            self,
            host: str,
            port: int,
            timeout: float | None = None,
            local_address: str | None = None,
            socket_options: Iterable[Any] | None = None,
        ) -> httpcore2.NetworkStream:
            address = _allowed_address(host, port, private_hosts)
            return super().connect_tcp(address, port, timeout, local_address, socket_options)

    return httpcore2.ConnectionPool(
        ssl_context=httpx2.create_ssl_context(),
        max_connections=64,
        max_keepalive_connections=64,
        keepalive_expiry=30.0,
        network_backend=PublicBackend(),
    )


# A forked process must not share the connections of its parent.
os.register_at_fork(after_in_child=_pool.cache_clear)


def _allowed_address(host: str, port: int, private_hosts: frozenset[str]) -> str:
    """An address of a host that is allowed.

    Raises:
        PrivateAddressError: One of its addresses is not public.
        httpcore2.ConnectError: The host has no address.
    """
    import httpcore2

    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore2.ConnectError(f"{host}: {error}") from None
    addresses = [str(entry[4][0]) for entry in found]
    if host.lower().strip("[]") not in private_hosts:
        private = next((address for address in addresses if not _is_public(address)), None)
        if private is not None:
            raise PrivateAddressError(f"the host {host} has the private address {private}; name it in private_hosts")
    return addresses[0]


def _is_public(text: str) -> bool:
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.is_global and not address.is_multicast


def is_http(url: str) -> bool:
    """Whether a URL is an HTTP URL."""
    return url.lower().startswith(("http://", "https://"))
