"""Files of OpenAI's Batch API: requests that wait for their answers, and the answers.

A request is a line with its digest as `custom_id`, and the body that the client would send; an answer is a line with
the same `custom_id` and the response.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, Final
from urllib.parse import urlsplit

import msgspec

REQUESTS, ANSWERS, KEPT, WAITING = "requests", "answers", "kept", "waiting"
"""The directories for requests to send, answers that came back, answers as the client keeps them, and parts."""
_OUTPUTS, _REQUEST_FILES = "outputs.json", "requests-*.jsonl"
WAITS: Final = "the request waits for its answer"
"""The error of a sample whose requests are collected."""

# OpenAI's limits for one file, less some room: the last line may exceed the limit.
_MAX_LINES, _MAX_BYTES = 50_000, 190_000_000
_KEY_DIGITS: Final = 32


class PendingError(RuntimeError):
    """Raised when a run needs answers that are not there yet."""

    concerns_all_rows = True


@dataclass(frozen=True)
class BatchAnswer:
    """The answer to a request.

    Attributes:
        key: The digest of the request.
        body: The body of the response; None if there is none.
        problem: Why there is none.
    """

    key: bytes
    body: dict[str, Any] | None
    problem: str = ""


class Waiting:
    """The requests of this process that wait for an answer, each once, in a file of the directory.

    Args:
        folder: The directory of the batch.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / WAITING
        self._known: set[bytes] = set()
        self._lock = Lock()

    def add(self, requests: Mapping[bytes, bytes], url: str) -> None:
        """Add requests to a URL, by digest."""
        lines = [
            b'{"custom_id":"%b","method":"POST","url":"%b","body":%b}\n' % (key.hex().encode(), _path(url), body)
            for key, body in requests.items()
            if key not in self._known
        ]
        with self._lock:
            self._known.update(requests)
            if lines:
                self._folder.mkdir(parents=True, exist_ok=True)
                with (self._folder / f"{os.uname().nodename}-{os.getpid()}.jsonl").open("ab") as file:
                    file.write(b"".join(lines))


@lru_cache(maxsize=8)
def waiting_in(folder: Path) -> Waiting:
    """The requests of this process in a directory."""
    return Waiting(folder)


os.register_at_fork(after_in_child=waiting_in.cache_clear)


def _path(url: str) -> bytes:
    """The path of a URL from its version on, as the Batch API requires: `/v1/chat/completions`."""
    path = urlsplit(url).path
    at = path.find("/v1/")
    return (path[at:] if at >= 0 else path).encode()


def refuse_others(folder: Path, outputs: list[str]) -> None:
    """Refuse a directory with requests of another recipe: they would be replaced by those of this one.

    Args:
        folder: The directory of the batch.
        outputs: What the recipe writes, which tells recipes apart.

    Raises:
        ValueError: Requests of a recipe with other outputs wait in the directory.
    """
    try:
        known = json.loads((folder / _OUTPUTS).read_bytes())
    except (FileNotFoundError, ValueError):
        return
    if known != outputs and any(file.stat().st_size for file in (folder / REQUESTS).glob(_REQUEST_FILES)):
        others = ", ".join(map(str, known)) if isinstance(known, list) else "another output"
        raise ValueError(
            f"{folder}: requests of the recipe that writes {others} wait here, and would be replaced; give each recipe "
            f"its own directory, or remove {folder / _OUTPUTS}"
        )


def gathered(folder: Path, outputs: list[str]) -> int:
    """Put the requests of all processes into files that the Batch API accepts; returns their number.

    Args:
        folder: The directory of the batch.
        outputs: What the recipe writes.
    """
    target = folder / REQUESTS
    target.mkdir(parents=True, exist_ok=True)
    (folder / _OUTPUTS).write_text(json.dumps(outputs))
    for old in target.glob(_REQUEST_FILES):
        old.unlink()
    seen: set[bytes] = set()
    file: BinaryIO | None = None
    lines = size = files = 0
    try:
        for line in _lines(folder / WAITING):
            key = line.split(b'"', 4)[3]
            if key in seen:
                continue
            seen.add(key)
            if file is None or lines >= _MAX_LINES or size + len(line) > _MAX_BYTES:
                if file is not None:
                    file.close()
                files, lines, size = files + 1, 0, 0
                file = (target / f"requests-{files:05}.jsonl").open("wb")
            file.write(line)
            lines, size = lines + 1, size + len(line)
    finally:
        if file is not None:
            file.close()
    return len(seen)


def _lines(folder: Path) -> Iterator[bytes]:
    """The complete lines of the files in a directory."""
    for path in sorted(folder.glob("*.jsonl")):
        with path.open("rb") as file:
            yield from (line for line in file if line.endswith(b"\n"))


def answers_in(paths: Iterable[Path]) -> Iterator[BatchAnswer]:
    """The answers in files; a line without an answer gives a problem and an empty key.

    Args:
        paths: The files that the service made: of answers, or of errors.
    """
    for path in paths:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _answer(line, f"{path.name}, line {number}")


def _answer(line: bytes, place: str) -> BatchAnswer:
    try:
        record = msgspec.json.decode(line)
        name = record["custom_id"]
        key = bytes.fromhex(name) if len(name) == _KEY_DIGITS else b""
    except (ValueError, TypeError, KeyError, RecursionError):
        return BatchAnswer(b"", None, f"{place}: not an answer to a request")
    if not key:
        return BatchAnswer(b"", None, f"{place}: custom_id is not the digest of a request")
    response: Any = record.get("response")
    body: Any = response.get("body") if isinstance(response, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if isinstance(body, dict) and isinstance(body.get("choices"), list) and response.get("status_code") == 200:  # noqa: PLR2004  # pyright: ignore[reportUnknownMemberType]
        return BatchAnswer(key, body)  # pyright: ignore[reportUnknownArgumentType]
    error: Any = record.get("error") or body or response
    return BatchAnswer(key, None, f"{place}: {msgspec.json.encode(error).decode()[:200]}")
