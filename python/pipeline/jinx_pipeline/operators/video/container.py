"""Opens videos with PyAV."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media, MediaError


@contextmanager
def opened(medium: Media, operator: str) -> Generator[Any]:
    """A PyAV container with a video stream.

    Args:
        medium: The video.
        operator: The name of the operator, for the message if PyAV is missing.

    Raises:
        MediaError: The medium is not a video, or is damaged.
    """
    av = require("av", extra="video", what=operator)
    try:
        with av.open(medium.open()) as container:
            if not container.streams.video:
                raise MediaError(f"{medium!r} has no video stream")
            yield container
    except av.FFmpegError as error:
        raise MediaError(f"{medium!r} is not a video that FFmpeg can read: {error}") from error


def duration_of(container: Any) -> float:
    """The length of the video stream in seconds, from its packets if the header does not have it."""
    stream = container.streams.video[0]
    if stream.duration is not None:
        return float(stream.duration * stream.time_base)
    if container.duration is not None:
        return container.duration / 1_000_000
    ends = [
        (packet.pts + (packet.duration or 0)) * packet.time_base
        for packet in container.demux(stream)
        if packet.pts is not None
    ]
    return float(max(ends, default=0.0))
