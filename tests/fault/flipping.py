"""Very many small changes to small files, made in place: `python -m fault.flipping DIRECTORY SEED START STOP`.

A change to a row or to a value is seen through datasets that were opened before; any other needs an opening of its own.
So most cases cost microseconds. Prints one line of JSON: how many cases there were, how they ended, and what was wrong.
The cases come in blocks of 1,000, and a block depends on its number and SEED only.
"""

import json
import mmap
import random
import resource
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import xxhash

import jinx

BLOCK = 1000
HEADER_BYTES = 64
HANG_SECONDS = 60
ADDRESS_SPACE = 768 << 20
PIECES = (
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"0",
    b"9",
    b"-",
    b".",
    b"e",
    b"\n",
    b"\0",
    b"\xff",
    b"\xff" * 8,
)


class File:
    """A file under test, mapped for writing, and where in it a change needs no new opening."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("r+b") as file:
            self.bytes = mmap.mmap(file.fileno(), 0)
        data = self.bytes[:]
        self.is_main = path.suffix == ".jinx"
        # The last line but one is the footer.
        self.footer = data.rstrip().rfind(b"\n", 0, data.rstrip().rfind(b"\n")) + 1 if self.is_main else 0
        self.digest = data.rfind(b',"digest":"')
        self.lines = [at for at, byte in enumerate(data[: self.footer]) if byte == 10]

    def is_between(self, at: int) -> bool:
        """Whether a change there is in a row, or in a value of the sidecar."""
        return at < self.footer if self.is_main else self.path.suffix == ".binx" and at >= HEADER_BYTES

    def sign(self) -> None:
        """Makes the footer's or the manifest's own checksum right."""
        if self.digest > 0:
            signed = self.bytes[self.footer : self.digest]
            self.bytes[self.digest + 11 : self.digest + 27] = b"%016x" % xxhash.xxh3_64_intdigest(signed)


class Place:
    """One dataset in its directory."""

    def __init__(self, directory: Path) -> None:
        self.files = [File(path) for path in sorted(directory.iterdir()) if path.stat().st_size]
        mains = [file.path for file in self.files if file.is_main]
        self.path = directory if (directory / "jinx.json").exists() or len(mains) > 1 else mains[0]
        levels = (("mmap", "none"), ("pread", "none"), ("mmap", "rows"), ("pread", "full"))
        self.opened = [(level, jinx.open(self.path, io=io, verify=level)) for io, level in levels]
        self.first = self.read(self.opened[-1][1], 0)  # what the sidecar's values belong to: most have one row
        # A row of a directory's second shard is not the dataset's row of that number.
        self.is_checked = self.path.is_file() and b'"digest"' in self.files[-1].bytes[:]

    def read(self, dataset: Any, row: int) -> dict[str, Any] | str:
        """All values of a row, or the name of the error."""
        try:
            return dict(dataset[row])
        except (jinx.JinxError, OSError, IndexError) as error:
            return type(error).__name__

    def touch(self, file: File, at: int, draw: random.Random) -> tuple[str, str | None]:
        """Reads what a change at byte `at` may have damaged: the outcome, and what is wrong with it."""
        level, dataset = draw.choice(self.opened)
        if not file.is_between(at):
            try:
                dataset = jinx.open(self.path, io=draw.choice(("mmap", "pread")), verify=level)
            except (jinx.JinxError, OSError) as error:
                return type(error).__name__, None
        found = self.read(dataset, sum(line < at for line in file.lines) if file.is_between(at) else 0)
        if isinstance(found, str):
            return found, None
        must_be_found = (
            self.is_checked and file.is_between(at) and (level == "full" if not file.is_main else level != "none")
        )
        is_wrong = must_be_found and (file.is_main or repr(found) != repr(self.first))
        return "a row", f"verify={level} gave a changed row" if is_wrong else None


def whole(directory: Path) -> Place | None:
    """The dataset in a directory, if all of it was copied there."""
    try:
        return Place(directory)
    except (jinx.JinxError, OSError):
        return None


def change(file: File, draw: random.Random) -> tuple[int, bytes]:
    """Changes some bytes; returns where, and what was there."""
    size = len(file.bytes)
    at = draw.randrange(size)
    kind = draw.random()
    if kind < 0.4:
        piece = bytes([file.bytes[at] ^ 1 << draw.randrange(8)])
    elif kind < 0.8:
        piece = draw.choice(PIECES)[: size - at]
    else:
        start = draw.randrange(size)
        piece = file.bytes[start : start + draw.randrange(1, 9)][: size - at]
    before = file.bytes[at : at + len(piece)]
    file.bytes[at : at + len(piece)] = piece
    return at, before


def case(places: list[Place], draw: random.Random) -> tuple[str, str | None]:
    place = draw.choice(places)
    file = draw.choice(place.files)
    at, before = change(file, draw)
    changed = file.bytes[at : at + len(before)] != before
    digest = file.bytes[file.digest :][:28] if file.digest > 0 else b""
    if at >= file.footer and draw.random() < 0.7:
        file.sign()
    try:
        outcome, wrong = place.touch(file, at, draw)
        if draw.random() < 0.03:
            jinx.verify(place.path)
    finally:
        if digest:
            file.bytes[file.digest : file.digest + 28] = digest
        file.bytes[at : at + len(before)] = before
    return outcome, f"{file.path.name} of {place.path} at {at}: {wrong}" if wrong and changed else None


def main(directory: Path, seed: int, start: int, stop: int, *, alarm: bool = False) -> dict[str, Any]:
    """Runs the blocks from START to STOP; with an alarm a case that hangs ends the process."""
    places = list(filter(None, map(whole, sorted(directory.iterdir()))))
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    for block in range(start, stop):
        draw = random.Random(f"{seed}-{block}")
        for number in range(BLOCK):
            if alarm:
                # The default action ends the process, even inside the compiled module.
                signal.setitimer(signal.ITIMER_REAL, HANG_SECONDS)
            try:
                outcome, problem = case(places, draw)
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is none of ours
                outcome, problem = "?", f"{type(error).__name__}: {str(error)[:300]}"
            outcomes[outcome] += 1
            if problem and len(wrong) < 20:
                wrong.append(f"block {block}, case {number}: {problem}")
        if alarm:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return {"cases": sum(outcomes.values()), "outcomes": outcomes, "wrong": wrong}


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print(json.dumps(main(Path(sys.argv[1]), *map(int, sys.argv[2:5]), alarm=True)))
