"""`jinx view`: look at datasets in the browser."""

import re
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from jinx._cli.parameters import PATH, WHERE, examples, names

if TYPE_CHECKING:
    from jinx._dataset.dataset import Dataset
    from jinx._notes.journal import Journal

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LARGEST_PORT = 65535
_TAG_KEYS = 9


class Duration(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] - generic in the newest click only
    """A duration such as `30m` or `8h`."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The duration in seconds."""
        found = re.fullmatch(r"(\d{1,9})([smhd])", str(value))
        if found is None or int(found[1]) == 0:
            self.fail(f"{value!r} is not a time; write 30m or 8h", param, ctx)
        return float(int(found[1]) * _UNITS[found[2]])


@click.command(
    epilog=examples(
        "jinx view train.jinx",
        "jinx view train.jinx --where 'score > 0.5' --sort=-score",
    )
)
@click.argument("paths", metavar="PATH...", type=PATH, nargs=-1, required=True)
@WHERE
@click.option("--find", metavar="WORD", help="Only the samples that have this word in a string.")
@click.option("--sort", metavar="KEY", help="Order the samples by a column: score, -score or len(text).")
@click.option("--columns", multiple=True, metavar="A,B", help="Show these columns first.")
@click.option("--notes", metavar="FILE", type=PATH, help="Keep tags and notes about samples in this file.")
@click.option(
    "--tags", default="good,bad,unsure", show_default=True, metavar="A,B", help="The tags of the keys 1 to 9."
)
@click.option(
    "--pack", "plan", metavar="PLAN", type=PATH, help="Show the packs of a plan, which jinx pack --save wrote."
)
@click.option("--tokenizer", type=PATH, help="Show the tokens of samples: a tokenizer.json, or its directory.")
@click.option(
    "--port", type=click.IntRange(0, _LARGEST_PORT), default=0, help="The port; a free one if it is not given."
)
@click.option("--open/--no-open", "opens", default=None, help="Open the browser; by default where there is a display.")
@click.option("--idle", type=Duration(), default="8h", show_default=True, help="End after so long without a request.")
def view(
    paths: tuple[str, ...],
    where: str | None,
    *,
    find: str | None,
    sort: str | None,
    columns: tuple[str, ...],
    notes: str | None,
    tags: str,
    plan: str | None,
    tokenizer: str | None,
    port: int,
    opens: bool | None,
    idle: float,
) -> None:
    """Look at the samples of each PATH in the browser: pictures, conversations, charts, filters.

    Prints the address of the page, which has a secret in it and works on this machine only. PATH is anything that
    jinx.open reads. Nothing is sent elsewhere, and no code in the data runs. Ctrl-C ends the viewer.
    """
    from jinx._optional import require

    for module in ("starlette", "uvicorn"):
        require(module, extra="view", what="jinx view")
    from pathlib import Path

    from jinx._annotate.tokenizer import TextTokenizer
    from jinx._open import open
    from jinx._urls import is_url
    from jinx._view.app import Viewer
    from jinx._view.packs import ShownPlan, tokens_by
    from jinx._view.server import ViewServer, ssh_line
    from jinx._view.shown import ShownDataset

    start = {"where": where, "find": find, "sort": sort, "columns": ",".join(names(columns) or [])}
    given = {name: text for name, text in start.items() if text}
    if len(paths) > 1 and (notes or plan):
        raise click.UsageError("--notes and --pack are about one PATH; give only that one")
    datasets = [open(path) for path in paths]
    shown = [
        ShownDataset(dataset, path if is_url(path) else str(Path(path).absolute()))
        for dataset, path in zip(datasets, paths, strict=True)
    ]
    viewer = Viewer(
        shown,
        given,
        notes=None if notes is None else _journal(notes, shown[0].path, datasets[0]),
        tags=(names([tags]) or [])[:_TAG_KEYS],
        plan=None if plan is None else ShownPlan(plan, datasets[0]),
        tokens=None if tokenizer is None else tokens_by(TextTokenizer(tokenizer)),
    )
    server = ViewServer(viewer, port=port, idle_seconds=idle)
    click.echo(server.url)
    forward = ssh_line(server.port)
    if forward is not None:
        click.echo(f"From your machine: {forward}", err=True)
    if opens if opens is not None else _has_display(forward):
        import webbrowser

        webbrowser.open(server.url)
    with suppress(KeyboardInterrupt):
        server.run()


def _journal(notes: str, path: str, dataset: "Dataset") -> "Journal":
    from jinx._dataset.identity import identity_of
    from jinx._notes.journal import Journal
    from jinx._notes.merge import person

    return Journal(notes, dataset=path, identity=identity_of(dataset), by=person())


def _has_display(forward: str | None) -> bool:
    """Whether a browser would be seen by the person at the terminal."""
    import os
    import sys

    if forward is not None or not sys.stdout.isatty():
        return False
    return sys.platform in {"darwin", "win32"} or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
