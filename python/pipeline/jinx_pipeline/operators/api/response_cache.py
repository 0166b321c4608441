"""Models behind URLs: what one has answered is kept, so that a request that is made again costs nothing."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from socket import gaierror
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from jinx_pipeline.operators.api.retry_after import BUSY_STATUSES, BusyError, seconds_to_wait

# Where answers are written before they are kept, in the folder of answers.
_NEW: Final = "new"
# A wrong key or a wrong address.
_REFUSALS: Final = frozenset({401, 403, 404})
_MAX_BYTES: Final = 64 << 20


class AnswerError(OSError):
    """A service did not answer as it should."""


class NoServiceError(AnswerError):
    """There is no such service, or it does not let us in; no sample would fare better."""

    concerns_all_rows = True


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
            seconds: How long the service may be silent; one that sends its answer piece by piece may take longer.
            key_variable: The environment variable with a key that is sent as a bearer token.

        Raises:
            AnswerError: There is no answer, or it is not JSON.
            NoServiceError: Nobody listens at the URL, the key is not set, or the status is 401, 403 or 404.
            BusyError: Status 429 or 503.
        """
        if urlsplit(url).scheme not in {"http", "https"}:
            raise AnswerError(f"{url}: not an http or https URL")
        body = json.dumps(request, sort_keys=True, ensure_ascii=False).encode()
        known = self._path(url, body)
        if known is not None:
            with suppress(FileNotFoundError, ValueError):  # what a machine that went down left is no answer
                return json.loads(known.read_bytes())
        data = _posted(url, body, seconds, key_variable)
        try:
            found = json.loads(data)
        except ValueError:
            raise AnswerError(f"{url}: the answer is not JSON: {data[:80]!r}") from None
        return found if known is None else self._kept(known, data, found)

    def sweep(self) -> None:
        """Remove what workers that were killed had not kept yet."""
        if self._folder is not None:
            shutil.rmtree(self._folder / _NEW, ignore_errors=True)

    def _path(self, url: str, body: bytes) -> Path | None:
        if self._folder is None:
            return None
        digest = hashlib.blake2b(url.encode() + b"\0" + body, digest_size=16).hexdigest()
        return self._folder / digest[:2] / f"{digest}.json"

    def _kept(self, path: Path, data: bytes, found: Any) -> Any:
        """The answer that is kept: the first one, where several workers asked the same at a time."""
        new = path.parent.parent / _NEW
        for folder in (new, path.parent):
            folder.mkdir(parents=True, exist_ok=True)
        # Another run may `sweep` before a worker of this one has ended; then the answer is not kept.
        with suppress(FileNotFoundError), tempfile.NamedTemporaryFile(dir=new) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            try:
                os.link(file.name, path)
            except OSError:  # it is there already, or this file system has no hard links
                with suppress(FileNotFoundError, ValueError):
                    return json.loads(path.read_bytes())
                Path(file.name).replace(path)
        return found


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
            raise NoServiceError(f"{url}: the environment variable {key_variable} with the key is not set")
        headers["Authorization"] = f"Bearer {key}"
    try:
        with _OPENER.open(Request(url, body, headers), timeout=seconds) as answer:  # noqa: S310 - the scheme was checked
            data: bytes = answer.read(_MAX_BYTES + 1)
    except HTTPError as error:
        with error:
            if error.code in BUSY_STATUSES:
                wait = seconds_to_wait(error.headers.get("Retry-After"))
                raise BusyError(f"{url} asks to wait {wait:g} s", wait) from None
            what = error.read(200).decode("utf-8", "replace")
        kind = NoServiceError if error.code in _REFUSALS else AnswerError
        raise kind(f"{url}: status {error.code}: {' '.join(what.split())}") from None
    except (OSError, HTTPException) as error:
        nobody = isinstance(getattr(error, "reason", None), ConnectionRefusedError | gaierror)
        raise (NoServiceError if nobody else AnswerError)(f"{url}: {error or type(error).__name__}") from None
    if len(data) > _MAX_BYTES:
        raise AnswerError(f"{url}: the answer has more than {_MAX_BYTES:,} bytes")
    return data
