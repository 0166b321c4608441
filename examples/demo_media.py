"""Videos and recordings with known scenes and silences, and the recipes that cut, measure, list and pack them.

Run it with `make demo-media`. It compares the clips with the scenes and sounds that it has made.
"""

import argparse
import shlex
import shutil
import sqlite3
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import av
import numpy as np
import soundfile

import jinx

if TYPE_CHECKING:
    from collections.abc import Iterator

RATE, SIZE = 25, (320, 240)
SOUND_RATE = 22_050
COLOURS = ((60, 60, 160), (200, 90, 60), (60, 160, 60), (220, 40, 200), (20, 120, 130))


def main() -> None:
    """Make the media, run the recipes, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, default=Path("demo-media"), help="where everything is written")
    parser.add_argument("--videos", type=int, default=6, help="the number of videos, and of recordings")
    arguments = parser.parse_args()
    directory: Path = arguments.directory
    shutil.rmtree(directory, ignore_errors=True)
    scenes, sounds = make_media(directory, arguments.videos)
    print(f"{directory}: {len(scenes)} scenes in {arguments.videos} videos, {len(sounds)} sounds in recordings")
    pipeline(directory, "run", "video-clips", "--in", "videos.jinx", "--out", "clips.jinx")
    pipeline(directory, "run", "video-pack", "--set", "where=seconds >= 1")
    pipeline(directory, "run", "audio-clips", "--in", "recordings.jinx", "--out", "speech.jinx")
    pipeline(directory, "clean", "clips.jinx.work")
    if rows_of_table(directory / "clips.db") != scenes:
        sys.exit("the clips are not the scenes that were made")
    if spans_of(directory / "speech.jinx") != sounds:
        sys.exit("the parts of recordings are not the sounds that were made")
    print(f"\nAll {len(scenes)} scenes and {len(sounds)} sounds were found, and nothing else.")


def make_media(directory: Path, count: int) -> tuple[list[tuple[str, float, float]], list[tuple[str, float, float]]]:
    """Write the media and two datasets that name them; returns the scenes and the sounds: file or id, start, end.

    Args:
        directory: The directory.
        count: The number of videos, and of recordings.
    """
    for name in ("videos", "recordings"):
        (directory / name).mkdir(parents=True)
    rng = np.random.default_rng(0)
    scenes: list[tuple[str, float, float]] = []
    sounds: list[tuple[str, float, float]] = []
    with jinx.Writer(directory / "videos.jinx") as videos, jinx.Writer(directory / "recordings.jinx") as recordings:
        for number in range(count):
            name = f"videos/{number:04}.mp4"
            cuts = np.cumsum(rng.integers(25, 80, size=int(rng.integers(2, 6)))).tolist()
            write_video(directory / name, cuts, number)
            scenes += [(name, first / RATE, stop / RATE) for first, stop in pairwise([0, *cuts])]
            videos.write({"id": f"v{number}", "videos": [name]})
            name = f"recordings/{number:04}.wav"
            spans = [(1 + 3 * n, 1 + 3 * n + int(rng.integers(1, 3))) for n in range(int(rng.integers(1, 4)))]
            write_recording(directory / name, spans, number)
            sounds += [(f"r{number}", float(start), float(stop)) for start, stop in spans]
            recordings.write({"id": f"r{number}", "audios": [name]})
        # The same sounds again, and noise, which the recipe leaves out.
        shutil.copy(directory / "recordings/0000.wav", directory / "recordings/again.wav")
        noise = 0.2 * rng.standard_normal(2 * SOUND_RATE)
        soundfile.write(directory / "recordings/noise.wav", noise.astype(np.float32), SOUND_RATE)
        recordings.write_many({"id": name, "audios": [f"recordings/{name}.wav"]} for name in ("again", "noise"))
    return sorted(scenes), sorted(sounds)


def write_video(path: Path, cuts: list[int], seed: int) -> None:
    """Write a video in which a square moves.

    Args:
        path: The file.
        cuts: The number of frames up to the end of each scene. Every second scene begins with a key frame.
        seed: Its number.
    """
    keys = set(cuts[::2])
    with av.open(str(path), "w") as file:
        options = {"x264-params": "scenecut=0:keyint=250", "threads": "1"}
        stream: Any = file.add_stream("libx264", rate=RATE, options=options)
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        for number, picture in enumerate(pictures(cuts, seed)):
            frame: Any = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pict_type = 1 if number in keys else 0
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))


def pictures(cuts: list[int], seed: int) -> "Iterator[np.ndarray[Any, Any]]":
    """The frames of a video."""
    width, height = SIZE
    y, x = np.mgrid[:height, :width]
    pattern = ((x // 8 + y // 8) % 2 * 20).astype(np.uint8)[..., None]
    for number in range(cuts[-1]):
        scene = sum(number >= cut for cut in cuts) + seed
        picture = pattern + np.array(COLOURS[scene % len(COLOURS)], dtype=np.uint8)
        left = number * 3 % (width - 80)
        picture[80:160, left : left + 80] = 230
        yield picture


def write_recording(path: Path, spans: list[tuple[int, int]], seed: int) -> None:
    """Write a tone with silences; spans are in whole seconds."""
    at = np.arange((spans[-1][1] + 1) * SOUND_RATE) / SOUND_RATE
    wave = np.zeros(len(at))
    for number, (start, stop) in enumerate(spans):
        wave += 0.3 * np.sin(2 * np.pi * (300 + 40 * seed + 7 * number) * at) * ((at >= start) & (at < stop))
    soundfile.write(path, wave.astype(np.float32), SOUND_RATE)


def rows_of_table(path: Path) -> list[tuple[str, float, float]]:
    """The clips that a table lists: file, start and end."""
    with sqlite3.connect(path) as database:
        return database.execute('SELECT source, start, "end" FROM clips ORDER BY source, start').fetchall()


def spans_of(path: Path) -> list[tuple[str, float, float]]:
    """The parts of recordings, without the silence around them: id, start and end, in tenths of seconds."""
    parts = [(sample["id"], sample["clip"]) for sample in jinx.open(path).to_list()]
    return sorted((name, round(clip["start"] + 0.1, 1), round(clip["end"] - 0.1, 1)) for name, clip in parts)


def pipeline(directory: Path, *words: str) -> None:
    """Print and run `jinx-pipeline WORDS`."""
    print(f"\n$ jinx-pipeline {shlex.join(words)}", flush=True)
    subprocess.run([sys.executable, "-m", "jinx_pipeline", *words], check=True, cwd=directory)


if __name__ == "__main__":
    main()
