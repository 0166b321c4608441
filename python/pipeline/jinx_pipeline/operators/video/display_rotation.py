"""How an MP4 or QuickTime file is turned for display, from its header; FFmpeg tells it only of decoded frames."""

import math
import struct
from collections.abc import Iterator
from typing import IO, NamedTuple

_HEADER = struct.Struct(">I4s")
_LARGE_HEADER = struct.Struct(">Q")
# The transformation matrix of a track, nine numbers, is at this place of its header, by the version of the header.
_MATRIX_OFFSETS = {0: 40, 1: 52}
_TURN = 360
_QUARTER = 90
# More boxes in one box are a damaged or hostile file.
_MAX_BOXES = 1000


class _Box(NamedTuple):
    kind: bytes
    start: int
    stop: int


def display_rotation(file: IO[bytes]) -> int:
    """The degrees by which frames are turned counterclockwise for display, a multiple of 90; 0 for other containers.

    Args:
        file: The video. Only the headers of its boxes are read.
    """
    size = file.seek(0, 2)
    file.seek(4)
    if file.read(4) != b"ftyp":
        return 0
    for moov in _boxes(file, 0, size, b"moov"):
        for track in _boxes(file, moov.start, moov.stop, b"trak"):
            if _is_picture(file, track):
                return next((_rotation(file, head) for head in _boxes(file, track.start, track.stop, b"tkhd")), 0)
    return 0


def _boxes(file: IO[bytes], start: int, stop: int, kind: bytes) -> Iterator[_Box]:
    """The boxes of a kind between two places."""
    for _ in range(_MAX_BOXES):
        if start + _HEADER.size > stop:
            return
        file.seek(start)
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return
        size, name = _HEADER.unpack(header)
        content = start + _HEADER.size
        if size == 1:  # the size follows, as 64 bits
            large = file.read(_LARGE_HEADER.size)
            if len(large) < _LARGE_HEADER.size:
                return
            size = _LARGE_HEADER.unpack(large)[0]
            content += _LARGE_HEADER.size
        end = stop if size == 0 else start + size
        if not content <= end <= stop:
            return
        if name == kind:
            yield _Box(name, content, end)
        start = end


def _is_picture(file: IO[bytes], track: _Box) -> bool:
    for media in _boxes(file, track.start, track.stop, b"mdia"):
        for handler in _boxes(file, media.start, media.stop, b"hdlr"):
            file.seek(handler.start + 8)
            return file.read(4) == b"vide"
    return False


def _rotation(file: IO[bytes], head: _Box) -> int:
    file.seek(head.start)
    version = file.read(1)
    offset = _MATRIX_OFFSETS.get(version[0] if version else -1)
    if offset is None:
        return 0
    file.seek(head.start + offset)
    matrix = file.read(8)
    if len(matrix) < 8:  # noqa: PLR2004 - two numbers
        return 0
    a, b = struct.unpack(">ii", matrix)
    return round(-math.degrees(math.atan2(b, a)) / _QUARTER) * _QUARTER % _TURN
