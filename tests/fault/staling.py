"""Runs under `shim --reads`: reads as from the file system of another machine, and prints as JSON what went wrong.

`python -m fault.staling DIRECTORY`
"""

import errno
import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jinx
from fault.rows import digest, rows
from jinx.torch import Loader

ACTIONS = {"": 0, "stale": 10, "stays stale": 11, "no maps": 12, "remote": 13}
MOST_CALLS = 500


def arm(action: str, number: int = 0) -> None:
    os.write(-1000 - ACTIONS[action], bytes(number))


def disarm() -> int:
    """The number of calls since the shim was armed."""
    return os.write(-1000, b"")


def read_open(path: Path, io: str) -> str:
    return digest(jinx.open(path, io=io))


def read_again(path: Path, io: str) -> str:
    """Opened before the file system goes."""
    action, number = read_again.armed
    arm("")
    dataset = jinx.open(path, io=io)
    arm(action, number)
    return digest(dataset[i] for i in range(len(dataset)))


read_again.armed = ("", 0)


def read_taken(path: Path, io: str) -> str:
    dataset = jinx.open(path, io=io)
    return digest(dataset.take(range(len(dataset))))


def read_loaded(path: Path, io: str) -> str:
    loader = Loader(jinx.open(path, io=io), batch_size=3, num_workers=2, collate_fn=list)
    return digest(sample for batch in loader for sample in batch)


def read_verified(path: Path, io: str) -> str:
    problems = jinx.verify(path)
    if {problem.cause for problem in problems} == {"io"}:
        raise OSError(errno.ESTALE, problems[0].what, problems[0].file)
    return read_open(path, io) if not problems else str(problems)


READS: dict[str, Callable[[Path, str], str]] = {
    "iterate": read_open,
    "get": read_again,
    "take": read_taken,
    "Loader": read_loaded,
    "verify": read_verified,
}


def attempt(name: str, path: Path, io: str, action: str, number: int = 0) -> tuple[str, str, int]:
    """How a reading with a failing call ended: `right`, `wrong`, or the error's class; its text; and the calls."""
    read_again.armed = (action, number)
    arm(action, number)
    try:
        found = READS[name](path, io)
    except Exception as error:  # noqa: BLE001 - its type is what is tested
        calls = disarm()
        number = getattr(error, "errno", None)
        kind = type(error).__name__ if number is None else errno.errorcode[number]
        return kind, str(error), calls
    calls = disarm()
    return "right" if found == digest(rows(1)) else "wrong", "", calls


def run(name: str, path: Path, action: str) -> dict[str, Any]:
    """Every call of one reading fails, one after the other."""
    ends: Counter[str] = Counter()
    unclear: set[str] = set()
    for number in range(1, MOST_CALLS):
        end, text, calls = attempt(name, path, "pread", action, number)
        if calls < number:
            break
        ends[end] += 1
        if end not in {"right", "ESTALE"} or (end == "ESTALE" and (str(path.parent) not in text or "\n" in text)):
            unclear.add(f"{end}: {text}"[:300])
    return {"ends": dict(ends), "unclear": sorted(unclear)}


def main(directory: Path) -> dict[str, Any]:
    """All readings of a pair and of a directory of shards."""
    found: dict[str, Any] = {}
    for path in (directory / "a.jinx", directory / "data", directory / "bare"):
        for name in READS:
            for action in ("stale", "stays stale"):
                found[f"{path.name}, {name}, {action}"] = run(name, path, action)
            for io, action in (("auto", "no maps"), ("mmap", "no maps"), ("auto", "remote")):
                found[f"{path.name}, {name}, {action}, io={io}"] = attempt(name, path, io, action)
    return found


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
