"""`jinx cache`: the copies of remote data on this machine."""

from pathlib import Path

import click

from jinx._cli.parameters import PATH, examples, print_json
from jinx._sizes import counted, natural_size

_DIRECTORY = click.option("--cache", "directory", type=PATH, help="Another directory than the usual one.")


@click.group(epilog=examples("jinx cache info", "jinx cache prefetch s3://bucket/train.jinx"))
def cache() -> None:
    """Show, fill or remove the copies of remote data on this machine.

    They are in the directory that JINX_CACHE names, or in ~/.cache/jinx.
    """


@cache.command(epilog=examples("jinx cache info", "jinx cache info --json | jq .bytes"))
@_DIRECTORY
@click.option("--json", "as_json", is_flag=True, help="Everything, as JSON.")
def info(directory: str | None, as_json: bool) -> None:
    """Show where the cache is, and how much it holds."""
    from jinx import _core

    place = _place(directory)
    objects, chunks, size, limit = _core.cache_contents(place) if place.exists() else (0, 0, 0, None)
    if as_json:
        print_json({"directory": str(place), "objects": objects, "chunks": chunks, "bytes": size, "limit": limit})
        return
    click.echo(f"directory  {place}")
    click.echo(f"holds      {natural_size(size)} of {counted(objects, 'file')}")
    if limit is not None:
        click.echo(f"limit      {natural_size(limit)}")


@cache.command(epilog=examples("jinx cache clear", "jinx cache clear --cache /nvme/cache"))
@_DIRECTORY
def clear(directory: str | None) -> None:
    """Remove everything that no process uses."""
    from jinx import _core

    place = _place(directory)
    freed = _core.cache_clear(place) if place.exists() else 0
    click.echo(f"{place}: {natural_size(freed)} removed")


@cache.command(epilog=examples("jinx cache prefetch s3://bucket/train.jinx", "jinx cache prefetch URL --cache /nvme"))
@click.argument("urls", nargs=-1, required=True, type=PATH, metavar="URL...")
@_DIRECTORY
def prefetch(urls: tuple[str, ...], directory: str | None) -> None:
    """Copy datasets into the cache, for instance before a training begins.

    What does not fit is left out.
    """
    import jinx

    place = _place(directory)
    for url in urls:
        read = jinx.open(url, cache=place).prefetch()
        click.echo(f"{url}: {natural_size(read)} read")


def _place(directory: str | None) -> Path:
    from jinx import _core

    place = _core.cache_directory(directory)
    if place is None:
        raise click.UsageError("the cache is turned off (JINX_CACHE=off); name a directory with --cache")
    return place
