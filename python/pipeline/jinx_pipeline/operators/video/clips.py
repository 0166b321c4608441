"""Cuts a video into clips, exact to the frame."""

from collections.abc import Sequence
from io import BytesIO
from typing import Any, NamedTuple

from jinx_pipeline.optional import require

# The audio codecs for MP4; clips with other codecs are Matroska files.
_SOUND_OF_MP4 = {"aac", "mp3", "opus", "ac3", "eac3", "flac", "alac"}
_EDGE = 1e-6


class Span(NamedTuple):
    """A time span from `start` up to but not including `stop`, in seconds from the first frame."""

    start: float
    stop: float


def spans(duration: float, length: float, overlap: float, min_last: float) -> list[Span]:
    """The spans of clips of a fixed length.

    Args:
        duration: The duration of the video in seconds.
        length: The length of a clip in seconds.
        overlap: Seconds that a clip shares with the next.
        min_last: A last clip shorter than this is left out.
    """
    result: list[Span] = []
    number = 0
    while (start := number * (length - overlap)) < duration - _EDGE:
        stop = min(start + length, duration)
        is_last = start + length >= duration - _EDGE
        if not is_last or stop - start >= min_last - _EDGE:
            result.append(Span(start, duration + length if is_last else start + length))
        if is_last:
            break
        number += 1
    return result


def cut(container: Any, clip_spans: Sequence[Span]) -> list[bytes]:
    """A video file for each span, with encoded frames and copied audio; spans without frames are left out.

    Args:
        container: A PyAV container.
        clip_spans: The spans, in the order of their starts.
    """
    video = container.streams.video[0]
    video.thread_type = "AUTO"
    audio = container.streams.audio[0] if container.streams.audio else None
    streams = [video] if audio is None else [video, audio]
    clips = [_Clip(span, video, audio) for span in clip_spans]
    origin: float | None = None
    for packet in container.demux(streams):
        if packet.stream is audio:
            if packet.pts is None:
                continue
            seconds = float(packet.pts * packet.time_base) - (origin or 0.0)
            for clip in clips:
                if clip.has(seconds):
                    clip.copy(packet, seconds)
            continue
        for frame in packet.decode():
            if frame.time is not None:
                origin = frame.time if origin is None else origin
                _encode(frame, frame.time - origin, clips)
    return [data for clip in clips if (data := clip.close())]


def _encode(frame: Any, seconds: float, clips: "list[_Clip]") -> None:
    for clip in clips:
        if clip.has(seconds):
            clip.encode(frame, seconds)
        elif seconds >= clip.span.stop:
            clip.finish_frames()


class _Clip:
    """A clip that is being written."""

    def __init__(self, span: Span, video: Any, audio: Any) -> None:
        self.span = span
        self._video, self._audio = video, audio
        self._file = BytesIO()
        self._out: Any = None
        self._frames: Any = None
        self._sound: Any = None
        self._is_flushed = False

    def has(self, seconds: float) -> bool:
        return self.span.start - _EDGE <= seconds < self.span.stop - _EDGE

    def encode(self, frame: Any, seconds: float) -> None:
        out = self._opened()
        copy = frame.reformat(format="yuv420p")
        copy.pts = round((seconds - self.span.start) / self._frames.time_base)
        copy.time_base = self._frames.time_base
        copy.pict_type = 0  # the encoder chooses the frame type
        for packet in self._frames.encode(copy):
            out.mux(packet)

    def copy(self, packet: Any, seconds: float) -> None:
        av = require("av", extra="video", what="Cutting videos")
        out = self._opened()
        moved = av.Packet(bytes(packet))
        moved.stream = self._sound
        moved.time_base = packet.time_base
        moved.pts = moved.dts = round((seconds - self.span.start) / float(packet.time_base))
        moved.duration = packet.duration
        out.mux(moved)

    def finish_frames(self) -> None:
        if self._out is not None and not self._is_flushed:
            self._is_flushed = True
            for packet in self._frames.encode(None):
                self._out.mux(packet)

    def close(self) -> bytes:
        if self._out is None:
            return b""
        self.finish_frames()
        self._out.close()
        return self._file.getvalue()

    def _opened(self) -> Any:
        if self._out is None:
            av = require("av", extra="video", what="Cutting videos")
            name = self._audio.codec_context.name.replace("mp3float", "mp3") if self._audio else "aac"
            self._out = av.open(self._file, "w", format="mp4" if name in _SOUND_OF_MP4 else "matroska")
            codec = "libx264" if "libx264" in av.codecs_available else "mpeg4"
            self._frames = self._out.add_stream(codec, rate=self._video.average_rate or 25)
            self._frames.width = self._video.codec_context.width - self._video.codec_context.width % 2
            self._frames.height = self._video.codec_context.height - self._video.codec_context.height % 2
            self._frames.pix_fmt = "yuv420p"
            self._frames.time_base = self._video.time_base
            self._frames.codec_context.time_base = self._video.time_base
            if codec == "mpeg4":
                self._frames.bit_rate = 8_000_000
            if self._audio is not None:
                self._sound = self._out.add_stream_from_template(self._audio)
        return self._out
