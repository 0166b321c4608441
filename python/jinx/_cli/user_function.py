"""A user function from `--code FILE.py:NAME` on the command line."""

import sys
from pathlib import Path

import click

from jinx._user_code import FileFunction


def function_from(text: str) -> FileFunction:
    """Run a file and return the function that `FILE.py:NAME` names.

    Raises:
        click.UsageError: The argument has another form, or there is no such file or function.
        ValueError: The file cannot be run.
    """
    file, _, name = text.rpartition(":")
    path = Path(file)
    if not file.endswith(".py") or not name:
        raise click.UsageError(f"--code {text!r}: write FILE.py:FUNCTION")
    if not path.exists():
        raise click.UsageError(f"--code {text!r}: there is no file {file}")
    # The file may import modules next to it. Worker processes inherit sys.path.
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        return FileFunction(file, name)
    except (AttributeError, TypeError):
        raise click.UsageError(f"--code {text!r}: {file} has no function {name!r}") from None
