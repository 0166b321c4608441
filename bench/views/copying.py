"""Copying samples as stored, next to `cp` of the same files."""

import random
import shutil
import subprocess
from pathlib import Path

import numpy as np

import jinx
from bench.views.rounds import Record, alternate

CP, SYNC = (shutil.which(name) or name for name in ("cp", "sync"))
IN_ORDER, SHUFFLED, ROWS = "copy 48 kB, in order", "copy 48 kB, shuffled", "copy rows of 1.2 kB"


def run(place: Path, media: int, rows: int, rounds: int) -> list[Record]:
    """Media in order and shuffled, rows without media in order."""
    source, texts = write_media(place / "media.jinx", media), write_texts(place / "texts.jinx", rows)
    ours, theirs = place / "ours.jinx", place / "theirs.jinx"
    order = np.random.Generator(np.random.PCG64(1)).permutation(media)
    records: list[Record] = []
    for case, data, count, positions in (
        (IN_ORDER, source, media, None),
        (SHUFFLED, source, media, order),
        (ROWS, texts, rows, None),
    ):
        steps = {
            "cp": lambda data=data: cp(data, theirs),
            "jinx": lambda data=data, positions=positions: copy(data, ours, positions),
        }
        records += alternate(case, steps, count=count, rounds=rounds)
        for path in place.glob("*ours.*"), place.glob("*theirs.*"):
            for file in path:
                file.unlink()
    source.unlink()
    source.with_suffix(".binx").unlink()
    return records


def write_media(path: Path, count: int) -> Path:
    """Samples of 48 kB that do not compress."""
    generator = random.Random(1)
    with jinx.Writer(path, compression=None) as writer:
        for i in range(count):
            writer.write({"id": f"sample-{i}", "n": i, "image": b"\xff\xd8\xff" + generator.randbytes(48_000)})
    return path


def write_texts(path: Path, count: int) -> Path:
    """Rows of 1.2 kB without media."""
    message = {"role": "user", "content": "a b c d e f g h " * 23}
    with jinx.Writer(path) as writer:
        for i in range(count):
            writer.write({"id": f"sample-{i}", "n": i, "score": i / 7, "messages": [message, message, message]})
    return path


def cp(source: Path, target: Path) -> None:
    """The files of a pair copied and synced."""
    for suffix in (".jinx", ".binx"):
        if source.with_suffix(suffix).exists():
            copied = target.with_suffix(suffix)
            subprocess.run([CP, "--reflink=never", source.with_suffix(suffix), copied], check=True)
            subprocess.run([SYNC, copied], check=True)


def copy(source: Path, target: Path, positions: object = None) -> None:
    """Samples copied as stored."""
    with jinx.Writer(target, overwrite=True) as writer:
        writer.copy(jinx.open(source), positions)
