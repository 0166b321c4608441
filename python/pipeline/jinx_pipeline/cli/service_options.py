"""Options and checks that the commands of the service share."""

import re
from collections.abc import Sequence
from pathlib import Path

import click

from jinx_pipeline.optional import require

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")


def require_service(what: str) -> None:
    """Refuse to continue without the packages of the service.

    Raises:
        ImportError: One of them is not installed; the message has the command to run.
    """
    for module in ("starlette", "uvicorn"):
        require(module, extra="service", what=what)


def named_directories(option: str, given: Sequence[str]) -> dict[str, Path]:
    """The directories of an option, by name.

    Raises:
        click.UsageError: A value is not NAME=DIR.
    """
    found: dict[str, Path] = {}
    for text in given:
        name, is_given, directory = text.partition("=")
        if not is_given or not _NAME.fullmatch(name) or not directory:
            raise click.UsageError(f"{option} {text}: write NAME=DIR, where NAME has letters, digits, _ and -")
        if name in found:
            raise click.UsageError(f"{option} {text}: the name is given twice")
        found[name] = Path(directory)
    return found
