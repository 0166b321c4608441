"""Downloads of files, with limits, which resume where an earlier attempt stopped."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from jinx_pipeline.sample.remote.body import Body, Source, TransferError, shown

_PAUSES = (0.2, 1.0)


@dataclass(frozen=True)
class Limits:
    """The limits of a download.

    Attributes:
        bytes: The largest size of a file.
        seconds: How long a file may take in all.
    """

    bytes: int
    seconds: float


def read(source: Source, url: str, limits: Limits) -> bytes:
    """The content of a file.

    Raises:
        TransferError: It cannot be read, or exceeds a limit.
    """
    data = bytearray()
    validator = ""
    deadline = time.monotonic() + limits.seconds

    def receive() -> None:
        nonlocal validator
        with source.open(url, len(data), validator) as body:
            validator = body.validator
            del data[body.start :]
            _receive(url, body, limits, deadline, data.extend)

    _with_retries(receive)
    return bytes(data)


def save(source: Source, url: str, file: Path, limits: Limits) -> None:
    """Download a file; bytes in `.NAME.part` from an earlier attempt are not downloaded again.

    Raises:
        TransferError: It cannot be read, or exceeds a limit.
    """
    part, note = file.with_name(f".{file.name}.part"), file.with_name(f".{file.name}.part.json")
    deadline = time.monotonic() + limits.seconds
    file.parent.mkdir(parents=True, exist_ok=True)

    def receive() -> None:
        start, validator = _left(part, note)
        with source.open(url, start, validator) as body, part.open("r+b" if part.exists() else "wb") as out:
            out.truncate(body.start)
            out.seek(body.start)
            note.write_text(json.dumps({"validator": body.validator}), "utf-8")
            _receive(url, body, limits, deadline, out.write)
            out.flush()
            os.fsync(out.fileno())

    try:
        _with_retries(receive)
    except TransferError as error:
        if not error.may_pass:
            part.unlink(missing_ok=True)
            note.unlink(missing_ok=True)
        raise
    part.replace(file)
    note.unlink(missing_ok=True)


def _left(part: Path, note: Path) -> tuple[int, str]:
    """The bytes left by an earlier attempt, and the version of the file to which they belong."""
    try:
        validator = json.loads(note.read_text("utf-8"))["validator"]
        size = part.stat().st_size
    except (OSError, ValueError, KeyError, TypeError):
        return 0, ""
    return (size, validator) if isinstance(validator, str) and validator else (0, "")


def _receive(url: str, body: Body, limits: Limits, deadline: float, write: Callable[[bytes], object]) -> None:
    received = body.start
    if body.size is not None and body.size > limits.bytes:
        raise TransferError(f"{shown(url)}: {body.size:,} bytes; at most {limits.bytes:,} are allowed")
    for chunk in body.chunks:
        received += len(chunk)
        if received > limits.bytes:
            raise TransferError(f"{shown(url)}: more than {limits.bytes:,} bytes")
        if time.monotonic() > deadline:
            raise TransferError(f"{shown(url)}: it took more than {limits.seconds:g} seconds")
        write(chunk)
    if body.size is not None and received != body.size:
        raise TransferError(f"{shown(url)}: {received:,} of {body.size:,} bytes arrived", may_pass=True)


def _with_retries(receive: Callable[[], None]) -> None:
    for pause in (*_PAUSES, None):
        try:
            receive()
        except TransferError as error:
            if pause is None or not error.may_pass:
                raise
            time.sleep(pause)
        else:
            return
