"""Sounds whose samples are known."""

import io
import struct
from collections.abc import Callable

import numpy as np


def tone(seconds: float = 1.0, *, rate: int = 16_000, hertz: float = 440.0, channels: int = 1) -> np.ndarray:
    """A sine, float32 of shape (samples, channels)."""
    wave = 0.5 * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)
    return wave[:, None].repeat(channels, 1).astype(np.float32)


def noisy(seconds: float = 1.0, *, noise: float = 0.1, rate: int = 16_000, seed: int = 0) -> np.ndarray:
    """A sine in white noise, float32 of shape (samples, 1)."""
    clean = tone(seconds, rate=rate)
    return clean + noise * np.random.default_rng(seed).standard_normal(clean.shape).astype(np.float32)


def encoded(samples: np.ndarray, rate: int = 16_000, kind: str = "WAV", subtype: str | None = None) -> bytes:
    """Samples as the bytes of a file that soundfile writes."""
    import soundfile

    out = io.BytesIO()
    soundfile.write(out, samples, rate, format=kind, subtype=subtype)
    return out.getvalue()


def wav(seconds: float = 1.0, rate: int = 16_000) -> bytes:
    """A WAV of a sine."""
    return encoded(tone(seconds, rate=rate), rate)


def with_nan() -> bytes:
    """A WAV in floats, some of which are not numbers."""
    samples = tone(0.5)
    samples[100:200] = np.nan
    return encoded(samples, subtype="FLOAT")


def without_channels() -> bytes:
    """A WAV whose header declares no channel."""
    data = bytearray(wav(0.1))
    struct.pack_into("<H", data, 22, 0)
    return bytes(data)


GOOD: dict[str, Callable[[], bytes]] = {
    "wav": wav,
    "stereo": lambda: encoded(tone(1.0, channels=2)),
    "flac": lambda: encoded(tone(1.0), kind="FLAC"),
    "ogg": lambda: encoded(tone(1.0), kind="OGG"),
    "mp3": lambda: encoded(tone(1.0), kind="MP3"),
    "24 bit": lambda: encoded(tone(1.0), subtype="PCM_24"),
    "48 kHz": lambda: encoded(tone(1.0, rate=48_000), 48_000),
}
"""Sounds of one second, by name."""

HOSTILE: dict[str, Callable[[], bytes]] = {
    "empty": bytes,
    "not a sound": lambda: b"RIFF, they said",
    "no channels": without_channels,
}
"""Sounds that no operator can decode, by name."""
