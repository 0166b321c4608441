"""`jinx convert`; its options are those of `jinx.convert`."""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import PurePath
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

import click

from jinx._cli.parameters import COUNT, PATH, examples, names, pairs, print_json
from jinx._convert.options import Names, Option, types_and_options

if TYPE_CHECKING:
    from jinx._results import WriteResult

BIG_PAIR_BYTES = 20_000_000_000


def click_option(name: str, kind: Any, option: Option) -> click.Option:
    """The command-line option for a keyword."""
    flag = f"--{name.replace('_', '-')}"
    is_union = get_origin(kind) in {Union, UnionType}
    kinds = [member for member in get_args(kind) if member is not type(None)] if is_union else [kind]
    if kinds == [bool]:
        declared = f"{flag}/--no-{name}" if option.default else flag
        help_text = f"{option.help}  [default]" if option.default else option.help
        return click.Option([declared], is_flag=True, default=option.default, help=help_text)
    shown = None if option.default in {None, 0} else True
    if get_origin(kinds[0]) is Literal:
        choice = click.Choice(get_args(kinds[0]))
        return click.Option([flag], type=choice, default=option.default, help=option.help, show_default=shown)
    is_list = kinds == list(get_args(Names)) or get_origin(kinds[0]) is Mapping
    value = COUNT if kinds == [int] else PATH if os.PathLike[str] in kinds else click.STRING
    return click.Option(
        [flag],
        type=value,
        multiple=is_list,
        default=None if is_list else option.default,
        metavar=option.metavar,
        help=option.help,
        show_default=shown,
    )


_OPTIONS = {name: entry for name, entry in types_and_options().items() if entry[1].in_shell}


def _keywords(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options on the command line as keywords of `jinx.convert`."""
    keywords = {name: given[name] for name in _OPTIONS}
    for name, value in keywords.items():
        if name == "rename":
            keywords[name] = pairs(value, "--rename")
        elif isinstance(value, tuple):
            keywords[name] = names(value)  # pyright: ignore[reportUnknownArgumentType]
    return keywords


@click.command(
    epilog=examples(
        "jinx convert in.parquet out.jinx",
        "jinx convert 'part-*.jsonl.gz' out.jinx --columns id,text --limit 1000",
    )
)
@click.argument("paths", nargs=-1, type=PATH, metavar="IN... OUT")
@click.option("--progress", type=click.Choice(["auto", "plain", "none"]), default="auto", help="How to show progress.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def convert(paths: tuple[str, ...], progress: str, as_json: bool, **options: Any) -> None:
    """Convert Parquet, Arrow, JSON lines or arrays, MessagePack, WebDataset tars, MDS and JINX.

    IN is a file, a directory, a quoted pattern, a URL such as s3://bucket/*.parquet, or - for standard input. The
    suffixes name the formats; OUT without a suffix is a directory of JINX shards, or of Parquet files with
    --output-format parquet. OUT only appears when everything is written.
    """
    inputs, out = _split_paths(paths)
    if os.path.lexists(out) and out != "-" and not (options["overwrite"] or options["append"] or options["part"]):
        raise click.UsageError(f"{out} exists; to replace it: {_command(inputs, out)} --overwrite")
    from jinx._cli.progress import ProgressBar
    from jinx._convert.convert import convert as run

    keywords = _keywords(options)
    with _interruption_explained(inputs, out), ProgressBar("samples", "none" if as_json else progress) as bar:
        done = run(inputs, out, progress=bar, **keywords)
    if as_json:
        print_json({**done.to_dict(), "seconds": round(bar.seconds, 3)})
        return
    click.echo(_report(done, out, bar.seconds), err=True)
    for line in [*_remarks(done, out, options["rejects"]), *_not_indexed(out, keywords["indexed"])]:
        click.echo(line, err=True)


convert.params[1:1] = [click_option(name, kind, option) for name, (kind, option) in _OPTIONS.items()]


@contextmanager
def _interruption_explained(inputs: list[str], out: str) -> Generator[None]:
    """After a failure, add to the message whether finished shards were kept."""
    try:
        yield
    except BaseException:
        directory, name = os.path.split(os.path.abspath(out))  # noqa: PTH100
        notes = os.path.join(directory, f".{name}.tmp", ".progress.json.tmp")  # noqa: PTH118
        if os.path.exists(notes):  # noqa: PTH110
            again = _command(inputs, out)
            click.echo(f"finished shards are kept; resume with: {again} --resume (and the other options)", err=True)
        raise


def _remarks(done: "WriteResult", out: str, rejects: str | None) -> list[str]:
    from jinx._sizes import natural_size

    remarks: list[str] = []
    if done.skipped:
        samples = "sample was" if done.skipped == 1 else "samples were"
        remarks.append(f"{done.skipped:,} {samples} skipped; see {rejects or out.rstrip('/') + '.rejected.jsonl'}")
    if done.bytes > BIG_PAIR_BYTES and out.endswith(".jinx"):
        size = natural_size(done.bytes)
        remarks.append(
            f"{size} in one pair: a directory (a name without .jinx) can be resumed, appended to and copied in parts"
        )
    return remarks


def _not_indexed(out: str, asked: list[str] | None) -> list[str]:
    """A line for each requested column that has no values which an index can store."""
    is_dataset = out.endswith(".jinx") or os.path.exists(os.path.join(out, "jinx.json"))  # noqa: PTH110, PTH118
    if not asked or not is_dataset:
        return []
    from jinx._core import parse_path
    from jinx._open import open
    from jinx._suggest import hint, path_text

    dataset = open(out)
    indexed = {column.path for column in dataset.info().indexed}
    lacking = [name for name in asked if name not in indexed and path_text(parse_path(name)) not in indexed]
    return [f"{name!r} was not indexed{hint(name, dataset.column_names)}" for name in lacking]


def _split_paths(paths: tuple[str, ...]) -> tuple[list[str], str]:
    if not paths:
        raise click.UsageError("nothing to convert: jinx convert IN OUT.jinx")
    if len(paths) == 1:
        raise click.UsageError(f"where to? For instance: {_command(list(paths), _proposal(paths[0]))}")
    return list(paths[:-1]), paths[-1]


def _proposal(path: str) -> str:
    """The output to suggest if only the input was given."""
    from jinx._convert.formats import format_of

    name = PurePath(path).name
    stem = name.split(".")[0].rstrip("*?-_") or "out"
    return f"{stem}{'.parquet' if format_of(path) == 'jinx' else '.jinx'}"


def _command(inputs: list[str], out: str) -> str:
    import shlex

    return shlex.join(["jinx", "convert", *inputs, out])


def _report(done: "WriteResult", out: str, seconds: float) -> str:
    from jinx._cli.progress import natural_seconds
    from jinx._sizes import natural_size

    parts = [f"{done.samples:,} {'sample' if done.samples == 1 else 'samples'}", natural_size(done.bytes)]
    if done.sidecar_bytes:
        parts[1] += f" ({natural_size(done.sidecar_bytes)} of it in the sidecar)"
    if done.shards > 1:
        parts.append(f"{done.shards} shards")
    parts.append(f"in {natural_seconds(seconds)}")
    if seconds > 0:
        parts.append(f"{natural_size(done.bytes / seconds)}/s")
    return f"{out}: {', '.join(parts)}"
