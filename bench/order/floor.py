"""The least work that a sort of small rows can be: a small program that does nothing else, measured beside ours."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

PROGRAM = "order_floor"
_ROOT = Path(__file__).resolve().parents[2]
_CARGO = ("cargo", "build", "--release", "--locked", "-p", "jinx-order", "--example", PROGRAM)


def build(place: Path) -> None:
    """Put the program into `place`; where Cargo cannot build it, say so, and the page has no floor."""
    try:
        built = subprocess.run(
            [*_CARGO, "--message-format=json"], cwd=_ROOT, check=True, stdout=subprocess.PIPE, text=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no floor of small rows: {error}")
        return
    messages = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
    made = [message["executable"] for message in messages if message.get("executable")]
    shutil.copy(made[-1], place / PROGRAM)


def run(operation: str, place: Path, out: Path, _: int) -> None:
    """Write the rows of `place` in another order, as the program does it."""
    main = place / "in.jinx"
    rows = _footer(main)
    columns = [column for column in rows["columns"] if column["data"].get("offset")]
    key = [column["path"] for column in columns].index(["score"]) if operation == "sort" else "-"
    arrays = [f"{column['data']['offset']}:{column['data']['length'] // rows['num_samples']}" for column in columns]
    offsets = [rows["index.npy.bin"]["offset"], rows["line_hash"]["offset"]]
    words = [main, main.with_suffix(".binx"), out / "out", rows["num_samples"], *offsets, key, *arrays]
    subprocess.run([place.parent / PROGRAM, *map(str, words)], check=True)


def _footer(main: Path) -> dict[str, Any]:
    """The footer of a pair; its last line is the number of bytes before it."""
    with main.open("rb") as file:
        file.seek(-32, os.SEEK_END)
        file.seek(int(file.read().split()[-1]))
        return json.loads(file.readline())
