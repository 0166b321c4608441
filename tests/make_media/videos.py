"""Videos in which each frame shows its number, so that a test sees which frames a clip has, and at what time."""

import io
import struct
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import av
import numpy as np

from jinx_pipeline.operators.video.encode import has_avx512

BITS = 12
"""The first rows of a frame have so many blocks, white for a one: the number of the frame."""
CODED_ROWS = 16
"""So many of 96 rows."""
_COLOURS = ((60, 60, 160), (200, 90, 60), (60, 160, 60), (220, 40, 200), (20, 120, 130))


def picture(number: int, scene: int = 0, size: tuple[int, int] = (192, 96), speed: float = 2.0) -> np.ndarray:
    """A frame: its number in the first rows, and below a square that moves over the colour of the scene."""
    width, height = size
    frame = np.empty((height, width, 3), dtype=np.uint8)
    frame[:] = _COLOURS[scene % len(_COLOURS)]
    y, x = np.mgrid[:height, :width]
    frame[(x // 8 + y // 8) % 2 == 0] += np.uint8(20)
    side = height // 3
    left = int(number * speed) % (width - side)
    frame[height // 2 : height // 2 + side, left : left + side] = np.where(
        (x[:side, :side] // 4 + y[:side, :side] // 4) % 2, 230, 30
    )[..., None]
    bits = [number >> bit & 1 for bit in range(BITS)]
    code = np.repeat(np.array(bits, dtype=np.uint8) * 255, width // BITS)
    frame[: height * CODED_ROWS // 96, : len(code)] = code[None, :, None]
    return frame


def number_of(frame: np.ndarray) -> int:
    """The number that a frame shows; of any size and codec."""
    grey = frame.mean(axis=2) if frame.ndim > 2 else frame
    height, width = grey.shape
    rows = grey[: max(1, height * CODED_ROWS // 96)]
    blocks = [rows[:, at * width // BITS : (at + 1) * width // BITS] for at in range(BITS)]
    return sum(int(block[:, 2:-2].mean() > 128) << bit for bit, block in enumerate(blocks))


def video(
    frames: int = 50,
    *,
    rate: int = 25,
    size: tuple[int, int] = (192, 96),
    codec: str = "libx264",
    container: str = "mp4",
    cuts: Sequence[int] = (),
    speed: float = 2.0,
    gop: int = 12,
    b_frames: int = 2,
    times: Sequence[float] | None = None,
    rotation: int = 0,
    sound: str | None = None,
    sound_seconds: float | None = None,
    first: int = 0,
    step: int = 1,
    draw: Callable[[int], np.ndarray] | None = None,
) -> bytes:
    """A video.

    Args:
        frames: The number of frames.
        rate: Frames a second.
        size: Width and height.
        codec: `"libx264"`, `"mpeg4"`, `"libvpx-vp9"`, `"mjpeg"`, ...
        container: The format, as FFmpeg calls it.
        cuts: The first frame of each scene but the first.
        speed: Pixels that the square moves from frame to frame.
        gop: Frames from one key frame to the next.
        b_frames: Frames in a row that are predicted from both sides.
        times: The time of each frame in seconds, for a variable frame rate.
        rotation: Degrees in the container's display matrix.
        sound: The codec of a sound, silent but for a beep in the first half of each second.
        sound_seconds: The length of the sound; None: that of the video.
        first: The number of the first frame.
        step: How much larger the number of the next frame is; 0: all frames are the same.
        draw: Draws the frame of a number, uint8 of shape (height, width, 3), in place of `picture`.
    """
    out = io.BytesIO()
    with av.open(out, "w", format=container) as file:
        asm = ":asm=AVX2" if has_avx512() else ""  # the same bytes each time
        options = {"x264-params": f"scenecut=0:keyint={gop}:min-keyint={gop}{asm}"} if codec == "libx264" else {}
        stream: Any = file.add_stream(codec, rate=rate, options=options)
        stream.width, stream.height = size
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        stream.codec_context.gop_size = gop
        stream.codec_context.thread_count = 1
        if codec in {"libx264", "mpeg4"}:
            stream.codec_context.max_b_frames = b_frames
        if codec == "libsvtav1":
            stream.options = {"preset": "12", "svtav1-params": f"keyint={gop}:lp=1"}
        if codec != "libx264":
            stream.bit_rate = 1_500_000
        if times is not None:
            stream.time_base = stream.codec_context.time_base = Fraction(1, 1000)
        audio: Any = file.add_stream(sound, rate=48_000) if sound else None
        if rotation:
            stream.set_display_rotation(rotation)
        scene = 0
        for number in range(frames):
            scene += number in cuts
            drawn = picture(first + number * step, scene, size, speed) if draw is None else draw(number)
            frame: Any = av.VideoFrame.from_ndarray(drawn, format="rgb24")
            frame.pts = number if times is None else round(times[number] * 1000)
            frame.time_base = Fraction(1, rate) if times is None else Fraction(1, 1000)
            file.mux(stream.encode(frame.reformat(format=stream.pix_fmt)))
        file.mux(stream.encode(None))
        if audio is not None:
            _add_sound(file, audio, frames / rate if sound_seconds is None else sound_seconds)
    return out.getvalue()


def _add_sound(file: Any, stream: Any, seconds: float) -> None:
    rate = stream.rate
    at = np.arange(round(seconds * rate))
    wave = 0.4 * np.sin(2 * np.pi * 1000 * at / rate) * (at % rate < rate // 2)
    for start in range(0, len(wave), 1024):
        block = wave[None, start : start + 1024].astype(np.float32)
        frame: Any = av.AudioFrame.from_ndarray(block, format="fltp", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = rate, start, Fraction(1, rate)
        file.mux(stream.encode(frame))
    file.mux(stream.encode(None))


def numbers(data: Any) -> list[int]:
    """The numbers of all frames of a video, as they are shown."""
    with av.open(io.BytesIO(data) if isinstance(data, bytes) else data) as file:
        return [number_of(frame.to_ndarray(format="gray")) for frame in file.decode(video=0)]


def loud_spans(data: bytes) -> list[tuple[float, float]]:
    """The seconds in which the sound of a video is loud, from the first frame of the picture on; exact to 0.03 s."""
    with av.open(io.BytesIO(data)) as file:
        origin = next(frame.time for frame in file.decode(video=0))
    with av.open(io.BytesIO(data)) as file:
        times: list[float] = []
        levels: list[float] = []
        for frame in file.decode(audio=0):
            samples = frame.to_ndarray().astype(np.float64).reshape(-1)
            times.append(frame.time - (origin or 0))
            levels.append(float(np.sqrt((samples**2).mean())))
    loud = np.array(levels) > max(levels) / 2
    edges = np.flatnonzero(np.diff(np.concatenate([[False], loud, [False]]).astype(int)))
    step = times[1] - times[0]
    return [(times[a], times[b - 1] + step) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def without_picture() -> bytes:
    """An MP4 with a sound alone."""
    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as file:
        _add_sound(file, file.add_stream("aac", rate=48_000), 1.0)
    return out.getvalue()


def with_hidden_start(frames: int = 7) -> bytes:
    """An MP4 of fifty frames and a sound whose list of edits hides the first frames."""
    out = io.BytesIO()
    hide = {"avoid_negative_ts": "disabled"}
    with av.open(io.BytesIO(video(sound="aac"))) as source, av.open(out, "w", format="mp4", options=hide) as file:
        streams = {stream: file.add_stream_from_template(stream) for stream in source.streams}
        for packet in source.demux():
            if packet.size:
                shift = round(Fraction(frames, 25) / packet.time_base)
                moved: Any = av.Packet(bytes(packet))
                moved.stream, moved.time_base = streams[packet.stream], packet.time_base
                moved.duration, moved.is_keyframe = packet.duration, packet.is_keyframe
                moved.pts, moved.dts = packet.pts - shift, packet.dts - shift
                file.mux(moved)
    return out.getvalue()


def declaring(frames: int = 1_000_000) -> bytes:
    """An MP4 of ten frames whose table of times declares more."""
    data = bytearray(video(10, b_frames=0))
    at = data.index(b"stts")
    struct.pack_into(">I", data, at + 12, frames)
    return bytes(data)


def without_size() -> bytes:
    """An MP4 whose header and whose first frame say nothing of their size."""
    data = bytearray(video(10, b_frames=0))
    at = data.index(b"avc1", data.index(b"stsd"))
    data[at + 28 : at + 32] = bytes(4)
    header = data.index(b"avcC")
    data[header + 4 : header + 40] = bytes(36)
    return bytes(data)


def in_unknown_codec() -> bytes:
    """An MP4 whose picture is in a codec that there is not."""
    return video(10).replace(b"avc1", b"zzz1")


def of_two_sizes() -> bytes:
    """A stream of H.264 whose frames become larger after twenty."""
    parts = [video(20, container="h264", size=size, b_frames=0) for size in ((192, 96), (384, 192))]
    return b"".join(parts)


GOOD: dict[str, Callable[[], bytes]] = {
    "h264": video,
    "h264 with sound": lambda: video(sound="aac"),
    "no b frames": lambda: video(b_frames=0),
    "mpeg4": lambda: video(codec="mpeg4"),
    "matroska": lambda: video(container="matroska", sound="libopus"),
    "vp9": lambda: video(codec="libvpx-vp9", container="webm"),
    "mjpeg": lambda: video(codec="mjpeg", container="avi"),
    "variable rate": lambda: video(times=[0.04 * n + 0.015 * (n % 3) for n in range(50)]),
    "rotated": lambda: video(rotation=90),
}
"""Videos of fifty frames in two seconds, by name."""

HOSTILE: dict[str, Callable[[], bytes]] = {
    "empty": bytes,
    "truncated": lambda: video()[:3000],
    "an image": lambda: b"\x89PNG\r\n\x1a\n" + bytes(100),
    "no picture": without_picture,
    "a text": lambda: b"not a video at all" * 20,
    "no size": without_size,
    "unknown codec": in_unknown_codec,
}
"""Videos that no operator can decode, by name."""

ODD: dict[str, Callable[[], bytes]] = {
    "one frame": lambda: video(1),
    "no times": lambda: video(20, container="h264", b_frames=0),
    "declares a million frames": declaring,
    "of two sizes": of_two_sizes,
    "cut off": lambda: (data := video(container="matroska"))[: len(data) * 2 // 3],
}
"""Videos with faults that FFmpeg works around, by name."""
