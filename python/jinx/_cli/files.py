"""`jinx mv`, `jinx cp` and `jinx rm`: datasets as a whole, their sidecars with them."""

import click

from jinx._cli.parameters import PATH, examples

_OVERWRITE = click.option("--overwrite", is_flag=True, help="Replace what has the new name.")


@click.command(epilog=examples("jinx mv old.jinx new.jinx", "jinx mv a.jinx b.jinx archive/"))
@click.argument("paths", nargs=-1, type=PATH, metavar="PATH... TO")
@_OVERWRITE
def mv(paths: tuple[str, ...], overwrite: bool) -> None:
    """Move or rename datasets: a .jinx file with its sidecar, or a directory of shards.

    TO is the new name, or a directory to move into. A sidecar that another file there also needs is kept.
    """
    from jinx._files.move import move

    for source, target in _pairs(paths, "mv"):
        move(source, target, overwrite=overwrite)


@click.command(epilog=examples("jinx cp train.jinx backup.jinx", "jinx cp shards /mnt/disk/"))
@click.argument("paths", nargs=-1, type=PATH, metavar="PATH... TO")
@_OVERWRITE
def cp(paths: tuple[str, ...], overwrite: bool) -> None:
    """Copy datasets: a .jinx file with its sidecar, or a directory of shards.

    TO is the new name, or a directory to copy into. The copy appears when it is complete.
    """
    from jinx._files.move import copy

    for source, target in _pairs(paths, "cp"):
        copy(source, target, overwrite=overwrite)


@click.command(epilog=examples("jinx rm old.jinx", "jinx rm shards/ other.jinx"))
@click.argument("paths", nargs=-1, required=True, type=PATH, metavar="PATH...")
def rm(paths: tuple[str, ...]) -> None:
    """Remove datasets: a .jinx file with its sidecar, or a directory that holds only shards.

    A sidecar that another file there also needs is kept.
    """
    from jinx._files.move import Parts, remove

    for parts in [Parts.of(path) for path in paths]:
        remove(parts.path)


def _pairs(paths: tuple[str, ...], command: str) -> list[tuple[str, str]]:
    import os

    from jinx._files.move import Parts

    if len(paths) < 2:  # noqa: PLR2004
        raise click.UsageError(f"where to? For instance: jinx {command} {paths[0] if paths else 'a.jinx'} b.jinx")
    *sources, to = paths
    for source in sources:
        Parts.of(source)
    inside = os.path.isdir(to) and not Parts.is_dataset(to)  # noqa: PTH112 - str in, str out
    if len(sources) > 1 and not inside:
        raise click.UsageError(f"{to}: to take several datasets this must be a directory that exists")
    return [(one, os.path.join(to, os.path.basename(one.rstrip("/"))) if inside else to) for one in sources]  # noqa: PTH118, PTH119
