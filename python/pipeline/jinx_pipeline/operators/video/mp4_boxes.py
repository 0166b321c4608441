"""The boxes of MP4 and QuickTime files; only their headers are read."""

import struct
from collections.abc import Iterator
from typing import IO, NamedTuple

_HEADER = struct.Struct(">I4s")
_LARGE_HEADER = struct.Struct(">Q")
# A box that contains more boxes is damaged or hostile.
_MAX_BOXES = 1000


class Box(NamedTuple):
    """A box in the file.

    Attributes:
        kind: Its four letters.
        start: Where its content begins.
        stop: Where it ends.
    """

    kind: bytes
    start: int
    stop: int


def boxes(file: IO[bytes], start: int, stop: int) -> Iterator[Box]:
    """The boxes between two positions, up to the first invalid one."""
    for _ in range(_MAX_BOXES):
        if start + _HEADER.size > stop:
            return
        file.seek(start)
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return
        size, kind = _HEADER.unpack(header)
        content = start + _HEADER.size
        if size == 1:  # the actual size follows, as 64 bits
            large = file.read(_LARGE_HEADER.size)
            if len(large) < _LARGE_HEADER.size:
                return
            size = _LARGE_HEADER.unpack(large)[0]
            content += _LARGE_HEADER.size
        end = stop if size == 0 else start + size
        if not content <= end <= stop:
            return
        yield Box(kind, content, end)
        start = end


def boxes_of(file: IO[bytes], box: Box, kind: bytes) -> Iterator[Box]:
    """The boxes of a kind in a box."""
    return (inner for inner in boxes(file, box.start, box.stop) if inner.kind == kind)


def movie_box(file: IO[bytes]) -> Box | None:
    """The box `moov` of a file; None if the file is not MP4 or QuickTime, or has no such box."""
    size = file.seek(0, 2)
    file.seek(4)
    if file.read(4) != b"ftyp":
        return None
    return next((box for box in boxes(file, 0, size) if box.kind == b"moov"), None)
