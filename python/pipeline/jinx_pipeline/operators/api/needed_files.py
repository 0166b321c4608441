"""The models, word lists and other files that operators need."""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class NeededFile:
    """A file or directory without which an operator fails on every sample.

    Attributes:
        parameter: The operator's parameter that names it.
        path: The path, as in the parameter.
        is_there: Whether it exists on this machine.
    """

    parameter: str
    path: str
    is_there: bool


def needed(parameter: str, path: str | os.PathLike[str]) -> NeededFile:
    """A file or directory that a parameter names."""
    return NeededFile(parameter, os.fspath(path), os.path.exists(path))  # noqa: PTH110 - str in, str out
