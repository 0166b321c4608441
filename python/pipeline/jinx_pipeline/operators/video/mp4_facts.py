"""The facts of plain MP4 and QuickTime files, from the headers of their boxes.

FFmpeg reads all tables of a file when it opens it, which are megabytes for a film, and sets up a decoder. This reads a
few kB. Whatever is not plain is left to FFmpeg: fragments, several pictures, edits that leave something out, codecs
whose header is needed, numbers that contradict each other. Tests compare the facts with those of FFmpeg.
"""

import struct
from fractions import Fraction
from typing import IO

import numpy as np

from jinx_pipeline.operators.video.display_rotation import MATRIX_OFFSETS, rotation_of
from jinx_pipeline.operators.video.mp4_boxes import Box, boxes, movie_box
from jinx_pipeline.operators.video.video_facts import VideoFacts

_CODECS = {b"avc1": "h264", b"avc3": "h264", b"hvc1": "hevc", b"hev1": "hevc", b"av01": "av1", b"vp09": "vp9"}
# The position of the time scale and the duration in the boxes `mdhd` and `mvhd`, by box version.
_TIMES = {0: struct.Struct(">12xII"), 1: struct.Struct(">20xIQ")}
_MATRIX = struct.Struct(">9iII")
_ONE = 1 << 16
# The first two rows of the matrices for quarter turns.
_TURNS = {(_ONE, 0, 0, 0, _ONE, 0), (0, _ONE, 0, -_ONE, 0, 0), (-_ONE, 0, 0, 0, -_ONE, 0), (0, -_ONE, 0, _ONE, 0, 0)}
_LAST = 1 << 30
# The layout of a sample description: its size, kind, width and height; and the length of the part before its boxes.
_DESCRIPTION = struct.Struct(">4xII4s24xHH")
_DESCRIPTION_BYTES = 8 + 86
_EDITS = {0: struct.Struct(">4xIIii"), 1: struct.Struct(">4xIQqi")}
# Tables of times with more changes than this are left to FFmpeg.
_MAX_CHANGES = 1 << 15
_MAX_TICKS = 1 << 31


class _UnusualError(Exception):
    """Raised if the file is not plain."""


def plain_facts(file: IO[bytes]) -> VideoFacts | None:
    """The facts of a file, or None if it is not a plain MP4 or QuickTime file.

    Args:
        file: The video. Only the headers of its boxes are read.
    """
    try:
        return _facts(file)
    except (_UnusualError, struct.error):
        return None


def _facts(file: IO[bytes]) -> VideoFacts:
    movie = movie_box(file)
    if movie is None:
        raise _UnusualError
    inner = list(boxes(file, movie.start, movie.stop))
    kinds = [box.kind for box in inner]
    if b"mvex" in kinds or kinds.count(b"mvhd") != 1:
        raise _UnusualError
    pictures = [track for box in inner if box.kind == b"trak" for track in [_Track(file, box)] if track.is_picture]
    if len(pictures) != 1:
        raise _UnusualError
    movie_scale, _ = _times(file, inner[kinds.index(b"mvhd")])
    return pictures[0].facts(movie_scale)


