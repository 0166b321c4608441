"""Imports optional packages; the error for a missing one names the command that installs it."""

from importlib import import_module
from typing import Any


def require(module: str, *, extra: str, what: str, distribution: str = "jinx-data") -> Any:
    """Import an optional package.

    Args:
        module: The module's dotted name, e.g. `"PIL.Image"`.
        extra: The extra that installs it.
        what: The feature that needs it, as the start of a sentence.
        distribution: The distribution with this extra.

    Raises:
        ImportError: The package is not installed; the message has the command to run.
    """
    try:
        return import_module(module)
    except ImportError as error:
        root = module.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] != root:
            raise  # the package is installed, but one of its dependencies is not
        message = f"{what} needs {root}, which is not installed: pip install '{distribution}[{extra}]'"
        raise ImportError(message, name=root) from error
