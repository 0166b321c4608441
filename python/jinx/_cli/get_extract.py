"""`jinx get` and `jinx extract`: write values of one column to standard output or to files."""

import os
from collections.abc import Mapping
from typing import Any

import click

from jinx._cli.head_cat import json_text
from jinx._cli.parameters import COUNT, PATH, WHERE, examples, write_all, write_out
from jinx._media_types import media_bytes, suffix_of


# Unknown options are ignored, so that -1 can be an index.
@click.command(
    context_settings={"ignore_unknown_options": True},
    epilog=examples("jinx get out.jinx 42 image > 42.jpg", "jinx get out.jinx -1 messages | jq ."),
)
@click.argument("path", type=PATH)
@click.argument("index", type=int)
@click.argument("column")
@WHERE
def get(path: str, index: int, column: str, where: str | None) -> None:
    """Write COLUMN of sample INDEX of PATH to standard output: bytes and strings unchanged, other values as JSON.

    A negative INDEX counts from the end. COLUMN may be a dotted path, with numbers for the elements of lists:
    messages.0.content. Put names with dots in double quotes: 'meta."a.b"'. With --where, INDEX counts the selected
    samples.
    """
    from jinx._core import parse_path
    from jinx._dataset.expression import matching
    from jinx._open import open

    dataset = open(path)
    if where is not None:
        dataset = matching(dataset, where, index + 1 if index >= 0 else None)
    sample = dataset[index]
    write_out(as_bytes(_value_at(sample, [column] if column in sample else parse_path(column))))


@click.command(
    epilog=examples("jinx extract out.jinx images/ --column image", "jinx extract out.jinx captions/ --column caption"),
)
@click.argument("path", type=PATH)
@click.argument("directory", type=PATH)
@click.option("--column", required=True, metavar="COLUMN", help="Which column.")
@WHERE
@click.option("--limit", type=COUNT, metavar="N", help="Only the first N samples (that are selected).")
def extract(path: str, directory: str, column: str, where: str | None, limit: int | None) -> None:
    """Write one column of PATH to DIRECTORY: one file for each sample, named by the sample's number in PATH.

    Samples without a value are left out. DIRECTORY is created if needed; files in it are not replaced.
    """
    from jinx._dataset.expression import matching
    from jinx._dataset.positions import in_files
    from jinx._open import open

    dataset = open(path)
    if where is not None:
        dataset = matching(dataset, where, limit)
    elif limit is not None:
        dataset = dataset[:limit]
    dataset = dataset.select_columns([column])
    numbers = in_files(dataset._indices, len(dataset))
    os.makedirs(directory, exist_ok=True)  # noqa: PTH103
    digits = len(str(max(numbers, default=0)))
    written = 0
    for number, sample in zip(numbers, dataset, strict=True):
        value = sample.get(column)
        if value is None:
            continue
        data = as_bytes(value)
        name = f"{number:0{digits}d}{_suffix(value, data)}"
        _write_file(os.path.join(directory, name), data)  # noqa: PTH118
        written += 1
    click.echo(f"{directory}: {written:,} files", err=True)


def _value_at(sample: Any, path: list[str]) -> Any:
    """The value at a path.

    Raises:
        KeyError: A name in the path does not exist.
    """
    from jinx._suggest import unknown_column

    value, way = sample, ""
    for step in path:
        if isinstance(value, list):
            items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
            if not step.removeprefix("-").isdigit() or not -len(items) <= int(step) < len(items):
                raise KeyError(f"{way!r} is a list of {len(items)}, which has no element {step!r}; write {way}.0")
            value = items[int(step)]
        elif not isinstance(value, Mapping):
            raise KeyError(f"{way!r} is {type(value).__name__}, which has no member {step!r}")
        else:
            members: Mapping[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
            if step not in members:
                raise KeyError(unknown_column(step, members) + (f" in {way!r}" if way else ""))
            value = members[step]
        way = f"{way}.{step}" if way else step
    return value


def _write_file(path: str, data: bytes) -> None:
    """Write a new file, and remove it if it cannot be written completely."""
    with open(path, "xb", buffering=0) as file:  # noqa: PTH123
        try:
            write_all(file, data)
        except BaseException as error:
            os.unlink(path)  # noqa: PTH108
            if isinstance(error, OSError):
                error.filename = path
            raise


def as_bytes(value: Any) -> bytes:
    """The bytes to write for a value."""
    media = media_bytes(value)
    if media is not None:
        return media
    if isinstance(value, str):
        return value.encode("utf-8")
    # The JSON of an array is for people; nothing reads it back.
    return json_text(value.tolist() if hasattr(value, "tolist") else value, binary=True)


def _suffix(value: Any, data: bytes) -> str:
    if media_bytes(value) is not None:
        return suffix_of(data)
    return ".txt" if isinstance(value, str) else ".json"
