"""`jinx info`: samples, size, columns and other facts about a dataset."""

from typing import TYPE_CHECKING

import click

from jinx._cli.parameters import PATH, examples, print_json
from jinx._sizes import natural_size

if TYPE_CHECKING:
    from jinx._results import ColumnInfo, DatasetInfo, IndexedInfo

_MAX_COLUMNS = 12
_MAX_BASES = 12
_FORMATS = {"jinx": "JINX", "jsonl": "plain JSON lines", "mds": "MDS"}


@click.command(epilog=examples("jinx info out.jinx", "jinx info out.jinx --json | jq .samples"))
@click.argument("path", type=PATH)
@click.option("--json", "as_json", is_flag=True, help="Everything, as JSON.")
def info(path: str, as_json: bool) -> None:
    """Describe PATH: samples, sizes, columns with types, compression, index, checksums.

    For a saved view, also list the datasets that it shows, and its own columns.
    """
    from jinx._open import open

    summary = open(path).info()
    if as_json:
        print_json(summary.to_dict())
        return
    for line in text(summary):
        click.echo(line)


def text(summary: "DatasetInfo") -> list[str]:
    """The lines `jinx info` prints."""
    version = f"{_FORMATS[summary.format]}{' ' if summary.version else ''}{summary.version or ''}"
    if summary.bases:
        version += ", a saved view"
    facts = [
        ("file", summary.path),
        ("format", f"{version}, by {summary.writer}" if summary.writer else version),
        (
            "samples",
            f"{summary.samples:,}" + (f" in {summary.shards} shards" if summary.shards > 1 else ""),
        ),
        ("size", _size(summary)),
        *(("shows", line) for line in _bases(summary)),
    ]
    if summary.bases:
        facts.append(("order", "its own" if summary.has_positions else "that of what it shows"))
        facts.append(("own columns", ", ".join(summary.own_columns) or "none"))
    if summary.split:
        facts.append(("split", summary.split))
    if summary.format == "mds":
        facts.append(("compression", ", ".join(summary.compression) or "none"))
    gained = _gained(summary.columns)
    if gained:
        facts.append(("compression", gained))
    facts.append(("checksums", ", ".join(summary.checksums) or "none"))
    facts.append(("indexed", _indexed(summary.indexed)))
    if summary.needs_1_1:
        facts.append(("not for 1.0", "; ".join(summary.needs_1_1)))
    if summary.meta:
        facts.append(("meta", ", ".join(summary.meta)))
    width = max(len(name) for name, _ in facts) + 2
    lines = [f"{name:{width}}{value}" for name, value in facts]
    return [*lines, "", *_table(summary.columns)]


def _size(summary: "DatasetInfo") -> str:
    if not summary.sidecar_bytes:
        return natural_size(summary.bytes)
    both = natural_size(summary.bytes + summary.sidecar_bytes)
    return f"{both} ({natural_size(summary.bytes)} rows and index, {natural_size(summary.sidecar_bytes)} sidecar)"


def _bases(summary: "DatasetInfo") -> list[str]:
    lines = [
        f"{base.selected:,} of {base.samples:,} samples of {base.path} "
        f"({base.kind}, {natural_size(base.bytes)}, id {base.id}"
        f"{f', also at {base.location}' if base.location else ''})"
        for base in summary.bases[:_MAX_BASES]
    ]
    return [
        *lines,
        *([f"and {len(summary.bases) - _MAX_BASES} more"] if len(summary.bases) > _MAX_BASES else []),
    ]


def _gained(columns: "list[ColumnInfo]") -> str:
    stored = sum(column.stored_bytes for column in columns)
    decoded = sum(column.decoded_bytes for column in columns)
    if not stored or not decoded:
        return ""
    if stored >= decoded:
        return f"{natural_size(decoded)} of binary values, which do not shrink and are stored as they are"
    return f"{natural_size(decoded)} of binary values in {natural_size(stored)} ({decoded / stored:.2f} times smaller)"


def _indexed(indexed: "list[IndexedInfo]") -> str:
    named = [f"len({column.path})" if column.kind == "length" else column.path for column in indexed]
    suffix = f" and {len(named) - _MAX_COLUMNS} more" if len(named) > _MAX_COLUMNS else ""
    return ", ".join(named[:_MAX_COLUMNS]) + suffix or "none"


def _table(columns: "list[ColumnInfo]") -> list[str]:
    rows = [("column", "type", "values", "stored")]
    for column in columns:
        values = sum(count for kind, count in column.counts.items() if kind != "null")
        stored = natural_size(column.stored_bytes) if column.binary_values else ""
        rows.append((column.name, column.type, f"{values:,}" if column.counts else "", stored))
    widths = [max(len(row[position]) for row in rows) for position in range(4)]
    return [
        f"{name:{widths[0]}}  {kind:{widths[1]}}  {values:>{widths[2]}}  {stored:>{widths[3]}}".rstrip()
        for name, kind, values, stored in rows
    ]
