"""`jinx split`, `concat`, `select`, `dedup` and `compact`: write datasets again, or save views of them."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from jinx._cli.options_from_keywords import keyword_options
from jinx._cli.parameters import AT_LEAST_ONE, PATH, examples, names, pairs, print_json
from jinx._rewrite.options import RewriteOptions
from jinx._sizes import counted

_shared = keyword_options(RewriteOptions)
_INPUTS = click.argument("paths", nargs=-1, type=PATH, metavar="IN... OUT")
_MISSING = click.option(
    "--missing",
    type=click.Choice(["keep", "drop", "fail"]),
    default="keep",
    show_default=True,
    help="What to do with samples that have no value there: keep them, leave them out, or fail.",
)


@contextmanager
def _progress(mode: str, *, as_json: bool) -> Generator[Any]:
    from jinx._cli.progress import ProgressBar

    with ProgressBar("samples", "none" if as_json else mode) as bar:
        yield bar


def _ends(paths: Sequence[str], command: str) -> tuple[list[str], str]:
    """Divide the paths on the command line into inputs and output."""
    if len(paths) < 2:  # noqa: PLR2004
        example = paths[0] if paths else "in.jinx"
        raise click.UsageError(f"where to? For instance: jinx {command} {example} out.jinx")
    return list(paths[:-1]), paths[-1]


def _say(done: Any, bar: Any, *, as_json: bool, extra: Sequence[str] = ()) -> None:
    """Print the result: as JSON to standard output, or in words to standard error."""
    if as_json:
        print_json({**done.to_dict(), "seconds": round(bar.seconds, 3)})
        return
    from jinx._cli.progress import natural_seconds
    from jinx._sizes import natural_size

    size = sum(part.bytes for part in done.parts) if hasattr(done, "parts") else done.bytes
    facts = [counted(done.samples, "sample"), natural_size(size), *extra, f"in {natural_seconds(bar.seconds)}"]
    click.echo(f"{done.path}: {', '.join(facts)}", err=True)


@click.command(epilog=examples("jinx concat a.jinx b.parquet all.jinx", "jinx concat 'part-*.jinx' all.jinx --view"))
@_INPUTS
@_shared
def concat(paths: tuple[str, ...], progress: str, as_json: bool, **options: Any) -> None:
    """Join datasets of any formats, in order, as one.

    OUT appears when it is complete. A name that ends in .jinx is one file; a name without a suffix is a directory of
    shards.
    """
    from jinx._rewrite.concat import concat as run

    inputs, out = _ends(paths, "concat")
    with _progress(progress, as_json=as_json) as bar:
        done = run(inputs, out, progress=bar, **options)
    _say(done, bar, as_json=as_json)


@click.command(
    epilog=examples(
        "jinx select all.jinx best.jinx --positions best.npy",
        "jinx select all.jinx good.jinx --where 'score > 0.5' --view",
    )
)
@_INPUTS
@click.option(
    "--positions", type=PATH, metavar="FILE", help="The positions of the samples: .npy, .json, or one in each line."
)
@click.option("--split", metavar="NAME", help="Only this split of the inputs; positions count within it.")
@_shared
def select(paths: tuple[str, ...], positions: str | None, progress: str, as_json: bool, **options: Any) -> None:
    """Write the samples at the positions in a file, in that order.

    A file from `jinx index` or `jinx dedup --removed` names its dataset; any other dataset is refused.
    """
    from jinx._rewrite.select import select as run

    inputs, out = _ends(paths, "select")
    with _progress(progress, as_json=as_json) as bar:
        done = run(inputs, out, positions, progress=bar, **options)
    _say(done, bar, as_json=as_json)


@click.command(
    epilog=examples(
        "jinx split all.jinx parts --fractions train=0.9,test=0.1 --group document --seed 1",
        "jinx split all.jinx parts --size 1GB",
    )
)
@_INPUTS
@click.option("--fractions", multiple=True, metavar="NAME=SHARE", help="The shares of the parts: train=0.9,test=0.1.")
@click.option("--count", type=AT_LEAST_ONE, metavar="N", help="The number of parts.")
@click.option("--samples", type=AT_LEAST_ONE, metavar="N", help="Samples in each part.")
@click.option("--size", metavar="SIZE", help="About the size of each part, such as 1GB.")
@click.option("--by", metavar="PATH", help="A part for each value of this column or path.")
@click.option("--stratify", metavar="PATH", help="The same shares of the values of this column or path in every part.")
@click.option("--group", metavar="PATH", help="Samples with the same value here go to the same part.")
@click.option("--seed", type=int, metavar="N", help="Choose the samples of each part at random.")
@_MISSING
@click.option("--prefix", default="part-", show_default=True, help="What the names of numbered parts begin with.")
@_shared
def split(paths: tuple[str, ...], fractions: tuple[str, ...], progress: str, as_json: bool, **options: Any) -> None:
    """Divide a dataset into parts, files in the directory OUT.

    OUT appears when all parts are complete. Every sample goes to exactly one part, and samples keep their order within
    a part.
    """
    from jinx._rewrite.split import split as run

    inputs, out = _ends(paths, "split")
    with _progress(progress, as_json=as_json) as bar:
        done = run(inputs, out, fractions=_shares(fractions), progress=bar, **options)
    _say(done, bar, as_json=as_json, extra=[counted(len(done.parts), "part")])
    if not as_json:
        for part in done.parts[:_MAX_PARTS]:
            click.echo(f"  {part.path}: {counted(part.samples, 'sample')}", err=True)
        if len(done.parts) > _MAX_PARTS:
            click.echo(f"  and {len(done.parts) - _MAX_PARTS:,} more", err=True)
        _say_missing(done.missing, options["missing"])


_MAX_PARTS = 12


def _shares(given: Sequence[str]) -> dict[str, float] | list[float] | None:
    """The shares in `--fractions train=0.9,test=0.1` or `--fractions 0.9,0.1`."""
    words = names(given)
    if words is None:
        return None
    try:
        if all("=" in word for word in words):
            return {name: float(share) for name, share in (pairs(given, "--fractions") or {}).items()}
        return [float(word) for word in words]
    except ValueError:
        raise click.UsageError(f"--fractions {','.join(given)!r}: write train=0.9,test=0.1, or 0.9,0.1") from None


def _say_missing(count: int, missing: str) -> None:
    if count:
        outcome = "was left out" if missing == "drop" else "was kept"
        outcome = outcome if count == 1 else outcome.replace("was", "were")
        click.echo(f"{counted(count, 'sample')} without a key {outcome} (--missing)", err=True)


@click.command(
    epilog=examples("jinx dedup all.jinx unique.jinx", "jinx dedup all.jinx unique.jinx --by url --removed twice.npy")
)
@_INPUTS
@click.option(
    "--by", multiple=True, metavar="A,B", help="Compare these columns or paths; the whole sample if not given."
)
@_MISSING
@click.option("--removed", type=PATH, metavar="FILE", help="List the positions of the samples that are left out.")
@_shared
def dedup(paths: tuple[str, ...], by: tuple[str, ...], progress: str, as_json: bool, **options: Any) -> None:
    """Leave out samples that are the same as an earlier one.

    The first of equal samples stays, and the order does not change. Whole samples are compared by the checksums of
    their media.
    """
    from jinx._rewrite.dedup import dedup as run

    inputs, out = _ends(paths, "dedup")
    with _progress(progress, as_json=as_json) as bar:
        done = run(inputs, out, by=names(by), progress=bar, **options)
    _say(done, bar, as_json=as_json, extra=[f"{counted(done.duplicates, 'duplicate')} left out"])
    if not as_json:
        _say_missing(done.missing, options["missing"])


@click.command(
    epilog=examples("jinx compact shards compacted --shard-size 4GB", "jinx compact 'part-*.jinx' whole.jinx")
)
@_INPUTS
@_shared
def compact(paths: tuple[str, ...], progress: str, as_json: bool, **options: Any) -> None:
    """Write the samples of many small files to few large ones.

    Values are copied as they are stored.
    """
    from jinx._rewrite.compact import compact as run

    inputs, out = _ends(paths, "compact")
    with _progress(progress, as_json=as_json) as bar:
        done = run(inputs, out, progress=bar, **options)
    _say(done, bar, as_json=as_json, extra=[f"{counted(done.shards_before, 'file')} before, {done.shards:,} now"])
