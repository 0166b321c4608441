"""`jinx head` and `jinx cat`: samples as JSON lines."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from jinx.cli.options import COUNT, PATH, examples, names, write_out

if TYPE_CHECKING:
    from jinx.dataset import Dataset

_BLOCK = 256


class Head(click.Command):
    """Takes `-5` for `-n 5`, as head(1) does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, with a bare number as the number of lines."""
        words = [f"--lines={word[1:]}" if word[:1] == "-" and word[1:].isdigit() else word for word in args]
        return super().parse_args(ctx, words)


@click.command(cls=Head, epilog=examples("jinx head out.jinx | jq .", "jinx head -3 in.parquet --no-binary"))
@click.argument("path", type=PATH)
@click.option("-n", "--lines", type=COUNT, default=10, help="How many samples.", show_default=True)
@click.option("--fields", multiple=True, metavar="A,B", help="Only these fields.")
@click.option("--no-binary", is_flag=True, help="Leave the bytes out; say how many there are.")
@click.option("--from", "from_", help="The input's format, if the suffix does not say.")
def head(path: str, lines: int, fields: tuple[str, ...], no_binary: bool, from_: str | None) -> None:
    """Print the first samples of PATH as JSON lines.

    Binary values become {"$bytes": "base64"}, and the row begins with "$jinx": 1, so that convert reads them back.
    PATH may be of any format that can be converted.
    """
    _print_rows(path, lines, names(fields), binary=not no_binary, from_=from_)


@click.command(epilog=examples("jinx cat out.jinx --no-binary | jq .score", "jinx cat in.parquet --fields id,text"))
@click.argument("path", type=PATH)
@click.option("--fields", multiple=True, metavar="A,B", help="Only these fields.")
@click.option("--no-binary", is_flag=True, help="Leave the bytes out; say how many there are.")
@click.option("--from", "from_", help="The input's format, if the suffix does not say.")
def cat(path: str, fields: tuple[str, ...], no_binary: bool, from_: str | None) -> None:
    """Print all samples of PATH as JSON lines.

    Binary values become {"$bytes": "base64"}, and the row begins with "$jinx": 1, so that convert reads them back.
    PATH may be of any format that can be converted.
    """
    _print_rows(path, None, names(fields), binary=not no_binary, from_=from_)


def _print_rows(path: str, limit: int | None, fields: list[str] | None, *, binary: bool, from_: str | None) -> None:
    from jinx.formats.sources import find_inputs

    inputs = find_inputs(path, from_)
    if inputs.format in {"jinx", "mds"}:
        from jinx.opening import open

        blocks = _jinx_blocks(open(inputs.files, fields=fields), limit, binary=binary)
    else:
        blocks = _other_blocks(inputs.files, inputs.format, limit, fields, binary=binary)
    for block in blocks:
        write_out(block)


def _jinx_blocks(dataset: "Dataset", limit: int | None, *, binary: bool) -> Iterator[bytes]:
    from jinx import _core

    stop = len(dataset) if limit is None else min(limit, len(dataset))
    for start in range(0, stop, _BLOCK):
        yield _core.row_json(dataset, start, min(start + _BLOCK, stop), binary)


def _other_blocks(
    files: list[str], format: str, limit: int | None, fields: list[str] | None, *, binary: bool
) -> Iterator[bytes]:
    from jinx import _core

    rows = _core.stream(files, source_format=format, fields=fields)
    for row in rows if limit is None else islice(rows, limit):
        yield json_text(row, binary=binary)


def json_text(row: Any, *, binary: bool) -> bytes:
    """A row or a value as JSON and a newline; bytes as `{"$bytes": base64}`, or a text that says how many there are."""
    from jinx import _core

    return _core.json_text(row, binary) + b"\n"
