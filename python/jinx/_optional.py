"""Imports optional packages; the error for a missing one names the command that installs it."""

from importlib import import_module
from typing import Any


def require(module: str, *, extra: str, what: str, distribution: str = "jinx-data") -> Any:
    """Import an optional package.

    Args:
        module: The module's dotted name, e.g. `"PIL.Image"`.
        extra: The extra that brings it.
        what: What needs it, as the start of a sentence.
        distribution: Whose extra it is.

    Raises:
        ImportError: It is not installed; the message holds the command to run.
    """
    try:
        return import_module(module)
    except ImportError as error:
        root = module.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] != root:
            raise  # it is installed, but something it needs is not
        message = f"{what} needs {root}, which is not installed: pip install '{distribution}[{extra}]'"
        raise ImportError(message, name=root) from error
