"""`jinx convert`."""

import os
from pathlib import PurePath
from typing import Any

import click

from jinx.cli.options import PATH, examples, names, pairs, print_json
from jinx.formats.registry import NAMES


@click.command(
    epilog=examples(
        "jinx convert in.parquet out.jinx --sidecar",
        "jinx convert 'part-*.jsonl.gz' out.jinx --fields id,text --limit 1000",
    )
)
@click.argument("paths", nargs=-1, type=PATH, metavar="IN... OUT")
@click.option("--sidecar/--no-sidecar", default=True, help="Large binary values into a second file (the default).")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Only the first N samples.")
@click.option("--fields", multiple=True, metavar="A,B", help="Only these fields.")
@click.option("--rename", multiple=True, metavar="OLD=NEW", help="Rename a field.")
@click.option("--columns", multiple=True, metavar="A,B", help="More columns to sort and filter by.")
@click.option("--compression", type=click.Choice(["zstd", "gz", "snappy", "none"]), help="Instead of the usual one.")
@click.option("--level", type=click.IntRange(1, 22), help="The level of the compression.  [default: 3]")
@click.option("--shard-size", metavar="SIZE", help="Where a folder's shards end, e.g. 512MB.")
@click.option("--split", metavar="NAME", help="The split's name, kept with the data.")
@click.option("--overwrite", is_flag=True, help="Replace OUT if it exists.")
@click.option("--append", is_flag=True, help="Add shards to the folder OUT.")
@click.option("--mixed", type=click.Choice(["error", "json"]), default="error", help="Values without a common type.")
@click.option("--threads", type=click.IntRange(min=0), default=0, help="How many threads; 0: one per core.")
@click.option("--from", "from_", type=click.Choice(NAMES), help="The input's format, if the suffix does not say.")
@click.option("--to", type=click.Choice(NAMES), help="The output's format, likewise.")
@click.option("--progress", type=click.Choice(["auto", "plain", "none"]), default="auto", help="How to show progress.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def convert(paths: tuple[str, ...], **options: Any) -> None:
    """Convert between Parquet, JSON lines, MessagePack and JINX, any to any.

    IN is a file, a folder, a quoted pattern, or - for standard input. The suffixes name the formats. OUT appears when
    everything is written, and not before.
    """
    inputs, out = _split_paths(paths)
    if os.path.lexists(out) and not (options["overwrite"] or options["append"]):
        raise click.UsageError(f"{out} exists; to replace it: {_command(inputs, out)} --overwrite")
    from jinx.cli.progress import ProgressBar
    from jinx.converting import convert as run

    with ProgressBar("samples", "none" if options["as_json"] else options["progress"]) as bar:
        done = run(
            inputs,
            out,
            sidecar=options["sidecar"],
            compression=_compression(options["compression"], options["level"]),
            limit=options["limit"],
            fields=names(options["fields"]),
            rename=pairs(options["rename"]),
            columns=names(options["columns"]),
            shard_size=options["shard_size"],
            overwrite=options["overwrite"],
            append=options["append"],
            split=options["split"],
            mixed=options["mixed"],
            threads=options["threads"],
            from_=options["from_"],
            to=options["to"],
            progress=bar,
        )
    if options["as_json"]:
        print_json({**done, "seconds": round(bar.seconds, 3), "out": out})
    else:
        click.echo(_report(done, out, bar.seconds), err=True)


def _compression(codec: str | None, level: int | None) -> str:
    if level is None:
        return codec or "auto"
    return f"{codec or 'zstd'}:{level}"


def _split_paths(paths: tuple[str, ...]) -> tuple[list[str], str]:
    if not paths:
        raise click.UsageError("nothing to convert: jinx convert IN OUT.jinx")
    if len(paths) == 1:
        raise click.UsageError(f"where to? For instance: {_command(list(paths), _proposal(paths[0]))}")
    return list(paths[:-1]), paths[-1]


def _proposal(path: str) -> str:
    """An output for an input that was given alone."""
    from jinx.formats.registry import format_of

    name = PurePath(path).name
    stem = name.split(".")[0].rstrip("*?-_") or "out"
    return f"{stem}{'.parquet' if format_of(path) == 'jinx' else '.jinx'}"


def _command(inputs: list[str], out: str) -> str:
    import shlex

    return shlex.join(["jinx", "convert", *inputs, out])


def _report(done: dict[str, int], out: str, seconds: float) -> str:
    from jinx.cli.progress import natural_seconds
    from jinx.sizes import natural_size

    rows, size, sidecar = done.get("rows", 0), done.get("bytes", 0), done.get("sidecar_bytes", 0)
    parts = [f"{rows:,} {'sample' if rows == 1 else 'samples'}", natural_size(size)]
    if sidecar:
        parts[1] += f" ({natural_size(sidecar)} of it in the sidecar)"
    if done.get("shards", 1) > 1:
        parts.append(f"{done['shards']} shards")
    parts.append(f"in {natural_seconds(seconds)}")
    if seconds > 0:
        parts.append(f"{natural_size(size / seconds)}/s")
    return f"{out}: {', '.join(parts)}"
