"""`jinx head` and `jinx cat`: samples as JSON lines."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from jinx._cli.parameters import COUNT, PATH, WHERE, examples, names, write_out
from jinx._convert.formats import NAMES

if TYPE_CHECKING:
    from jinx._dataset.dataset import Dataset

_BLOCK = 256


class Head(click.Command):
    """Takes `-5` for `-n 5`, as head(1) does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Like click, but a bare number is the number of lines."""
        words = [f"--lines={word[1:]}" if word[:1] == "-" and word[1:].isdigit() else word for word in args]
        return super().parse_args(ctx, words)


@click.command(cls=Head, epilog=examples("jinx head out.jinx | jq .", "jinx head -3 in.parquet --no-binary"))
@click.argument("path", type=PATH)
@click.option("-n", "--lines", type=COUNT, default=10, help="How many samples.", show_default=True)
@WHERE
@click.option("--columns", multiple=True, metavar="A,B", help="Only these columns.")
@click.option("--no-binary", is_flag=True, help="Show the number of bytes in place of binary values.")
@click.option("--input-format", type=click.Choice(NAMES), help="The input's format, if the suffix does not say.")
def head(
    path: str, lines: int, *, where: str | None, columns: tuple[str, ...], no_binary: bool, input_format: str | None
) -> None:
    """Print the first samples of PATH as JSON lines.

    Binary values become {"$bytes": "base64"}, and the line begins with "$jinx": 1, so that convert reads them back.
    PATH may have any format that `jinx convert` reads.
    """
    _print_rows(path, lines, where, names(columns), binary=not no_binary, input_format=input_format)


@click.command(epilog=examples("jinx cat out.jinx --no-binary | jq .score", "jinx cat in.parquet --columns id,text"))
@click.argument("path", type=PATH)
@WHERE
@click.option("--columns", multiple=True, metavar="A,B", help="Only these columns.")
@click.option("--no-binary", is_flag=True, help="Show the number of bytes in place of binary values.")
@click.option("--input-format", type=click.Choice(NAMES), help="The input's format, if the suffix does not say.")
def cat(path: str, where: str | None, columns: tuple[str, ...], no_binary: bool, input_format: str | None) -> None:
    """Print all samples of PATH as JSON lines.

    Binary values become {"$bytes": "base64"}, and the line begins with "$jinx": 1, so that convert reads them back.
    PATH may have any format that `jinx convert` reads.
    """
    _print_rows(path, None, where, names(columns), binary=not no_binary, input_format=input_format)


def _print_rows(
    path: str,
    limit: int | None,
    where: str | None,
    columns: list[str] | None,
    *,
    binary: bool,
    input_format: str | None,
) -> None:
    from jinx import _core
    from jinx._convert.inputs import find_inputs

    inputs = find_inputs([path], input_format)
    if inputs.format in {"jinx", "mds"}:
        from jinx._dataset.expression import matching
        from jinx._open import open

        dataset = open(inputs.files)
        if where is not None:
            dataset = matching(dataset, where, limit)
        if columns is not None:
            dataset = dataset.select_columns(columns)
        blocks = _jinx_blocks(dataset, limit, binary=binary)
    else:
        rows = _core.stream(inputs.files, input_format=inputs.format, columns=columns, where=where)
        blocks = (json_text(row, binary=binary) for row in islice(rows, limit))
    for block in blocks:
        write_out(block)


def _jinx_blocks(dataset: "Dataset", limit: int | None, *, binary: bool) -> Iterator[bytes]:
    from jinx import _core

    stop = len(dataset) if limit is None else min(limit, len(dataset))
    for start in range(0, stop, _BLOCK):
        yield _core.row_json(dataset, start, min(start + _BLOCK, stop), binary)


def json_text(row: Any, *, binary: bool) -> bytes:
    """A sample or a value as JSON and a newline; bytes become `{"$bytes": base64}`, or a string with their number."""
    from jinx import _core

    return _core.json_text(row, binary) + b"\n"
