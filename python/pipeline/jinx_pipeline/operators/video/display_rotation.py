"""How an MP4 or QuickTime file is turned for display, from its header; FFmpeg only reports this for decoded frames."""

import math
import struct
from typing import IO

from jinx_pipeline.operators.video.mp4_boxes import Box, boxes_of, movie_box

MATRIX_OFFSETS = {0: 40, 1: 52}
"""Where the transformation matrix of a track, nine numbers, is in the box `tkhd`, by the version of the box."""
_TURN = 360
_QUARTER = 90


def display_rotation(file: IO[bytes]) -> int:
    """The degrees by which frames are turned counterclockwise for display, a multiple of 90; 0 for other containers.

    Args:
        file: The video. Only the headers of its boxes are read.
    """
    movie = movie_box(file)
    if movie is None:
        return 0
    for track in boxes_of(file, movie, b"trak"):
        if _is_picture(file, track):
            return next((_rotation(file, head) for head in boxes_of(file, track, b"tkhd")), 0)
    return 0


def rotation_of(a: int, b: int) -> int:
    """The degrees for the first two numbers of a transformation matrix."""
    return round(-math.degrees(math.atan2(b, a)) / _QUARTER) * _QUARTER % _TURN


def _is_picture(file: IO[bytes], track: Box) -> bool:
    for media in boxes_of(file, track, b"mdia"):
        for handler in boxes_of(file, media, b"hdlr"):
            file.seek(handler.start + 8)
            return file.read(4) == b"vide"
    return False


def _rotation(file: IO[bytes], head: Box) -> int:
    file.seek(head.start)
    version = file.read(1)
    offset = MATRIX_OFFSETS.get(version[0] if version else -1)
    if offset is None:
        return 0
    file.seek(head.start + offset)
    matrix = file.read(8)
    if len(matrix) < 8:  # noqa: PLR2004 - the matrix has at least two numbers
        return 0
    return rotation_of(*struct.unpack(">ii", matrix))
