"""The videos and rows of the benchmark, which are made once and kept."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import av
import numpy as np

import jinx

if TYPE_CHECKING:
    from collections.abc import Iterator

RATE, SIZE = 25, (640, 360)
CLIP_BYTES = 500_000
_COLOURS = ((60, 60, 160), (200, 90, 60), (60, 160, 60), (220, 40, 200), (20, 120, 130))
# The other videos are links to these.
_DISTINCT = 20


def kept(root: Path, name: str, make: Callable[[Path], object]) -> Path:
    """A directory of data, which is made at its first use.

    Args:
        root: Where data is kept.
        name: The name of the directory, with all that its content depends on.
        make: Writes the data into a new directory.
    """
    folder, part = root / name, root / f".{name}.part"
    if not folder.exists():
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        print(f"making {folder}", flush=True)
        make(part)
        part.rename(folder)
    return folder


def make_videos(folder: Path, count: int, seconds: tuple[int, int]) -> None:
    """Write videos of 360p with a new scene every 2 to 8 seconds, and a dataset that names them.

    Args:
        folder: The directory, for `videos.jinx` and the videos.
        count: The number of videos; from the twentieth on they are links to the first ones.
        seconds: The shortest and the longest.
    """
    (folder / "videos").mkdir()
    lengths = np.linspace(*seconds, min(count, _DISTINCT)).round().astype(int)
    names = [f"videos/{number:04}.mp4" for number in range(count)]
    for number, name in enumerate(names):
        if number < _DISTINCT:
            _write(folder / name, int(lengths[number]) * RATE, number)
        else:
            os.link(folder / names[number % _DISTINCT], folder / name)
    _list_videos(folder, names)


def make_large(folder: Path, size: int) -> None:
    """Write a video of so many bytes and four short ones, and a dataset that names them."""
    (folder / "videos").mkdir()
    names = [f"videos/{number}.mp4" for number in range(4)]
    for number, name in enumerate(names):
        _write(folder / name, 10 * RATE, number)
    _write_large(folder / "videos" / "large.avi", size)
    _list_videos(folder, ["videos/large.avi", *names])


def make_clips(folder: Path, size: int) -> None:
    """Write files of the size of clips, and the table that names them."""
    rng = np.random.default_rng(0)
    rows: list[tuple[str, int, float, float, str, float, int, int, float]] = []
    for number in range(size // CLIP_BYTES):
        name = f"clips/{number % 256:02x}/{number:032x}.mp4"
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(rng.bytes(CLIP_BYTES))
        rows.append((f"videos/{number // 10}.mp4", 0, number % 10, number % 10 + 1, name, 1.0, *SIZE, 0.5))
    with closing(sqlite3.connect(folder / "clips.db")) as database, database:
        database.execute(
            'CREATE TABLE clips (source TEXT, video INTEGER, start REAL, "end" REAL, file TEXT, seconds REAL, '
            "width INTEGER, height INTEGER, motion REAL, PRIMARY KEY (source, video, start))"
        )
        database.executemany("INSERT INTO clips VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


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


def _list_videos(folder: Path, names: list[str]) -> None:
    with jinx.Writer(folder / "videos.jinx") as writer:
        writer.write_many({"id": name, "videos": [name]} for name in names)


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
