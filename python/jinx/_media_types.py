"""Detects images and audio by their first bytes."""

from typing import Any

_SUFFIXES = (
    (b"\xff\xd8\xff", ".jpg"),
    (b"\x89PNG", ".png"),
    (b"GIF8", ".gif"),
    (b"OggS", ".ogg"),
    (b"fLaC", ".flac"),
    (b"ID3", ".mp3"),
    (b"%PDF", ".pdf"),
)


def media_bytes(value: Any) -> bytes | None:
    """The bytes of a binary value, or of a dict with a media file and its path, as Hugging Face stores it."""
    if isinstance(value, dict):
        members: dict[str, Any] = {**value}
        value = members["bytes"] if members.keys() == {"bytes", "path"} else None
    return value if isinstance(value, bytes) else None


def suffix_of(data: bytes) -> str:
    """The usual suffix of a file with this content; `.bin` if it is unknown."""
    if data[:4] == b"RIFF":
        return {b"WAVE": ".wav", b"WEBP": ".webp"}.get(data[8:12], ".bin")
    return next((suffix for magic, suffix in _SUFFIXES if data.startswith(magic)), ".bin")


def media_type(data: bytes) -> str | None:
    """`"Image"` or `"Audio"`, by the first bytes; None for anything else."""
    suffix = suffix_of(data)
    if suffix in {".jpg", ".png", ".gif", ".webp"}:
        return "Image"
    return "Audio" if suffix in {".wav", ".ogg", ".flac", ".mp3"} else None
