"""Decoded audio, with soundfile or, for other formats, with PyAV."""

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media, MediaError

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

MAX_VALUES = 1 << 27
"""The number of samples, of all channels together, above which an audio is not decoded: 512 MiB."""
# The maximum number of values of a decoded audio that is kept for other operators.
_KEPT_VALUES = 1 << 24


@dataclass(frozen=True)
class Waveform:
    """A decoded audio.

    Attributes:
        samples: The samples, from -1 to 1, float32 of shape (n, channels).
        rate: Samples per second.
        format: The format of the file as soundfile calls it (`WAV`, `FLAC`, ...); None: soundfile cannot write it.
        subtype: The encoding in the file (`PCM_16`, ...).
    """

    samples: "Floats"
    rate: int
    format: str | None = None
    subtype: str | None = None

    @property
    def mono(self) -> "Floats":
        """The mean of the channels, of shape (n,)."""
        return self.samples[:, 0] if self.samples.shape[1] == 1 else self.samples.mean(axis=1)


def waveform_of(medium: Media, operator: str) -> Waveform:
    """The decoded audio; it is shared, so copy it before changing it. A long one is decoded each time.

    Args:
        medium: The audio.
        operator: The name of the operator, for the message if a package is missing.

    Raises:
        MediaError: The medium is not audio, is damaged or too long, or holds samples that are not numbers.
    """

    def decode(medium: Media) -> Waveform:
        waveform = _with_either(medium, operator, _by_soundfile, _by_pyav)
        if not np.isfinite(waveform.samples).all():
            raise MediaError(f"{medium!r} holds samples that are not finite numbers")
        return waveform

    seconds, rate, channels = _with_either(medium, operator, _header_by_soundfile, _header_by_pyav)
    if seconds * rate * channels > MAX_VALUES:
        raise MediaError(f"{medium!r} has {seconds:.0f} s of {channels} channels; the limit is {MAX_VALUES} samples")
    is_kept = seconds * rate * channels <= _KEPT_VALUES
    return medium.fact("waveform", decode) if is_kept else decode(medium)


def mono_at(medium: Media, operator: str, rate: int) -> "Floats":
    """The mean of the channels of an audio at a rate, float32 of shape (n,).

    Args:
        medium: The audio.
        operator: The name of the operator, for the message if a package is missing.
        rate: Samples per second.

    Raises:
        MediaError: As for `waveform_of`.
    """
    waveform = waveform_of(medium, operator)
    mono = np.ascontiguousarray(waveform.mono, dtype=np.float32)
    if waveform.rate == rate:
        return mono
    av = require("av", extra="video", what=operator)
    frame = av.AudioFrame.from_ndarray(mono[None], format="fltp", layout="mono")
    frame.sample_rate = waveform.rate
    resampler = av.AudioResampler(format="fltp", layout="mono", rate=rate)
    blocks = [block.to_ndarray()[0] for block in (*resampler.resample(frame), *resampler.resample(None))]
    return np.concatenate(blocks) if blocks else mono[:0]


def seconds_of(medium: Media, operator: str) -> float:
    """The duration of an audio in seconds, from its header.

    Raises:
        MediaError: The medium is not audio, or is damaged.
    """
    seconds, _, channels = _with_either(medium, operator, _header_by_soundfile, _header_by_pyav)
    if channels < 1:
        raise MediaError(f"{medium!r} has no channels")
    return seconds


def resampled(samples: "Floats", rate: int, new_rate: int, operator: str) -> "Floats":
    """Samples at another rate, of shape (n, channels).

    Args:
        samples: The samples, of shape (n, channels).
        rate: Their rate.
        new_rate: The rate of the result.
        operator: The name of the operator.
    """
    av = require("av", extra="video", what=f"{operator} with another sample rate")
    channels: list[Floats] = []
    for channel in samples.T:
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(channel[None]), format="fltp", layout="mono")
        frame.sample_rate = rate
        resampler = av.AudioResampler(format="fltp", layout="mono", rate=new_rate)
        frames = [*resampler.resample(frame), *resampler.resample(None)]
        channels.append(np.concatenate([part.to_ndarray()[0] for part in frames]))
    return np.stack(channels, axis=1)


def encoded(samples: "Floats", rate: int, kind: str, subtype: str | None = None) -> bytes:
    """Samples as a file that soundfile writes.

    Args:
        samples: The samples, of shape (n, channels).
        rate: Samples per second.
        kind: The format as soundfile calls it.
        subtype: The encoding in the file; None: the usual one of the format.
    """
    soundfile = require("soundfile", extra="audio", what="Writing audio")
    out = BytesIO()
    soundfile.write(out, samples, rate, format=kind, subtype=subtype)
    return out.getvalue()


def _with_either(
    medium: Media,
    operator: str,
    first: Callable[[Any, BinaryIO], Any],
    second: Callable[[Any, BinaryIO], Any],
) -> Any:
    """The result of `first`, with soundfile; or of `second`, with PyAV, if soundfile does not know the format."""
    soundfile = require("soundfile", extra="audio", what=operator)
    with medium.stream() as file:
        try:
            return first(soundfile, file)
        except RuntimeError as error:
            cause = error
    try:
        av = require("av", extra="video", what=operator)
    except ImportError:
        av = None
    if av is not None:
        try:
            with medium.stream() as file:
                return second(av, file)
        except (av.FFmpegError, _NoAudioError):
            pass
    reason = getattr(cause, "error_string", cause)  # the message contains the address of our file object
    raise MediaError(f"{medium!r} is not audio that soundfile or FFmpeg can read: {reason}") from cause


class _NoAudioError(Exception):
    """Raised when FFmpeg finds no audio stream."""


def _header_by_soundfile(soundfile: Any, file: BinaryIO) -> tuple[float, int, int]:
    info = soundfile.info(file)
    return float(info.duration), info.samplerate, info.channels


def _by_soundfile(soundfile: Any, file: BinaryIO) -> Waveform:
    with soundfile.SoundFile(file) as sound:
        samples = sound.read(dtype="float32", always_2d=True)
        return Waveform(samples, sound.samplerate, sound.format, sound.subtype)


def _header_by_pyav(av: Any, file: BinaryIO) -> tuple[float, int, int]:
    with av.open(file, options={"protocol_whitelist": "none"}) as container:
        stream = _stream(container)
        if stream.duration is not None:
            seconds = float(stream.duration * stream.time_base)
        else:
            seconds = (container.duration or 0) / 1_000_000
        return seconds, stream.codec_context.sample_rate, stream.codec_context.channels


def _by_pyav(av: Any, file: BinaryIO) -> Waveform:
    with av.open(file, options={"protocol_whitelist": "none"}) as container:
        stream = _stream(container)
        stream.codec_context.thread_count = 1
        resampler = av.AudioResampler(format="fltp")
        blocks: list[Floats] = []
        count = 0
        for frame in container.decode(stream):
            for converted in resampler.resample(frame):
                blocks.append(converted.to_ndarray())
                count += blocks[-1].size
            if count > MAX_VALUES:  # the header was wrong
                raise _NoAudioError
        if not blocks:
            raise _NoAudioError
        return Waveform(np.ascontiguousarray(np.concatenate(blocks, axis=1).T), stream.codec_context.sample_rate)


def _stream(container: Any) -> Any:
    stream = next(iter(container.streams.audio), None)
    # FFmpeg may lack the codec.
    if stream is None or stream.codec_context is None or not stream.codec_context.sample_rate:
        raise _NoAudioError
    return stream
