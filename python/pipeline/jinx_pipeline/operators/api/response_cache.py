"""Asks models behind URLs, and stores their answers, so that a repeated request costs nothing."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from jinx_pipeline.operators.api.answer_files import files_of
from jinx_pipeline.operators.api.retry_after import BUSY_STATUSES, BusyError, seconds_to_wait
from jinx_pipeline.sample.http_client import HttpError, TooLargeError, post

# Statuses for a wrong key or a wrong URL.
_REFUSALS: Final = frozenset({401, 403, 404})
_MAX_BYTES: Final = 64 << 20


class AnswerError(OSError):
    """Raised if a service does not answer correctly."""


class NoServiceError(AnswerError):
    """Raised when there is no such service, or it refuses access; this concerns all samples."""

    concerns_all_rows = True


class Answers:
    """Asks services, and keeps their answers.

    Args:
        folder: The directory for answers; None keeps none.
    """

    def __init__(self, folder: Path | None) -> None:
        self._files = None if folder is None else files_of(folder)

    def ask(
        self, url: str, request: Mapping[str, Any], *, seconds: float = 120.0, key_variable: str | None = None
    ) -> Any:
        """The JSON answer of a service to a request; the stored answer to an equal request is used again.

        Args:
            url: The URL of the service, such as `http://localhost:8000/v1/chat/completions`.
            request: The body: model, prompt and parameters. It identifies the answer, together with the URL.
            seconds: How long the service may be silent; an answer in pieces may take longer.
            key_variable: The environment variable with a key that is sent as a bearer token.

        Raises:
            AnswerError: There is no answer, or it is not JSON.
            NoServiceError: The URL is unreachable, the key is not set, or the status is 401, 403 or 404.
            BusyError: Status 429 or 503.
        """
        body = json.dumps(request, sort_keys=True, ensure_ascii=False).encode()
        key = hashlib.blake2b(url.encode() + b"\0" + body, digest_size=16).digest()
        if self._files is not None:
            kept = self._files.get(key)
            if kept is None:
                self._files.refresh()
                kept = self._files.get(key)
            if kept is not None:
                return kept.answer
        data = _post(url, body, seconds, key_variable)
        try:
            answer = json.loads(data)
        except ValueError:
            raise AnswerError(f"{url}: the answer is not JSON: {data[:80]!r}") from None
        return answer if self._files is None else self._files.put_first(key, answer, {"model": request.get("model")})

    def ask_all(
        self,
        url: str,
        requests: Sequence[Mapping[str, Any]],
        *,
        at_once: int = 16,
        seconds: float = 120.0,
        key_variable: str | None = None,
    ) -> list[Any]:
        """Like `ask`, with several concurrent requests; the answers are in the order of the requests.

        Args:
            url: As in `ask`.
            requests: The bodies.
            at_once: The number of concurrent requests.
            seconds: As in `ask`.
            key_variable: As in `ask`.

        Raises:
            Exception: An error of `ask`, for the first request that failed; the answers to other requests are kept.
        """

        def answer(request: Mapping[str, Any]) -> Any:
            return self.ask(url, request, seconds=seconds, key_variable=key_variable)

        with ThreadPoolExecutor(max(min(at_once, len(requests)), 1)) as pool:
            return list(pool.map(answer, requests))


def _post(url: str, body: bytes, seconds: float, key_variable: str | None) -> bytes:
    headers = {"Content-Type": "application/json"}
    if key_variable is not None:
        key = os.environ.get(key_variable)
        if not key:
            raise NoServiceError(f"{url}: the environment variable {key_variable} with the key is not set")
        headers["Authorization"] = f"Bearer {key}"
    try:
        answer = post(url, body, headers, seconds=seconds, max_bytes=_MAX_BYTES)
    except TooLargeError as error:
        raise AnswerError(f"{url}: the answer has {error}") from None
    except HttpError as error:
        raise (NoServiceError if error.is_unreachable else AnswerError)(f"{url}: {error}") from None
    if answer.status in BUSY_STATUSES:
        wait = seconds_to_wait(answer.headers.get("retry-after"))
        raise BusyError(f"{url} asks to wait {wait:g} s", wait)
    if not answer.is_ok:
        kind = NoServiceError if answer.status in _REFUSALS else AnswerError
        raise kind(f"{url}: status {answer.status}: {answer.beginning}")
    return answer.body
