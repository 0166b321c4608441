"""The events of a job as server-sent events, from its files."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Final

from jinx_pipeline.service.job_files import ENDED, JobFiles
from jinx_pipeline.service.workplace import Workplace

_LOOK_SECONDS: Final = 0.2
_BEAT_SECONDS: Final = 15.0
_PART_BYTES: Final = 1 << 20


def position_of(last: str | None) -> int:
    """The position in the run's events where a stream continues, from the id of the last event that the client saw."""
    return int(last) if last is not None and last.isdecimal() and len(last) < 18 else 0  # noqa: PLR2004 - 17 digits fit into 64 bits


async def stream(place: Workplace, job: JobFiles, position: int) -> AsyncIterator[bytes]:
    """The states of a job and the events of its run, until it has ended.

    Events of the run have their place as id, so that a client can continue after a broken connection; states are sent
    when they change, and at the beginning.

    Args:
        place: The workplace.
        job: The job.
        position: Where to begin in the events of the run.
    """
    state, silent = "", 0.0
    while True:
        now = place.jobs.state(job)
        parts: list[bytes] = []
        if now != state:
            state = now
            parts.append(_event("state", json.dumps({"state": state})))
        lines, position = _lines(job, position)
        parts += [
            b"id: %d\n%s" % (at, _event("run", place.roots.hidden(line.decode(errors="replace")))) for at, line in lines
        ]
        silent = 0.0 if parts else silent + _LOOK_SECONDS
        if silent >= _BEAT_SECONDS:
            parts, silent = [b": still there\n\n"], 0.0
        if parts:
            yield b"".join(parts)
        if state in ENDED and not lines:
            return
        await asyncio.sleep(0 if lines else _LOOK_SECONDS)


def _event(kind: str, data: str) -> bytes:
    return f"event: {kind}\ndata: {data}\n\n".encode()


def _lines(job: JobFiles, position: int) -> tuple[list[tuple[int, bytes]], int]:
    """The complete lines from a position on, each with the position of its end."""
    try:
        with job.events_path.open("rb") as file:
            file.seek(min(position, file.seek(0, 2)))
            data = file.read(_PART_BYTES)
    except FileNotFoundError:
        return [], position
    lines: list[tuple[int, bytes]] = []
    for line in data.split(b"\n")[:-1]:
        position += len(line) + 1
        lines.append((position, line))
    return lines, position
