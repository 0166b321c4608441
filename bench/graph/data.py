"""The videos and rows of the benchmark."""

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import av
import numpy as np

import jinx

if TYPE_CHECKING:
    from collections.abc import Iterator

RATE, SIZE = 25, (640, 360)
_COLOURS = ((60, 60, 160), (200, 90, 60), (60, 160, 60), (220, 40, 200), (20, 120, 130))
# Videos of which the others are copies: their content does not matter for the time that they take.
_DISTINCT = 20


def make_videos(folder: Path, count: int, seconds: tuple[int, int], large_bytes: int = 0) -> list[str]:
    """Write videos of 360p with a new scene every 2 to 8 seconds, and a dataset that names them; returns their names.

    Args:
        folder: The directory, for `videos.jinx` and the videos.
        count: The number of videos.
        seconds: The shortest and the longest.
        large_bytes: The size of one more video; 0: there is none.
    """
    (folder / "videos").mkdir(parents=True)
    lengths = np.linspace(*seconds, min(count, _DISTINCT)).round().astype(int)
    names: list[str] = []
    for number in range(count):
        name = f"videos/{number:04}.mp4"
        if number < _DISTINCT:
            _write(folder / name, int(lengths[number]) * RATE, number)
        else:
            (folder / name).write_bytes((folder / names[number % _DISTINCT]).read_bytes())
        names.append(name)
    if large_bytes:
        names.append("videos/large.avi")
        _write_large(folder / names[-1], large_bytes)
    with jinx.Writer(folder / "videos.jinx") as writer:
        writer.write_many({"id": name, "videos": [name]} for name in names)
    return names


def make_rows(path: Path, count: int) -> None:
    """Write rows like those of clips."""
    with jinx.Writer(path) as writer:
        writer.write_many(
            {"n": n, "file": f"clips/{n % 256:02x}/{n:032x}.mp4", "seconds": n % 60 / 2, "motion": n % 7 / 8}
            for n in range(count)
        )


def make_texts(path: Path, count: int) -> None:
    """Write texts of about a hundred words."""
    words = [f"word{n}" for n in range(997)]
    with jinx.Writer(path) as writer:
        writer.write_many(
            {"n": n, "text": " ".join(words[n * 31 % 997 :][:50] + words[n * 17 % 997 :][:50])} for n in range(count)
        )


def _write(path: Path, frames: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cuts = np.cumsum(rng.integers(2 * RATE, 8 * RATE, size=frames // RATE)).tolist()
    with av.open(str(path), "w") as file:
        stream: Any = file.add_stream("libx264", rate=RATE, options={"preset": "veryfast", "threads": "1"})
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        for picture in _pictures(frames, cuts, rng):
            file.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        file.mux(stream.encode(None))


def _pictures(frames: int, cuts: list[int], rng: np.random.Generator) -> "Iterator[np.ndarray[Any, Any]]":
    width, height = SIZE
    grain = rng.integers(0, 24, size=(height, width, 1), dtype=np.uint8)
    for number in range(frames):
        scene = sum(number >= cut for cut in cuts)
        picture = grain + np.array(_COLOURS[scene % len(_COLOURS)], dtype=np.uint8)
        left = number * 4 % (width - 160)
        picture[100:260, left : left + 160] = 230
        yield picture


def _write_large(path: Path, size: int) -> None:
    """Write a video of large frames: noise in Motion JPEG, whose first second is repeated."""
    rng = np.random.default_rng(0)
    with av.open(str(path), "w") as file:
        stream: Any = file.add_stream("mjpeg", rate=RATE, options={"qmin": "1", "qmax": "1"})
        stream.width, stream.height, stream.pix_fmt = 1280, 720, "yuvj420p"
        packets: list[bytes] = []
        for _ in range(RATE):
            noise = rng.integers(0, 256, size=(720, 1280, 3), dtype=np.uint8)
            packets += [bytes(packet) for packet in stream.encode(av.VideoFrame.from_ndarray(noise, format="rgb24"))]
        for number in range(size // (sum(map(len, packets)) // len(packets))):
            packet = av.Packet(packets[number % len(packets)])
            packet.stream, packet.pts, packet.dts, packet.time_base = stream, number, number, Fraction(1, RATE)
            packet.is_keyframe = True
            file.mux(packet)
