"""`jinx mv`, `cp` and `rm` for datasets with their sidecars, and `jinx rebase` for saved views of moved datasets."""

import click

from jinx._cli.parameters import PATH, examples

_OVERWRITE = click.option("--overwrite", is_flag=True, help="Replace what has the new name.")


@click.command(epilog=examples("jinx mv old.jinx new.jinx", "jinx mv a.jinx b.jinx archive/"))
@click.argument("paths", nargs=-1, type=PATH, metavar="PATH... TO")
@_OVERWRITE
def mv(paths: tuple[str, ...], overwrite: bool) -> None:
    """Move or rename datasets: a .jinx file with its sidecar, or a directory of shards.

    TO is the new name, or a directory to move into. Both may be URLs, such as s3://bucket/train.jinx: then the dataset
    is copied and removed. A sidecar is kept if another file next to it also needs it. A moved view still finds its
    datasets. When you move a dataset that views show, move the views with it, or run `jinx rebase`.
    """
    from jinx._files.move import move

    moved: dict[str, str] = {}
    for source, target in _pairs(paths, "mv"):
        move(source, target, overwrite=overwrite, moved=moved)
        moved |= _absolute(source, target)


@click.command(epilog=examples("jinx cp train.jinx backup.jinx", "jinx cp -r shards s3://bucket/"))
@click.argument("paths", nargs=-1, type=PATH, metavar="PATH... TO")
@_OVERWRITE
@click.option("-r", "--recursive", is_flag=True, expose_value=False, help="Accepted, as by cp: directories are copied.")
def cp(paths: tuple[str, ...], overwrite: bool) -> None:
    """Copy datasets: a .jinx file with its sidecar, or a directory of shards.

    TO is the new name, or a directory to copy into. Both may be URLs, such as s3://bucket/train.jinx. The copy appears
    when it is complete. An interrupted copy of a directory to a URL goes on with the shards that have not arrived.

    The copy of a saved view shows the same datasets, or their copies if they are copied with it; `jinx convert` turns
    it into a separate dataset.
    """
    from jinx._files.move import copy

    copied: dict[str, str] = {}
    for source, target in _pairs(paths, "cp"):
        copy(source, target, overwrite=overwrite, copied=copied)
        copied |= _absolute(source, target)


@click.command(epilog=examples("jinx rm old.jinx", "jinx rm shards/ s3://bucket/other.jinx"))
@click.argument("paths", nargs=-1, required=True, type=PATH, metavar="PATH...")
def rm(paths: tuple[str, ...]) -> None:
    """Remove datasets, also at URLs: a .jinx file with its sidecar, or a directory that holds only shards.

    A sidecar is kept if another file next to it also needs it. Saved views of the dataset are not looked for; they can
    no longer be opened.
    """
    from jinx._files.move import Parts, remove
    from jinx._urls import is_readable

    for path in [path if is_readable(path) else Parts.of(path).path for path in paths]:
        remove(path)


def _pairs(paths: tuple[str, ...], command: str) -> list[tuple[str, str]]:
    import os

    from jinx._files.move import Parts
    from jinx._urls import is_readable

    if len(paths) < 2:  # noqa: PLR2004
        raise click.UsageError(f"where to? For instance: jinx {command} {paths[0] if paths else 'a.jinx'} b.jinx")
    *sources, to = paths
    views = {source: not is_readable(source) and Parts.of(source).is_view for source in sources}
    inside = to.endswith("/") if is_readable(to) else _takes(to, sources)
    if len(sources) > 1 and not inside:
        raise click.UsageError(f"{to}: to take several datasets this must be a directory that exists")
    # Views come last, so that they follow datasets that were moved with them.
    sources.sort(key=views.__getitem__)
    pairs = [(path, os.path.join(to, os.path.basename(path.rstrip("/"))) if inside else to) for path in sources]  # noqa: PTH118, PTH119
    by_target: dict[str, str] = {}
    for path, target in pairs:
        if by_target.setdefault(target, path) != path:
            raise click.UsageError(f"{target}: this would be the new name of {by_target[target]} and of {path}")
    return pairs


def _takes(directory: str, sources: list[str]) -> bool:
    """Whether the datasets are moved into a directory; otherwise, its path is the new name of the only one.

    A directory that holds only datasets looks like one dataset of shards. It is taken for one if it has a manifest, or
    if a directory of shards gets its name.
    """
    import os

    from jinx._files.move import Parts

    if not os.path.isdir(directory):  # noqa: PTH112 - str in, str out
        return False
    if not Parts.is_dataset(directory):
        return True
    is_listed = os.path.exists(os.path.join(directory, "jinx.json"))  # noqa: PTH110, PTH118
    return not is_listed and (len(sources) > 1 or os.path.isfile(sources[0]) or directory.endswith("/"))  # noqa: PTH113


def _absolute(source: str, target: str) -> dict[str, str]:
    import os

    from jinx._urls import is_url

    old, new = (path.rstrip("/") if is_url(path) else os.path.abspath(path) for path in (source, target))  # noqa: PTH100 - str in, str out
    return {old: new}


@click.command(
    epilog=examples("jinx rebase good.jinx /data/laion.jinx", "jinx rebase both.jinx new/a.jinx s3://bucket/b.jinx")
)
@click.argument("view", type=PATH)
@click.argument("new", nargs=-1, required=True, type=PATH, metavar="NEW...")
def rebase(view: str, new: tuple[str, ...]) -> None:
    """Tell the saved view VIEW the new places of its datasets, after they moved.

    NEW is a path or URL for each dataset, in the order of `jinx info VIEW`. Each path must hold the dataset that the
    view was saved over; otherwise nothing changes. A URL such as s3://bucket/laion.jinx is kept next to the paths, but
    not opened.
    """
    from jinx._saved_views.rebase import rebase as write_places

    write_places(view, new)
