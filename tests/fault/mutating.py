"""Mutated files through the public API, with little memory: `python -m fault.mutating DIRECTORY SEED START STOP`.

Prints the cases that ended otherwise than with success or an error of ours. The number of the current case is in
`DIRECTORY/at`, for whoever has to tell which one ended the process. A case depends on its number and SEED only:
`python -m fault.mutating DIRECTORY SEED N N+1` does it again.
"""

import contextlib
import mmap
import random
import re
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import xxhash

import jinx

HANG_SECONDS = 60
ADDRESS_SPACE = 512 << 20
FULL_LENGTH = 64 << 10

Files = dict[str, bytes]


def flip(data: bytearray, draw: random.Random) -> None:
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def truncate(data: bytearray, draw: random.Random) -> None:
    del data[draw.randrange(len(data)) :]


def cut(data: bytearray, draw: random.Random) -> None:
    start = draw.randrange(len(data))
    del data[start : start + draw.choice((1, 2, 8, 64, 500))]


def insert(data: bytearray, draw: random.Random) -> None:
    at = draw.randrange(len(data) + 1)
    data[at:at] = draw.choice((draw.randbytes(draw.randrange(1, 20)), b"[" * 300, b"\0" * 64, b"\n", b'"', b"{}"))


def duplicate(data: bytearray, draw: random.Random) -> None:
    start = draw.randrange(len(data))
    at = draw.randrange(len(data) + 1)
    data[at:at] = data[start : start + draw.choice((1, 2, 8, 64, 500))]


def replace(data: bytearray, draw: random.Random) -> None:
    data[draw.randrange(len(data))] = draw.choice(b'{}[]",:.-+0129eEaznu\\\n\0\xff')


NUMBERS = (
    b"0", b"-1", b"1", b"2", b"63", b"64", b"65", b"255", b"65536", b"4294967296", b"9223372036854775807",
    b"9223372036854775808", b"18446744073709551615", b"18446744073709551616", b"1e400", b"1.5", b"1" * 5000,
    b"null", b"true", b'"x"', b"[]", b"{}", b"NaN",
)  # fmt: skip


def edit_number(data: bytearray, draw: random.Random) -> None:
    """A number of the last 4 KiB, where footer and trailer are, becomes another one."""
    start = max(0, len(data) - 4096)
    found = list(re.finditer(rb"(?<![0-9a-f\"])-?\d+", data[start:]))
    if found:
        match = draw.choice(found)
        value = draw.choice(NUMBERS)
        if draw.random() < 0.4:
            value = b"%d" % (int(match[0][:18]) + draw.choice((-8, -1, 1, 8, 64)))
        data[start + match.start() : start + match.end()] = value


def sign(data: bytearray) -> None:
    """Makes the footer's own checksum right again, so that what comes after that check is reached."""
    mark = data.rfind(b',"digest":"')
    footer = data.rfind(b"\n", 0, mark) + 1 if mark > 0 else 0
    if mark > 0:
        data[mark + 11 : mark + 27] = b"%016x" % xxhash.xxh3_64_intdigest(data[footer:mark])


def edit_number_and_sign(data: bytearray, draw: random.Random) -> None:
    edit_number(data, draw)
    sign(data)


MUTATIONS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    flip, flip, flip, truncate, cut, insert, duplicate, replace, replace, edit_number,
    *[edit_number_and_sign] * 4,
)  # fmt: skip


def mutated(files: Files, others: list[Files], draw: random.Random) -> Files:
    result = dict(files)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        name = draw.choice(sorted(result))
        if name.endswith(".binx") and draw.random() < 0.1:
            # The sidecar of another dataset, or none.
            sidecars = [data for other in others for each, data in other.items() if each.endswith(".binx")]
            result[name] = draw.choice([b"", *sidecars])
        elif result[name]:
            data = bytearray(result[name])
            draw.choice(MUTATIONS)(data, draw)
            result[name] = bytes(data)
    return result


def read_all(path: Path, draw: random.Random) -> None:
    """Everything the public API reads."""
    steps: list[Callable[[], object]] = [lambda: jinx.verify(path)]
    try:
        dataset = jinx.open(path, io=draw.choice(("mmap", "pread")), verify=draw.choice(("rows", "full", "none")))
    except (jinx.JinxError, OSError):
        jinx.verify(path)
        return
    for row in range(min(len(dataset), 30)):
        steps.append(lambda row=row: dataset[row])
        steps.append(lambda row=row: dict(dataset[row]))
    steps.append(lambda: dataset.take(range(min(len(dataset), 30))))
    steps.append(dataset.info)
    steps.append(lambda: dataset.schema)
    steps.append(lambda: steps.extend(lambda name=name: dataset[name] for name in dataset.column_names[:20]))
    for step in steps:
        with contextlib.suppress(jinx.JinxError, OSError):
            step()


def load(directory: Path) -> list[Files]:
    """The datasets that are mutated: one directory for each."""
    return [{file.name: file.read_bytes() for file in sorted(one.iterdir())} for one in sorted(directory.iterdir())]


def write(directory: Path, files: Files, before: set[str]) -> None:
    for name in before - set(files):
        (directory / name).unlink()
    for name, data in files.items():
        (directory / name).write_bytes(data)


def main(directory: Path, seed: int, start: int, stop: int) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sources = load(directory / "sources")
    place = directory / f"case{start}"
    place.mkdir(exist_ok=True)
    there: set[str] = {file.name for file in place.iterdir()}
    at_file = directory / f"at{start}"
    at_file.write_bytes(bytes(8))
    failed = 0
    with at_file.open("r+b") as file, mmap.mmap(file.fileno(), 8) as at:
        for number in range(start, stop):
            at[:] = number.to_bytes(8, "little")
            draw = random.Random(f"{seed}-{number}")
            files = mutated(draw.choice(sources), sources, draw)
            write(place, files, there)
            there = set(files)
            mains = [name for name in files if name.endswith(".jinx")]
            path = place if "jinx.json" in files or len(mains) > 1 else place / mains[0]
            # The default action ends the process, even inside the compiled module.
            signal.setitimer(signal.ITIMER_REAL, HANG_SECONDS)
            try:
                read_all(path, draw)
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is none of ours
                failed += 1
                print(f"case {number}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            signal.setitimer(signal.ITIMER_REAL, 0)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *map(int, sys.argv[2:5])))
