"""Media behind URLs: only from hosts that the user named, with a time limit and a size cap."""

from http.client import HTTPException
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

if TYPE_CHECKING:
    from http.client import HTTPMessage
    from typing import IO

    from jinx_pipeline.sample.roles import Roles

_CHUNK = 1 << 16


class UrlError(ValueError):
    """A URL that may not be read, or could not be."""


def is_url(path: str) -> bool:
    """Whether a path of a medium is a URL."""
    return path.startswith(("http://", "https://"))


def fetch(url: str, roles: "Roles") -> bytes:
    """The bytes behind a URL.

    Raises:
        UrlError: Its host, or that of a redirection, is not in `roles.url_hosts`; the server fails or is too slow; the
            answer is larger than `roles.url_bytes`.
    """
    _require_host(url, roles)
    request = Request(url, headers={"User-Agent": "jinx-pipeline"})  # noqa: S310 - the scheme is checked
    try:
        with build_opener(_Redirects(roles)).open(request, timeout=roles.url_seconds) as answer:
            data = bytearray()
            while chunk := answer.read(_CHUNK):
                data += chunk
                if len(data) > roles.url_bytes:
                    raise UrlError(f"{url}: more than {roles.url_bytes:,} bytes (url_bytes)")
            return bytes(data)
    except (OSError, HTTPException) as error:
        raise UrlError(f"{url}: {error}") from error


def _require_host(url: str, roles: "Roles") -> None:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or parts.hostname not in roles.url_hosts:
        raise UrlError(
            f"{url}: the host {parts.hostname!r} is not in url_hosts; add it to the recipe's dataset to allow it"
        )


class _Redirects(HTTPRedirectHandler):
    def __init__(self, roles: "Roles") -> None:
        self._roles = roles

    def redirect_request(  # noqa: PLR0917 - as the base class has it
        self, req: Request, fp: "IO[bytes]", code: int, msg: str, headers: "HTTPMessage", newurl: str
    ) -> Request | None:
        _require_host(newurl, self._roles)
        return super().redirect_request(req, fp, code, msg, headers, newurl)
