"""Binary values as responses: whole, in ranges, or as thumbnails."""

import mmap
import re
import tempfile
import threading
from collections import OrderedDict
from typing import Any

from starlette.responses import JSONResponse, Response

from jinx._viewer.media_type import HEAD_BYTES, mime_of
from jinx._viewer.thumbnails import Thumbnails

# Smaller files are sent as they are: the browser decodes them faster than a thumbnail is made.
SENT_AS_STORED = 128 << 10
_SLICE = 4 << 20
_CACHE_BYTES = 64 << 20
_MAX_PIXELS = 100_000_000
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")
_HEADERS = {
    # Nothing in a value may run or load anything, even if someone opens its address.
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "cache-control": "private, max-age=86400",
}


# The data from which ranges are sliced: bytes, or a mapped file.
Binary = bytes | mmap.mmap


class BytesCache:
    """The most recently used values, up to a number of bytes; of larger values only the last, in a temporary file."""

    def __init__(self, limit: int = _CACHE_BYTES) -> None:
        self._limit = limit
        self._values: OrderedDict[Any, bytes] = OrderedDict()
        self._large: tuple[Any, mmap.mmap] | None = None
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: Any) -> Binary | None:
        """A value, or None."""
        with self._lock:
            if self._large is not None and self._large[0] == key:
                return self._large[1]
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Any, value: bytes) -> None:
        """Keep a value."""
        with self._lock:
            if len(value) > self._limit:
                self._large = (key, _in_file(value))
                return
            if key in self._values:
                return
            self._values[key] = value
            self._bytes += len(value)
            while self._bytes > self._limit:
                _, dropped = self._values.popitem(last=False)
                self._bytes -= len(dropped)


def _in_file(value: bytes) -> mmap.mmap:
    """An unnamed file, which is deleted when nothing reads it any more."""
    with tempfile.TemporaryFile() as file:
        file.write(value)
        file.flush()
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def whole(data: Binary, range_header: str | None) -> Response:
    """A value, or the requested range of it: at most 4 MiB at a time, so that seeking in a long video is quick."""
    mime = mime_of(data[:HEAD_BYTES])
    headers = {**_HEADERS, "accept-ranges": "bytes"}
    if mime is None:
        headers["content-disposition"] = "attachment"
    kind = mime or "application/octet-stream"
    asked = None if range_header is None else _RANGE.fullmatch(range_header.strip())
    if asked is None:
        return Response(data[:], headers=headers, media_type=kind)
    first = int(asked[1][:20])
    last = min(int(asked[2][:20]) if asked[2] else len(data) - 1, len(data) - 1, first + _SLICE - 1)
    if first >= len(data) or last < first:
        return Response(status_code=416, headers={**headers, "content-range": f"bytes */{len(data)}"})
    headers["content-range"] = f"bytes {first}-{last}/{len(data)}"
    return Response(data[first : last + 1], status_code=206, headers=headers, media_type=kind)


def picture(data: Binary, thumbnails: Thumbnails) -> Response:
    """An image as it is shown on a card."""
    data = data[:]
    mime = mime_of(data)
    if mime is None or not mime.startswith("image/"):
        return problem("this is not an image that browsers show")
    pixels = _pixels(data)
    if pixels is not None and pixels > _MAX_PIXELS:
        return problem(f"{pixels / 1e6:,.0f} million pixels are too many to show")
    if len(data) > SENT_AS_STORED and mime != "image/svg+xml":
        try:
            small = thumbnails.make(data)
        except ValueError as error:
            return problem(str(error))
        if small is not None:
            return Response(small, headers=_HEADERS, media_type="image/jpeg")
    return Response(data, headers=_HEADERS, media_type=mime)


def problem(message: str, status: int = 415) -> Response:
    """A message about what is wrong with a value, shown on its card."""
    return JSONResponse({"error": message}, status_code=status)


def _pixels(data: bytes) -> int | None:
    """The number of pixels that an image's header states."""
    if not data.startswith((b"\x89PNG", b"\xff\xd8", b"GIF8", b"RIFF")):
        return None
    from jinx._annotate.image_size import image_size

    try:
        width, height = image_size(data)
    except ValueError:  # damaged: the browser reports it
        return None
    return width * height
