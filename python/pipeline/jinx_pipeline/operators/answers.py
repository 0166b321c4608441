"""Models behind URLs: what one has answered is kept, so that a request that is made again costs nothing."""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

_BUSY: Final = frozenset({429, 503})
_WAIT_SECONDS: Final = 5.0
_MAX_WAIT_SECONDS: Final = 600.0
_MAX_BYTES: Final = 64 << 20


class AnswerError(OSError):
    """A service did not answer as it should."""


class BusyError(Exception):
    """A service asks to wait; the task is tried again, and its row gets no strike.

    Attributes:
        retry_after: For how many seconds.
    """

    def __init__(self, url: str, retry_after: float) -> None:
        super().__init__(f"{url} asks to wait {retry_after:g} s")
        self.retry_after = retry_after


class Answers:
    """Asks services, and keeps what they answered.

    Args:
        folder: Where answers are kept, a file each; None keeps none.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def ask(
        self, url: str, request: Mapping[str, Any], *, seconds: float = 120.0, key_variable: str | None = None
    ) -> Any:
        """The JSON that a service answers to a request: from an earlier time if it was asked the same before.

        Args:
            url: Such as `http://localhost:8000/v1/chat/completions`.
            request: The body: model, prompt and parameters. It identifies the answer, together with the URL.
            seconds: How long the service may take.
            key_variable: The environment variable with a key that is sent as a bearer token.

        Raises:
            AnswerError: There is no answer, or it is not JSON.
            BusyError: Status 429 or 503.
        """
        if urlsplit(url).scheme not in {"http", "https"}:
            raise AnswerError(f"{url}: not an http or https URL")
        body = json.dumps(request, sort_keys=True, ensure_ascii=False).encode()
        known = self._path(url, body)
        if known is not None and known.exists():
            return json.loads(known.read_bytes())
        data = _posted(url, body, seconds, key_variable)
        try:
            found = json.loads(data)
        except ValueError:
            raise AnswerError(f"{url}: the answer is not JSON: {data[:80]!r}") from None
        if known is not None:
            _keep(known, data)
        return found

    def _path(self, url: str, body: bytes) -> Path | None:
        if self._folder is None:
            return None
        digest = hashlib.blake2b(url.encode() + b"\0" + body, digest_size=16).hexdigest()
        return self._folder / digest[:2] / f"{digest}.json"


class _NoRedirects(HTTPRedirectHandler):
    """A key is for the service that the operator names, and no other."""

    def redirect_request(self, *_: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - whatever it is
        return None


_OPENER: Final = build_opener(_NoRedirects)


def _posted(url: str, body: bytes, seconds: float, key_variable: str | None) -> bytes:
    headers = {"Content-Type": "application/json"}
    if key_variable is not None:
        key = os.environ.get(key_variable)
        if not key:
            raise AnswerError(f"{url}: the environment variable {key_variable} with the key is not set")
        headers["Authorization"] = f"Bearer {key}"
    try:
        with _OPENER.open(Request(url, body, headers), timeout=seconds) as answer:  # noqa: S310 - the scheme was checked
            data: bytes = answer.read(_MAX_BYTES + 1)
    except HTTPError as error:
        with error:
            if error.code in _BUSY:
                raise BusyError(url, _seconds_of(error.headers.get("Retry-After"))) from None
            what = error.read(200).decode("utf-8", "replace")
        raise AnswerError(f"{url}: status {error.code}: {' '.join(what.split())}") from None
    except (OSError, HTTPException) as error:
        raise AnswerError(f"{url}: {error or type(error).__name__}") from None
    if len(data) > _MAX_BYTES:
        raise AnswerError(f"{url}: the answer has more than {_MAX_BYTES:,} bytes")
    return data


def _seconds_of(header: str | None) -> float:
    """What `Retry-After` asks for; a date, or nothing, is a few seconds."""
    try:
        wanted = float(header or _WAIT_SECONDS)
    except ValueError:
        wanted = _WAIT_SECONDS
    return min(max(wanted, 0.0), _MAX_WAIT_SECONDS) if wanted == wanted else _WAIT_SECONDS  # noqa: PLR0124 - NaN


def _keep(path: Path, data: bytes) -> None:
    """Put an answer in its place at once: several workers may be told the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
        try:
            file.write(data)
            file.close()
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
