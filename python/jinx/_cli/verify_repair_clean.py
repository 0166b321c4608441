"""`jinx verify`, `jinx repair` and `jinx clean`: find damage, save intact samples, remove leftover files."""

from typing import TYPE_CHECKING, Any

import click

from jinx._cli.parameters import PATH, examples, print_json

if TYPE_CHECKING:
    from jinx._results import Problem


@click.command(epilog=examples("jinx verify out.jinx", "jinx verify shards/ --json | jq length"))
@click.argument("paths", nargs=-1, required=True, type=PATH, metavar="PATH...")
@click.option("--max-value-bytes", metavar="SIZE", help="Accept values of up to this size.  [default: 2GiB]")
@click.option("--progress", type=click.Choice(["auto", "plain", "none"]), default="auto", help="How to show progress.")
@click.option("--json", "as_json", is_flag=True, help="The problems as JSON.")
def verify(paths: tuple[str, ...], max_value_bytes: str | None, progress: str, as_json: bool) -> int:
    """Read everything and compare it with its checksums; exit with 1 when something does not match.

    Other commands only compare what they read. For MDS, only this command compares all hashes in the index.
    """
    from jinx._cli.progress import ProgressBar
    from jinx._files.verify import verify as check
    from jinx._sizes import parse_size

    limit = None if max_value_bytes is None else parse_size(max_value_bytes)
    problems: list[Problem] = []
    with ProgressBar("files", "none" if as_json else progress) as bar:
        for number, path in enumerate(paths, start=1):

            def show(done: int, total: int, number: int = number) -> None:
                bar(number, done, total)

            file_problems = check(path, progress=show, max_value_bytes=limit)
            problems += file_problems
            if not as_json and not file_problems:
                click.echo(f"{path}: intact")
    if as_json:
        print_json([problem.to_dict() for problem in problems])
    for problem in () if as_json else problems:
        click.echo(_line(problem))
    return 1 if problems else 0


@click.command(epilog=examples("jinx repair broken.jinx --out whole.jinx", "jinx repair broken.jinx --dry-run"))
@click.argument("path", type=PATH)
@click.option("--out", type=PATH, help="Where the result goes.  [default: STEM.repaired.jinx next to PATH]")
@click.option("--dry-run", is_flag=True, help="Only say what would be kept and lost.")
@click.option("--json", "as_json", is_flag=True, help="The result as JSON.")
def repair(path: str, out: str | None, dry_run: bool, as_json: bool) -> None:
    """Save the intact samples of a file whose writer died, or that was damaged, and say what was lost.

    PATH itself is never changed.
    """
    from jinx._files.verify import repair as rebuild

    done = rebuild(path, out, dry_run=dry_run)
    if as_json:
        print_json(done.to_dict())
        return
    verb = "would be kept" if dry_run else "kept"
    unchecked = f" ({done.unchecked:,} of them could not be compared with a checksum)" if done.unchecked else ""
    click.echo(f"{done.out or path}: {done.kept:,} samples {verb}{unchecked}, {len(done.lost):,} lost")
    for loss in done.lost:
        click.echo(f"  lost: {_loss(loss)}")


@click.command(epilog=examples("jinx clean .", "jinx clean s3://bucket/shards --older-than 48"))
@click.argument("directory", type=PATH, default=".")
@click.option(
    "--older-than", type=float, default=24, metavar="HOURS", help="URLs: keep younger objects.", show_default=True
)
def clean(directory: str, older_than: float) -> None:
    """Remove leftover temporary files from DIRECTORY; files that a running process writes are kept.

    DIRECTORY may be a URL: then objects are removed that no dataset there needs, if they are old enough. Younger ones
    may belong to an upload under way, or have readers.
    """
    from jinx import _core
    from jinx._urls import is_readable

    if is_readable(directory):
        _clean_at_url(directory, older_than)
        return
    removed = _core.clean(directory)
    for path in removed:
        click.echo(f"removed {path}")
    if not removed:
        click.echo(f"{directory}: nothing to clean")


def _clean_at_url(url: str, hours: float) -> None:
    from jinx._files.at_urls import clean as clean_at_url

    found = clean_at_url(url, older_than=hours * 3600)
    for name in found.removed:
        click.echo(f"removed {name}")
    for name in found.kept:
        click.echo(f"kept {name}: nothing needs it, but it is younger than {hours:g} hours")
    if not found.removed and not found.kept:
        click.echo(f"{url}: nothing to clean")


def _loss(loss: dict[str, Any]) -> str:
    line: int | None = loss.get("line")
    # Lines are counted from 1 here, as editors and the other messages do.
    return f"line {line + 1}: {loss['reason']}" if line is not None else str(loss["reason"])


def _line(problem: "Problem") -> str:
    location = {"sample": problem.sample, "column": problem.column, "byte": problem.byte}
    places = [f"{name} {place}" for name, place in location.items() if place is not None]
    return f"{problem.file}: {', '.join(places)}{': ' if places else ''}{problem.what}"
