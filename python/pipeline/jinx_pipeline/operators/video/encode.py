"""Writes videos: encoded frames or copied packets, with copied audio."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from jinx_pipeline.operators.api.media_mapper import MadeMedium
from jinx_pipeline.operators.video.container import opened
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media, MediaError

# Codecs that MP4 can hold; videos with other codecs become Matroska files.
_IN_MP4 = {"aac", "mp3", "ac3", "eac3", "alac"} | {"h264", "hevc", "av1", "mpeg4"}
# Visually lossless and fast. One thread, because the output of x264 depends on the number of threads.
_ENCODERS = {
    "libx264": {"crf": "18", "preset": "veryfast", "threads": "1"},
    "mpeg4": {"qmin": "2", "qmax": "4", "threads": "1"},
}
# A video being written stays in memory up to this size, and then goes to a temporary file; several clips are written at
# once.
_IN_MEMORY_BYTES = 4 << 20
_PLAIN, _PLAIN_ODD = "yuv420p", "yuv444p"


class VideoWriter:
    """A video being written, with the first audio stream of its source.

    Frames are encoded as H.264 (x264, constant rate factor 18; MPEG-4 if FFmpeg lacks x264). The pixel format stays if
    the encoder has it; colour, rotation and the shape of pixels stay. Times begin at `start`.

    Args:
        source: The PyAV container whose frames and audio are written.
        start: The time in seconds of the source that becomes 0.
        is_copy: Whether packets of the picture are copied instead of frames encoded.
        rotation: The degrees by which the video is turned for display; None: as the frames say.
        crf: Another constant rate factor: 0 is lossless, 51 the worst.

    Attributes:
        suffix: The suffix of file names for the format.
    """

    def __init__(
        self,
        source: Any,
        start: Fraction,
        *,
        is_copy: bool = False,
        rotation: int | None = None,
        crf: int | None = None,
    ) -> None:
        self._av = require("av", extra="video", what="Writing videos")
        self._video = source.streams.video[0]
        self._audio = first_audio(source)
        self._start, self._is_copy, self._rotation, self._crf = start, is_copy, rotation, crf
        copied = (self._audio, self._video if is_copy else None)
        is_mp4 = {codec_of(stream) for stream in copied if stream} <= _IN_MP4
        self.suffix = ".mp4" if is_mp4 else ".mkv"
        self._file: IO[bytes] = SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES)  # noqa: SIM115 - `close` returns it
        # Without this, Matroska files would have random identifiers.
        options = {"fflags": "+bitexact"}
        self._out = self._av.open(self._file, "w", format="mp4" if is_mp4 else "matroska", options=options)
        self._picture: Any = None
        self._sound: Any = None
        self._waiting: list[Any] = []
        self._last_pts: int | None = None
        self.is_flushed = False

    def frame(self, frame: Any, time: Fraction) -> None:
        """Encode a frame; its time in the source, in seconds, must be later than that of the previous frame."""
        picture = self._picture or self._begin(self._encoder(frame))
        # The size of frames may change within a video.
        written = frame.reformat(width=picture.width, height=picture.height, format=picture.pix_fmt)
        base = picture.codec_context.time_base
        pts = round((time - self._start) / base)
        written.pts = pts if self._last_pts is None else max(pts, self._last_pts + 1)
        self._last_pts, written.time_base, written.pict_type = written.pts, base, 0  # the encoder chooses the type
        self._mux(picture.encode(written))

    def packet(self, packet: Any, dts: int) -> None:
        """Copy a packet of the video stream.

        Args:
            packet: The packet.
            dts: Its decoding time in the source; that of the packet may be missing.
        """
        if self._picture is None:
            # Opaque, so that FFmpeg needs no encoder for a copied stream: none has the name of a decoder such as
            # `libdav1d`.
            try:
                stream = self._out.add_stream_from_template(self._video, opaque=True)
            except ValueError as error:
                raise self._refused(error) from error
            if self._rotation:
                stream.set_display_rotation(self._rotation)
            self._begin(stream)
        self._mux(self._moved(packet, self._picture, dts))

    def sound(self, packet: Any) -> None:
        """Copy a packet of the audio stream."""
        if self._picture is None:  # all streams must be known before the first packet
            self._waiting.append(packet)
        else:
            self._mux(self._moved(packet, self._sound))

    def finish_frames(self) -> None:
        """Write the frames that the encoder still holds back."""
        if self._picture is not None and not self._is_copy and not self.is_flushed:
            self._mux(self._picture.encode(None))
        self.is_flushed = True

    def close(self) -> IO[bytes] | None:
        """The finished video, positioned at its start; None if it has no frames."""
        self.finish_frames()
        if self._picture is None:
            self._file.close()
            return None
        self._out.close()
        self._file.seek(0)
        return self._file

    def abort(self) -> None:
        """Drop what was written."""
        self._file.close()

    def _mux(self, packets: Any) -> None:
        try:
            self._out.mux(packets)
        except self._av.FFmpegError as error:  # raised by writing; the source was already read
            raise self._refused(error.strerror) from error

    def _refused(self, reason: object) -> MediaError:
        how, advice = ("copied", "; encode it with `cut: exact`") if self._is_copy else ("written", "")
        return MediaError(f"the video cannot be {how} into {self.suffix[1:].upper()}: {reason}{advice}")

    def _begin(self, picture: Any) -> Any:
        """Use a stream as the video stream; returns it."""
        self._picture = picture
        if self._audio is not None:
            self._sound = self._out.add_stream_from_template(self._audio)
        for packet in self._waiting:
            self._mux(self._moved(packet, self._sound))
        self._waiting.clear()
        return picture

    def _encoder(self, frame: Any) -> Any:
        name = next(name for name in _ENCODERS if name in self._av.codecs_available)
        options = _ENCODERS[name] | (_x264_options(self._crf) if name == "libx264" else {})
        stream = self._out.add_stream(name, rate=self._video.average_rate or 25, options=options)
        context, source = stream.codec_context, self._video.codec_context
        context.thread_count = 1
        stream.width, stream.height = frame.width, frame.height
        stream.pix_fmt = _pixel_format(frame, self._av.Codec(name, "w").video_formats)
        stream.time_base = context.time_base = frame.time_base or self._video.time_base
        for fact in ("color_range", "color_primaries", "color_trc", "colorspace"):
            setattr(context, fact, getattr(source, fact))
        if source.sample_aspect_ratio:
            context.sample_aspect_ratio = source.sample_aspect_ratio
        rotation = frame.rotation if self._rotation is None else self._rotation
        if rotation:
            stream.set_display_rotation(rotation)
        return stream

    def _moved(self, packet: Any, stream: Any, dts: int | None = None) -> Any:
        """A copy of a packet, moved to its time in this video."""
        shift = round(self._start / packet.time_base)
        moved = self._av.Packet(bytes(packet))
        moved.stream, moved.time_base, moved.duration = stream, packet.time_base, packet.duration
        moved.pts = packet.pts - shift
        moved.dts = moved.pts if dts is None else dts - shift
        moved.is_keyframe = packet.is_keyframe
        return moved


@cache
def can_be_copied(codec: str) -> bool:
    """Whether a clip can contain packets of a codec, by FFmpeg's name; otherwise, its frames must be encoded."""
    av = require("av", extra="video", what="Writing videos")
    with av.open(BytesIO(), "w", format="matroska") as container:
        return codec in _IN_MP4 or codec in container.supported_codecs


