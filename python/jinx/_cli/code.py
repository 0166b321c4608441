"""Functions of the user, from a file that is named on the command line."""

import sys
from pathlib import Path

import click

from jinx._user_code import FileFunction


def function_from(text: str) -> FileFunction:
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
    # The file may import its neighbours, also in processes, which get the path.
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        return FileFunction(file, name)
    except (AttributeError, TypeError):
        raise click.UsageError(f"--code {text!r}: {file} has no function {name!r}") from None
