"""Media behind URLs: only from hosts that the user named, within a time limit and a size limit."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2

    from jinx_pipeline.sample.roles import Roles


class UrlError(ValueError):
    """Raised when a URL is not allowed, or could not be read."""


def is_url(path: str) -> bool:
    """Whether a path of a medium is a URL."""
    return path.startswith(("http://", "https://"))


def fetch(url: str, roles: "Roles") -> bytes:
    """The bytes behind a URL.

    Raises:
        UrlError: Its host, or that of a redirection, is not in `roles.url_hosts`; the server fails or is too slow; the
            answer is larger than `roles.url_bytes`.
    """
    from jinx_pipeline.sample.http_client import HttpError, TooLargeError, get

    def check(location: "httpx2.URL") -> None:
        if location.host not in roles.url_hosts:
            raise UrlError(
                f"{location}: the host {location.host!r} is not in url_hosts; "
                "add it to the recipe's dataset to allow it"
            )

    try:
        answer = get(url, seconds=roles.url_seconds, max_bytes=roles.url_bytes, check=check)
    except TooLargeError as error:
        raise UrlError(f"{url}: {error} (url_bytes)") from None
    except HttpError as error:
        raise UrlError(f"{url}: {error}") from error
    if not answer.is_ok:
        raise UrlError(f"{url}: status {answer.status}: {answer.beginning}")
    return answer.body
