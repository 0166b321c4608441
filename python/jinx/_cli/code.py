"""Functions of the user, from a file that is named on the command line."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from jinx._user_code import run_file


def function_from(text: str) -> Callable[..., Any]:
    """The function that `FILE.py:NAME` names; the file is run.

    Raises:
        click.UsageError: The text, the file or the function is not there.
        ValueError: The file cannot be run.
    """
    file, _, name = text.rpartition(":")
    path = Path(file)
    if not file.endswith(".py") or not name:
        raise click.UsageError(f"--code {text!r}: write FILE.py:FUNCTION")
    if not path.exists():
        raise click.UsageError(f"--code {text!r}: there is no file {file}")
    # Functions are pickled into processes by the name of their module, which those look for on the path.
    sys.path.insert(0, str(path.parent.resolve()))
    found = getattr(run_file(file, path.stem), name, None)
    if not callable(found):
        raise click.UsageError(f"--code {text!r}: {file} has no function {name!r}")
    return found
