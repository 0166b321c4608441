"""Functions of the user, from a file that is named on the command line."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


def function_from(text: str) -> Callable[..., Any]:
    """The function that `FILE.py:NAME` names; the file is run.

    Raises:
        click.UsageError: The text, the file or the function is not there.
    """
    file, _, name = text.rpartition(":")
    path = Path(file)
    if not file.endswith(".py") or not name:
        raise click.UsageError(f"--code {text!r}: write FILE.py:FUNCTION")
    if not path.exists():
        raise click.UsageError(f"--code {text!r}: there is no file {file}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise click.UsageError(f"--code {text!r}: {file} cannot be run")
    module = importlib.util.module_from_spec(spec)
    # Functions are pickled into processes by the name of their module, which those look for on the path.
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent.resolve()))
    spec.loader.exec_module(module)
    found = getattr(module, name, None)
    if not callable(found):
        raise click.UsageError(f"--code {text!r}: {file} has no function {name!r}")
    return found
