"""`jinx convert`."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

import click

from jinx.cli.options import COUNT, PATH, examples, names, pairs, print_json
from jinx.formats.registry import NAMES

BIG_PAIR_BYTES = 20_000_000_000


@click.command(
    epilog=examples(
        "jinx convert in.parquet out.jinx --sidecar",
        "jinx convert 'part-*.jsonl.gz' out.jinx --fields id,text --limit 1000",
    )
)
@click.argument("paths", nargs=-1, type=PATH, metavar="IN... OUT")
@click.option("--sidecar/--no-sidecar", default=True, help="Large binary values into a second file (the default).")
@click.option("--limit", type=COUNT, metavar="N", help="Only the first N samples.")
@click.option("--fields", multiple=True, metavar="A,B", help="Only these fields.")
@click.option("--drop", multiple=True, metavar="A,B", help="All fields but these.")
@click.option("--rename", multiple=True, metavar="OLD=NEW", help="Rename a field.")
@click.option("--embed", multiple=True, metavar="A,B", help="Read in the files whose paths these fields hold.")
@click.option("--root", type=PATH, metavar="DIR", help="Where the paths count from.  [default: the input's folder]")
@click.option(
    "--missing", type=click.Choice(["fail", "skip", "null"]), default="fail", help="Files that are not there."
)
@click.option("--media-dir", type=PATH, metavar="DIR", help="Binary values into files, their paths into the rows.")
@click.option("--drop-nulls", is_flag=True, help="Leave out null members of nested dicts.")
@click.option("--columns", multiple=True, metavar="A,B", help="More columns to sort and filter by.")
@click.option("--compression", metavar="CODEC", help="zstd, gz, snappy, none, ...  [default: what suits the output]")
@click.option("--level", type=click.IntRange(1, 22), help="The level of the compression.  [default: 3]")
@click.option("--shard-size", metavar="SIZE", help="Where a folder's shards end.  [default: 1GB]")
@click.option("--split", metavar="NAME", help="The split's name; of several, the one to convert.")
@click.option("--overwrite", is_flag=True, help="Replace OUT if it exists.")
@click.option("--append", is_flag=True, help="Add shards to the folder OUT.")
@click.option("--on-error", type=click.Choice(["fail", "skip"]), default="fail", help="Rows that cannot be read.")
@click.option("--rejects", type=PATH, metavar="FILE", help="Where skipped rows go.  [default: OUT.rejected.jsonl]")
@click.option("--resume", is_flag=True, help="Go on where the same command was interrupted (folders).")
@click.option("--part", metavar="I/N", help="Write one of N parts of the folder OUT; see jinx merge.")
@click.option("--mixed", type=click.Choice(["error", "json"]), default="error", help="Values without a common type.")
@click.option("--markers", is_flag=True, help='Read {"$bytes": ...} and the like in rows without "$jinx": 1, too.')
@click.option("--threads", type=COUNT, default=0, help="How many threads; 0: one per core.")
@click.option("--from", "from_", type=click.Choice(NAMES), help="The input's format, if the suffix does not say.")
@click.option("--to", type=click.Choice(NAMES), help="The output's format, likewise.")
@click.option("--progress", type=click.Choice(["auto", "plain", "none"]), default="auto", help="How to show progress.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def convert(paths: tuple[str, ...], **options: Any) -> None:
    """Convert Parquet, Arrow, JSON lines or arrays, MessagePack, WebDataset tars, MDS and JINX.

    IN is a file, a folder, a quoted pattern, an address such as s3://, or - for standard input. The suffixes name the
    formats; OUT without one is a folder of JINX shards, or with --to parquet of Parquet files. OUT appears when
    everything is written, and not before.
    """
    inputs, out = _split_paths(paths)
    if os.path.lexists(out) and out != "-" and not (options["overwrite"] or options["append"] or options["part"]):
        raise click.UsageError(f"{out} exists; to replace it: {_command(inputs, out)} --overwrite")
    from jinx.cli.progress import ProgressBar
    from jinx.converting import convert as run

    mode = "none" if options["as_json"] else options["progress"]
    with _interruption_explained(inputs, out), ProgressBar("samples", mode) as bar:
        done = run(
            inputs,
            out,
            sidecar=options["sidecar"],
            compression=_compression(options["compression"], options["level"]),
            limit=options["limit"],
            fields=names(options["fields"]),
            drop=names(options["drop"]),
            embed=names(options["embed"]),
            root=options["root"],
            missing=options["missing"],
            media_dir=options["media_dir"],
            drop_nulls=options["drop_nulls"],
            on_error=options["on_error"],
            rejects=options["rejects"],
            resume=options["resume"],
            part=options["part"],
            rename=pairs(options["rename"]),
            columns=names(options["columns"]),
            shard_size=options["shard_size"],
            overwrite=options["overwrite"],
            append=options["append"],
            split=options["split"],
            mixed=options["mixed"],
            markers=options["markers"],
            threads=options["threads"],
            from_=options["from_"],
            to=options["to"],
            progress=bar,
        )
    if options["as_json"]:
        print_json({**done, "seconds": round(bar.seconds, 3), "out": out})
    else:
        click.echo(_report(done, out, bar.seconds), err=True)
        for line in [*_remarks(done, out, options["rejects"]), *_missing_columns(out, names(options["columns"]))]:
            click.echo(line, err=True)


@contextmanager
def _interruption_explained(inputs: list[str], out: str) -> Generator[None]:
    """After a failure, say when finished shards were kept."""
    try:
        yield
    except BaseException:
        folder, name = os.path.split(os.path.abspath(out))  # noqa: PTH100
        notes = os.path.join(folder, f".{name}.tmp", ".progress.json.tmp")  # noqa: PTH118
        if os.path.exists(notes):  # noqa: PTH110
            again = _command(inputs, out)
            click.echo(f"finished shards are kept; go on with: {again} --resume (and the other options)", err=True)
        raise


def _remarks(done: dict[str, int], out: str, rejects: str | None) -> list[str]:
    from jinx.sizes import natural_size

    found: list[str] = []
    if done.get("skipped"):
        rows = "row was" if done["skipped"] == 1 else "rows were"
        found.append(f"{done['skipped']:,} {rows} skipped; see {rejects or out.rstrip('/') + '.rejected.jsonl'}")
    if done.get("bytes", 0) > BIG_PAIR_BYTES and out.endswith(".jinx"):
        size = natural_size(done["bytes"])
        found.append(
            f"{size} in one pair: a folder (a name without .jinx) can be resumed, appended to and copied in parts"
        )
    return found


def _missing_columns(out: str, asked: list[str] | None) -> list[str]:
    """Columns that were asked for and that no row gave a value for, or only values that make no column."""
    is_dataset = out.endswith(".jinx") or os.path.exists(os.path.join(out, "jinx.json"))  # noqa: PTH110, PTH118
    if not asked or not is_dataset:
        return []
    from jinx._core import parse_path
    from jinx.nearest import hint, path_text
    from jinx.opening import open

    dataset = open(out)
    made = {column["path"] for column in dataset.info()["columns"]}
    lacking = [name for name in asked if name not in made and path_text(parse_path(name)) not in made]
    return [f"no column was made for {name!r}{hint(name, dataset.column_names)}" for name in lacking]


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
