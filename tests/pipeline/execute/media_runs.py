"""Runs of the shipped recipes for clips, on media with known scenes and sounds."""

import re
import shlex
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from click.testing import CliRunner

from jinx_pipeline.cli.program import pipeline
from jinx_pipeline.database.address import address_of
from jinx_pipeline.database.connection import connect
from pipeline.made import digest

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "clips.md"
COMMANDS = [
    shlex.split(line) for line in re.findall(r"^\$ jinx-pipeline (run .*)$", PAGE.read_text("utf-8"), re.MULTILINE)
]
"""The commands of the page: clips of videos, packed in two formats, and of recordings."""
OUTPUTS = tuple(command[command.index("--out") + 1] for command in COMMANDS)


def run_all(*words):
    """Run every command in the working directory."""
    for command in COMMANDS:
        run_one(command, *words)


def run_one(command, *words):
    assert exit_code_of(command, *words) == 0


def exit_code_of(command, *words):
    """The exit code of a command in the working directory, run in this process."""
    words = [*command, *words, "--progress", "none"]
    return CliRunner().invoke(pipeline, words, catch_exceptions=False, standalone_mode=False).return_value


def started(command, *words):
    """A process that runs a command in the working directory."""
    words = [sys.executable, "-m", "jinx_pipeline", *command, *words, "--progress", "none"]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def result_of(folder: Path) -> dict[str, object]:
    """Every byte of the outputs and clips, and every row of the table."""
    clips = {path.name: sha256(path.read_bytes()).hexdigest() for path in (folder / "clips").glob("*/*")}
    return {"clips": clips, "rows": rows_of(f"{folder}/clips.db"), **digests(folder)}


def digests(folder: Path) -> dict[str, str]:
    """Every byte of the outputs that there are."""
    return {name: digest(folder / name) for name in OUTPUTS if (folder / name).exists()}


def rows_of(database: str) -> list[tuple[object, ...]]:
    """Every row of the table."""
    connection = connect(address_of(database))
    try:
        chunks = connection.select("SELECT * FROM clips ORDER BY source, video, start")
        return [row for _, rows in chunks for row in rows]
    finally:
        connection.close()
