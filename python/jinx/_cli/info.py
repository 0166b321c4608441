"""`jinx info`: what a person wants to know about a file."""

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
    """Say what is in PATH: samples, sizes, columns with types, compression, index, checksums.

    Of a saved view also the datasets that it shows, and which columns are its own.
    """
    from jinx._open import open

    found = open(path).info()
    if as_json:
        print_json(found.to_dict())
        return
    for line in text(found):
        click.echo(line)


def text(found: "DatasetInfo") -> list[str]:
    """The lines `jinx info` prints."""
    version = f"{_FORMATS[found.format]}{' ' if found.version else ''}{found.version or ''}"
    if found.bases:
        version += ", a saved view"
    facts = [
        ("file", found.path),
        ("format", f"{version}, by {found.writer}" if found.writer else version),
        ("samples", f"{found.samples:,}" + (f" in {found.shards} shards" if found.shards > 1 else "")),
        ("size", _size(found)),
        *(("shows", line) for line in _bases(found)),
    ]
    if found.bases:
        facts.append(("order", "its own" if found.has_positions else "that of what it shows"))
        facts.append(("own columns", ", ".join(found.own_columns) or "none"))
    if found.split:
        facts.append(("split", found.split))
    if found.format == "mds":
        facts.append(("compression", ", ".join(found.compression) or "none"))
    gained = _gained(found.columns)
    if gained:
        facts.append(("compression", gained))
    facts.append(("checksums", ", ".join(found.checksums) or "none"))
    facts.append(("indexed", _indexed(found.indexed)))
    if found.needs_1_1:
        facts.append(("not for 1.0", "; ".join(found.needs_1_1)))
    if found.meta:
        facts.append(("meta", ", ".join(found.meta)))
    width = max(len(name) for name, _ in facts) + 2
    lines = [f"{name:{width}}{value}" for name, value in facts]
    return [*lines, "", *_table(found.columns)]


def _size(found: "DatasetInfo") -> str:
    if not found.sidecar_bytes:
        return natural_size(found.bytes)
    both = natural_size(found.bytes + found.sidecar_bytes)
    return f"{both} ({natural_size(found.bytes)} rows and index, {natural_size(found.sidecar_bytes)} sidecar)"


def _bases(found: "DatasetInfo") -> list[str]:
    lines = [
        f"{base.selected:,} of {base.samples:,} samples of {base.path} "
        f"({base.kind}, {natural_size(base.bytes)}, id {base.id})"
        for base in found.bases[:_MAX_BASES]
    ]
    return [*lines, *([f"and {len(found.bases) - _MAX_BASES} more"] if len(found.bases) > _MAX_BASES else [])]


def _gained(columns: "list[ColumnInfo]") -> str:
    stored = sum(column.stored_bytes for column in columns)
    decoded = sum(column.decoded_bytes for column in columns)
    if not stored or not decoded:
        return ""
    if stored >= decoded:
        return f"{natural_size(decoded)} of binary values, which do not shrink and are stored as they are"
    return f"{natural_size(decoded)} of binary values in {natural_size(stored)} ({decoded / stored:.2f} times smaller)"


def _indexed(indexed: "list[IndexedInfo]") -> str:
    named = [f"len({one.path})" if one.kind == "length" else one.path for one in indexed]
    more = f" and {len(named) - _MAX_COLUMNS} more" if len(named) > _MAX_COLUMNS else ""
    return ", ".join(named[:_MAX_COLUMNS]) + more or "none"


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