class _Track:
    """A track of a movie."""

    def __init__(self, file: IO[bytes], track: Box) -> None:
        self._file = file
        self._parts = _inner(file, track)
        self._media = _inner(file, self._part(b"mdia"))
        self.is_picture = _read(file, _one(self._media, b"hdlr"), 12)[8:] == b"vide"

    def facts(self, movie_scale: int) -> VideoFacts:
        """The facts of the track; `movie_scale` is the number of the movie's ticks per second."""
        file = self._file
        tables = _inner(file, _one(_inner(file, _one(self._media, b"minf")), b"stbl"))
        scale, duration = _times(file, _one(self._media, b"mdhd"))
        frames, ticks = _frames_and_ticks(file, tables)
        if 0 in (ticks, duration):
            raise _UnusualError
        shown = min(ticks, duration, self._edited(duration, scale, movie_scale))
        codec, width, height, ratio = _described(file, _one(tables, b"stsd"))
        rotation, shown_size = self._head()
        if ratio is None:
            if shown_size != (width * _ONE, height * _ONE):
                raise _UnusualError
            ratio = Fraction(1)
        return VideoFacts(width, height, rotation, ratio, shown / scale, Fraction(frames * scale, ticks), frames, codec)

    def _part(self, kind: bytes) -> Box:
        return _one(self._parts, kind)

    def _head(self) -> tuple[int, tuple[int, int]]:
        """The rotation, and the size in 65,536ths of a pixel."""
        head = self._part(b"tkhd")
        offset = MATRIX_OFFSETS.get(_read(self._file, head, 1)[0])
        if offset is None:
            raise _UnusualError
        *matrix, width, height = _MATRIX.unpack(_read(self._file, head, offset + _MATRIX.size)[offset:])
        if tuple(matrix[:6]) not in _TURNS or matrix[8] != _LAST:
            raise _UnusualError
        return rotation_of(matrix[0], matrix[1]), (width, height)

    def _edited(self, duration: int, scale: int, movie_scale: int) -> int:
        """The ticks of the video that the edit list shows; it must be one edit from some frame to the last."""
        if b"edts" not in self._parts:
            return duration
        edits = _one(_inner(self._file, self._part(b"edts")), b"elst")
        layout = _EDITS.get(_read(self._file, edits, 1)[0])
        if layout is None:
            raise _UnusualError
        count, length, start, speed = layout.unpack(_read(self._file, edits, layout.size))
        # The length is rounded to ticks of the movie's time scale.
        if count != 1 or start < 0 or speed != _ONE or (duration - start) * movie_scale > (length + 1) * scale:
            raise _UnusualError
        return (2 * length * scale + movie_scale) // (2 * movie_scale)


def _inner(file: IO[bytes], box: Box) -> dict[bytes, Box]:
    """The boxes inside a box, by kind."""
    inner = list(boxes(file, box.start, box.stop))
    found = {box.kind: box for box in inner}
    if len(found) != len(inner):
        raise _UnusualError
    return found


def _one(found: dict[bytes, Box], kind: bytes) -> Box:
    try:
        return found[kind]
    except KeyError:
        raise _UnusualError from None


def _read(file: IO[bytes], box: Box, count: int) -> bytes:
    """The first bytes of a box; fewer at the end of the file."""
    if box.start + count > box.stop:
        raise _UnusualError
    file.seek(box.start)
    return file.read(count)


def _times(file: IO[bytes], box: Box) -> tuple[int, int]:
    """The ticks per second, and the duration in ticks."""
    layout = _TIMES.get(_read(file, box, 1)[0])
    if layout is None:
        raise _UnusualError
    scale, duration = layout.unpack(_read(file, box, layout.size))
    if not 0 < scale < _MAX_TICKS:
        raise _UnusualError
    return scale, duration


def _frames_and_ticks(file: IO[bytes], tables: dict[bytes, Box]) -> tuple[int, int]:
    """The number of frames, and the sum of their durations."""
    [frames] = struct.unpack(">8xI", _read(file, _one(tables, b"stsz"), 12))
    times = _one(tables, b"stts")
    [changes] = struct.unpack(">4xI", _read(file, times, 8))
    if changes > _MAX_CHANGES:
        raise _UnusualError
    runs = np.frombuffer(_read(file, times, 8 + 8 * changes)[8:], dtype=">u4").reshape(-1, 2).astype(np.int64)
    # FFmpeg corrects durations that do not fit.
    if len(runs) != changes or runs[:, 0].sum() != frames or (runs[:, 1] >= _MAX_TICKS).any():
        raise _UnusualError
    return frames, int(runs.prod(axis=1).sum())


def _described(file: IO[bytes], box: Box) -> tuple[str, int, int, Fraction | None]:
    """The codec, width, height and, if stated, the ratio of width to height of a pixel."""
    count, size, kind, width, height = _DESCRIPTION.unpack(_read(file, box, _DESCRIPTION.size))
    stop = box.start + 8 + size
    if count != 1 or kind not in _CODECS or 0 in (width, height) or stop > box.stop:
        raise _UnusualError
    parts = {part.kind: part for part in boxes(file, box.start + _DESCRIPTION_BYTES, stop)}
    if b"clap" in parts:
        raise _UnusualError
    if b"pasp" not in parts:
        return _CODECS[kind], width, height, None
    across, down = struct.unpack(">II", _read(file, parts[b"pasp"], 8))
    if 0 in (across, down):
        raise _UnusualError
    return _CODECS[kind], width, height, Fraction(across, down)
