"""What binary values are, by their first bytes."""

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
    """The bytes of a binary value, or of a dict of a media file and its path as Hugging Face has it."""
    if isinstance(value, dict):
        members: dict[str, Any] = {**value}
        value = members["bytes"] if members.keys() == {"bytes", "path"} else None
    return value if isinstance(value, bytes) else None


def suffix_of(data: bytes) -> str:
    """The usual suffix of a file with this content; `.bin` if nobody knows."""
    if data[:4] == b"RIFF":
        return ".wav" if data[8:12] == b"WAVE" else ".webp"
    return next((suffix for magic, suffix in _SUFFIXES if data.startswith(magic)), ".bin")
