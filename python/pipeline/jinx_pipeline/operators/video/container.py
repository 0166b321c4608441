"""Opens videos with PyAV, and reads facts from their headers."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from fractions import Fraction
from typing import IO, Any

from jinx_pipeline.operators.video.display_rotation import display_rotation
from jinx_pipeline.operators.video.mp4_facts import plain_facts
from jinx_pipeline.operators.video.video_facts import VideoFacts
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media, MediaError

MAX_PIXELS = 178_956_970
"""The number of pixels of a frame above which a video is refused; Pillow's limit for images."""

# A playlist must not make FFmpeg open other files or URLs.
_SAFE = {"protocol_whitelist": "none"}
_MAGIC_BYTES = 8
_DURATION = re.compile(r"(\d{1,6}):(\d\d):(\d\d(?:\.\d{1,9})?)", re.ASCII)
# FFmpeg decodes the first frames of a file, unless it has no decoder and must not read ahead.
_HEADERS_ONLY = {**_SAFE, "codec_whitelist": "none", "probesize": "32", "analyzeduration": "0"}


def facts_of(medium: Media, operator: str) -> VideoFacts:
    """The facts in a video's header, which is read once. A frame is decoded only if the header has no frame size.

    Args:
        medium: The video.
        operator: The name of the operator, for the message if PyAV is missing.

    Raises:
        MediaError: The medium is not a video, or is damaged.
    """

    def read(medium: Media) -> VideoFacts:
        with medium.stream() as file:
            facts = plain_facts(file)
            if facts is not None:
                return facts
            for options in (_HEADERS_ONLY, _SAFE):
                file.seek(0)
                with _container(medium, file, operator, options) as container:
                    stream = container.streams.video[0]
                    if stream.codec_context.width > 0 and stream.codec_context.height > 0:
                        return _facts(container, stream, file)
        raise MediaError(f"{medium!r} has a picture of 0 pixels")

    return medium.fact("video facts", read)


@contextmanager
def opened(medium: Media, operator: str) -> Generator[Any]:
    """A PyAV container with a video stream, which reads the medium in ranges and decodes in one thread.

    Args:
        medium: The video.
        operator: The name of the operator, for the message if PyAV is missing.

    Raises:
        MediaError: The medium is not a video, is damaged, or has too many pixels.
    """
    with medium.stream() as file, _container(medium, file, operator, _SAFE) as container:
        stream = container.streams.video[0]
        stream.codec_context.thread_count = 1
        width, height = stream.codec_context.width, stream.codec_context.height
        if width * height > MAX_PIXELS:
            raise MediaError(f"{medium!r} has frames of {width} x {height} pixels; the limit is {MAX_PIXELS} pixels")
        yield container


def duration_of(container: Any) -> float:
    """The length of the video stream in seconds, from its packets if the header does not state it."""
    stream = container.streams.video[0]
    if stream.duration is not None:
        seconds = float(stream.duration * stream.time_base)
    else:
        seconds = (container.duration or 0) / 1_000_000
    if seconds:
        # For Matroska, FFmpeg reports the duration of the longest stream.
        tagged = _tagged_seconds(stream) if "matroska" in container.format.name else None
        return min(seconds, tagged or seconds)
    end, count = 0.0, 0
    for packet in container.demux(stream):
        count += packet.size > 0
        if packet.pts is not None:
            end = max(end, float((packet.pts + (packet.duration or 0)) * packet.time_base))
    # A raw stream has no timestamps.
    return end or (float(count / stream.average_rate) if stream.average_rate else 0.0)


def _tagged_seconds(stream: Any) -> float | None:
    """The duration in the tags of a Matroska stream (`00:00:02.000000000`); None if there is none."""
    text = next((value for name, value in stream.metadata.items() if name.upper().startswith("DURATION")), "")
    found = _DURATION.fullmatch(text)
    return None if found is None else int(found[1]) * 3600 + int(found[2]) * 60 + float(found[3])


@contextmanager
def _container(medium: Media, file: IO[bytes], operator: str, options: dict[str, str]) -> Generator[Any]:
    av = require("av", extra="video", what=operator)
    try:
        with av.open(file, format=_format(file), options=options, metadata_errors="replace") as container:
            if not container.streams.video:
                raise MediaError(f"{medium!r} has no video stream")
            if container.streams.video[0].codec_context is None:
                raise MediaError(f"{medium!r} has a picture in a codec that FFmpeg does not have")
            yield container
    except av.FFmpegError as error:
        raise MediaError(f"{medium!r} is not a video that FFmpeg can read: {error.strerror}") from error


def _format(file: IO[bytes]) -> str | None:
    """The format, if the first bytes of a file identify it: FFmpeg then need not try its demuxers."""
    place = file.tell()
    start = file.read(_MAGIC_BYTES)
    file.seek(place)
    return "mov" if start[4:8] == b"ftyp" else "matroska" if start[:4] == b"\x1aE\xdf\xa3" else None


def _facts(container: Any, stream: Any, file: IO[bytes]) -> VideoFacts:
    context = stream.codec_context
    name, rate, frames = context.codec.canonical_name, stream.average_rate, stream.frames
    ratio = stream.sample_aspect_ratio or Fraction(1)
    seconds = duration_of(container)
    return VideoFacts(context.width, context.height, display_rotation(file), ratio, seconds, rate, frames, name)
