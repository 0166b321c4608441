"""Parameter types and helper functions for commands: paths with completion, lists of names, examples, output."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import click

if TYPE_CHECKING:
    from io import RawIOBase

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class PathWithCompletion(click.Path):
    """A path that shells can complete. It need not exist: opening it gives a better message."""

    name = "path"


class Count(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] - generic only in the newest click
    """A number within the range that the core accepts, without showing the range in `--help`."""

    name = "n"

    def __init__(self, least: int = 0, bits: int = 63) -> None:
        self.least = least
        self.largest = (1 << bits) - 1

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number."""
        number = click.IntRange(0, self.largest).convert(value, param, ctx)
        if number < self.least:
            self.fail(f"{number} is not at least {self.least}", param, ctx)
        return number


class Duration(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] - generic only in the newest click
    """A duration such as `30m` or `8h`."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The duration in seconds."""
        found = re.fullmatch(r"(\d{1,9})([smhd])", str(value))
        if found is None or int(found[1]) == 0:
            self.fail(f"{value!r} is not a time; write 30m or 8h", param, ctx)
        return float(int(found[1]) * _UNITS[found[2]])


PATH = PathWithCompletion()
COUNT = Count()
SEED = Count(bits=64)
AT_LEAST_ONE = Count(1)


WHERE = click.option(
    "--where", metavar="EXPRESSION", help="Only the samples that an expression selects, such as 'score > 0.5'."
)


def examples(*lines: str) -> str:
    """The examples at the end of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def names(values: Sequence[str]) -> list[str] | None:
    """Names of `--columns a,b --columns c`; None when the option was not given.

    Raises:
        click.UsageError: The option was given without a name.
    """
    columns = [name.strip() for value in values for name in value.split(",")]
    columns = [name for name in columns if name]
    if values and not columns:
        raise click.UsageError(f"{values[0]!r} names nothing; leave the option out, or give a name")
    return columns or None


def pairs(values: Sequence[str], option: str) -> dict[str, str] | None:
    """Names and values of `--rename old=new,other=another`; None when the option was not given."""
    mapping: dict[str, str] = {}
    example = "old=new" if option == "--rename" else "name=value"
    for part in names(values) or []:
        old, equals, new = part.partition("=")
        if not old or not equals or not new:
            raise click.UsageError(f"{option} {part!r}: write {example}")
        if old in mapping:
            raise click.UsageError(f"{option}: {old!r} is given twice")
        mapping[old] = new
    return mapping or None


def write_out(data: bytes) -> None:
    """Write bytes to standard output."""
    import sys

    write_all(sys.stdout.buffer, data)
    sys.stdout.buffer.flush()


def write_all(file: "BinaryIO | RawIOBase", data: bytes) -> None:
    """Write all bytes: an unbuffered file (standard output with PYTHONUNBUFFERED) may accept only some at a time."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) or 0 :]


def print_json(value: Any) -> None:
    """Write one JSON document to standard output."""
    import json

    click.echo(json.dumps(value, ensure_ascii=False, indent=2))
