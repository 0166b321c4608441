"""The MIME type of a binary value by its first bytes."""

from jinx._media_types import suffix_of

HEAD_BYTES = 512
_BY_SUFFIX = {
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".wav": "audio/wav",
    ".ogg": "audio/ogg",
    ".flac": "audio/flac",
    ".mp3": "audio/mpeg",
}
_BY_BRAND = {b"avif": "image/avif", b"avis": "image/avif", b"M4A ": "audio/mp4"}
_BY_MAGIC = (
    (b"\x1a\x45\xdf\xa3", "video/webm"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"\xff\xf2", "audio/mpeg"),
)
_XML = (b"<svg", b"<?xml", b"<!--", b"<!doctype svg")


def mime_of(data: bytes) -> str | None:
    """The type of an image, a video or audio that browsers show; None for anything else.

    Args:
        data: At least the first `HEAD_BYTES`, or all.
    """
    known = _BY_SUFFIX.get(suffix_of(data))
    if known is not None:
        return known
    if data[4:8] == b"ftyp":
        return _BY_BRAND.get(data[8:12], "video/mp4")
    if data.startswith(b"BM") and data[6:10] == b"\0\0\0\0":
        return "image/bmp"
    start = data[:HEAD_BYTES].lstrip().lower()
    if start.startswith(_XML) and b"<svg" in start:
        return "image/svg+xml"
    return next((mime for magic, mime in _BY_MAGIC if data.startswith(magic)), None)