def codec_of(stream: Any) -> str:
    """FFmpeg's name of a stream's codec, not of its decoder, such as `libdav1d` for `av1`."""
    return stream.codec_context.codec.canonical_name


def first_audio(container: Any) -> Any:
    """A container's first audio stream with samples and a codec that FFmpeg has; None if there is none."""
    known = (stream for stream in container.streams.audio if stream.codec_context is not None)
    return next((stream for stream in known if stream.codec_context.sample_rate), None)


class FrameTimes:
    """The times of decoded frames; a frame without a time follows the previous one.

    Args:
        stream: The video stream.
    """

    def __init__(self, stream: Any) -> None:
        self._step = 1 / (stream.average_rate or Fraction(25))
        self._last: Fraction | None = None

    def of(self, frame: Any) -> Fraction:
        """The time of the next frame in seconds, by the container's clock."""
        if frame.pts is not None:
            time: Fraction = frame.pts * frame.time_base
        else:
            time = Fraction(0) if self._last is None else self._last + self._step
        self._last = time
        return time


def transcoded(
    medium: Media,
    operator: str,
    edit: Callable[[Any], Iterable[Any]],
    *,
    rotation: int | None = None,
    crf: int | None = None,
) -> MadeMedium | None:
    """A video whose frames are edited; the audio is copied.

    Args:
        medium: The video.
        operator: The name of the operator.
        edit: Returns the frames for a frame, all of one size; a frame without a time has that of the frame that was
            edited. It is called with None after the last frame. Times are from the start of the container on, as
            FFmpeg's program gives them to filters.
        rotation: The degrees by which the result is turned for display; None: as the source.
        crf: See `VideoWriter`.

    Returns:
        The video; None if it has no frame.
    """
    with opened(medium, operator) as container:
        video, audio = container.streams.video[0], first_audio(container)
        times = FrameTimes(video)
        start = Fraction(video.start_time or 0) * video.time_base
        zero = Fraction(container.start_time or 0, 1_000_000)
        writer = VideoWriter(container, start, rotation=rotation, crf=crf)

        def write(frame: Any) -> None:
            time = Fraction(0) if frame is None else times.of(frame)
            if frame is not None and frame.pts is not None:
                frame.pts -= round(zero / frame.time_base)
            for edited in edit(frame):
                if edited.time_base is None:
                    edited.time_base = video.time_base
                writer.frame(edited, time if edited.pts is None else edited.pts * edited.time_base + zero)

        try:
            for packet in container.demux([video] if audio is None else [video, audio]):
                if packet.stream is video:
                    for frame in packet.decode():
                        write(frame)
                elif packet.pts is not None:
                    writer.sound(packet)
            write(None)
            file = writer.close()
        except BaseException:
            writer.abort()
            raise
        return None if file is None else MadeMedium(file, writer.suffix)


def _x264_options(crf: int | None) -> dict[str, str]:
    options = {} if crf is None else {"crf": str(crf)}
    # With AVX-512, x264 (core 165) gives different bytes each time; with AVX2, it gives those of its C code.
    return options | ({"x264-params": "asm=AVX2"} if has_avx512() else {})


@cache
def has_avx512() -> bool:
    """Whether the processor has AVX-512, which x264 must not use."""
    try:
        return "avx512f" in Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        return False


def _pixel_format(frame: Any, known: Iterable[Any]) -> str:
    """The pixel format of an encoder that loses the least of a frame."""
    is_odd = frame.width % 2 or frame.height % 2
    if frame.format.name in {format_.name for format_ in known} and not (is_odd and "420" in frame.format.name):
        return frame.format.name
    return _PLAIN_ODD if is_odd else _PLAIN
