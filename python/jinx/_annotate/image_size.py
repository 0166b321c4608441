"""Width and height of an image from the first bytes of its file, without decoding any pixels."""

import struct
from typing import Any

from jinx._optional import require
from jinx.errors import CorruptFileError

Size = tuple[int, int]
# JPEG markers that have no segment, and markers that begin a frame and contain its size.
_ALONE = {0x01, *range(0xD0, 0xD9)}
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
_WEBP_HEAD = 30
_DIMENSIONS = (2, 3)


class ShortHeaderError(ValueError):
    """The given bytes end before the part that states the image's size."""


def image_size(data: bytes) -> Size:
    """(width, height) in pixels, as the file stores them: the orientation in EXIF data is ignored.

    Args:
        data: The file, or its first bytes up to the end of the header.

    Raises:
        CorruptFileError: The bytes are not an image.
        ShortHeaderError: The header of a JPEG goes beyond `data`.
    """
    try:
        if data[:8] == b"\x89PNG\r\n\x1a\n":
            return _pair(">II", data, 16)
        if data[:2] == b"\xff\xd8":
            return _jpeg(data)
        if data[:6] in {b"GIF87a", b"GIF89a"}:
            return _pair("<HH", data, 6)
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _webp(data)
    except struct.error:
        raise ShortHeaderError(f"the header of the image goes beyond its first {len(data)} bytes") from None
    return _by_pillow(data)


def size_of(image: Any) -> Size:
    """(width, height) in pixels of an image: the bytes of its file, an array or a Pillow image.

    Raises:
        ValueError: The image has another type.
    """
    if isinstance(image, bytes):
        return image_size(image)
    shape = getattr(image, "shape", None)
    if shape is None:
        size = getattr(image, "size", None)
        if isinstance(size, tuple):
            return size  # pyright: ignore[reportUnknownVariableType]
        raise ValueError(f"{type(image).__name__} is not an image: bytes, an array or a Pillow image")
    sides = tuple(int(side) for side in shape)
    if len(sides) not in _DIMENSIONS:
        raise ValueError(f"an array of shape {sides} is not an image: (height, width) or (height, width, channels)")
    return sides[1], sides[0]


def _pair(layout: str, data: bytes, at: int) -> Size:
    width, height = struct.unpack_from(layout, data, at)
    return width, height


def _jpeg(data: bytes) -> Size:
    at = 2
    while True:
        (lead,) = struct.unpack_from("B", data, at)
        if lead != 0xFF:  # noqa: PLR2004 - the byte before every marker
            raise CorruptFileError("bytes that are not a JPEG image: a marker is missing")
        at += 1
        (marker,) = struct.unpack_from("B", data, at)
        if marker == 0xFF:  # noqa: PLR2004 - fill bytes
            continue
        at += 1
        if marker in _ALONE:
            continue
        if marker in _FRAMES:
            height, width = _pair(">HH", data, at + 3)
            return width, height
        (length,) = struct.unpack_from(">H", data, at)
        at += length


def _webp(data: bytes) -> Size:
    if len(data) < _WEBP_HEAD:
        raise struct.error
    kind = data[12:16]
    if kind == b"VP8X":
        width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
        return width, height
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = _pair("<HH", data, 26)
    return width & 0x3FFF, height & 0x3FFF


def _by_pillow(data: bytes) -> Size:
    """The size of an image in another format; Pillow opens it without decoding any pixels."""
    from io import BytesIO

    pillow: Any = require("PIL.Image", extra="image", what="The size of an image that is not PNG, JPEG, GIF or WebP")
    try:
        with pillow.open(BytesIO(data)) as image:
            return image.size
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - Pillow's parsers raise struct.error, SyntaxError, ...
        raise CorruptFileError(f"{len(data)} bytes that are not an image: {error}") from None
