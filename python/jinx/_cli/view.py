"""`jinx view`: look at datasets in the browser."""

from contextlib import suppress
from typing import TYPE_CHECKING

import click

from jinx._cli.parameters import PATH, WHERE, Duration, examples, names

if TYPE_CHECKING:
    from jinx._dataset.dataset import Dataset
    from jinx._notes.journal import Journal

_LARGEST_PORT = 65535
_TAG_KEYS = 9


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
@click.option("--by", metavar="NAME", help="Who makes the notes; by default the name of the user.")
@click.option(
    "--tags", default="good,bad,unsure", show_default=True, metavar="A,B", help="The tags of the keys 1 to 9."
)
@click.option(
    "--form", metavar="FILE", type=PATH, help="Ask what a form of jinx-pipeline asks about each sample (with --notes)."
)
@click.option(
    "--pack", "plan", metavar="PLAN", type=PATH, help="Show the packs of a plan, which jinx pack --save wrote."
)
@click.option("--report", metavar="FILE", type=PATH, help="A report of jinx-pipeline analyze; its bars open samples.")
@click.option("--tokenizer", type=PATH, help="Show the tokens of samples: a tokenizer.json, or its directory.")
@click.option(
    "--port", type=click.IntRange(0, _LARGEST_PORT), default=0, help="The port; a free one if it is not given."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The interface to listen on.")
@click.option(
    "--host-name", "host_names", multiple=True, help="A name by which browsers address it, such as a proxy's."
)
@click.option(
    "--token-file",
    type=click.Path(),
    help="Make the secret of the address from this file, which is made if it does not exist.",
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
    by: str | None,
    tags: str,
    form: str | None,
    plan: str | None,
    report: str | None,
    tokenizer: str | None,
    port: int,
    host: str,
    host_names: tuple[str, ...],
    token_file: str | None,
    opens: bool | None,
    idle: float,
) -> None:
    """Look at the samples of each PATH in the browser: pictures, conversations, charts, filters.

    Prints the address of the page, which has a secret in it and works on this machine only, unless you open another
    interface with --host and --token-file. PATH is anything that jinx.open reads. Nothing is sent elsewhere, and no
    code in the data runs. Ctrl-C ends the viewer.
    """
    from jinx._optional import require

    for module in ("starlette", "uvicorn"):
        require(module, extra="view", what="jinx view")
    from pathlib import Path

    from jinx._annotate.tokenizer import TextTokenizer
    from jinx._notes.form import Form
    from jinx._open import open
    from jinx._urls import is_url
    from jinx._viewer.app import Viewer
    from jinx._viewer.freed_memory import keep_little_freed_memory
    from jinx._viewer.packs import ShownPlan, tokens_by
    from jinx._viewer.server import LOCAL_NAMES, ViewServer, ssh_line
    from jinx._viewer.shown import ShownDataset
    from jinx._viewer.token import read_token, secret_path

    if host not in LOCAL_NAMES and token_file is None:
        raise click.UsageError(f"--host {host} is open to other machines; name a token: --token-file FILE")
    secret = None if token_file is None else secret_path(read_token(Path(token_file)))
    start = {"where": where, "find": find, "sort": sort, "columns": ",".join(names(columns) or [])}
    given = {name: text for name, text in start.items() if text}
    if len(paths) > 1 and (notes or plan):
        raise click.UsageError("--notes and --pack are about one PATH; give only that one")
    if form and not notes:
        raise click.UsageError("--form needs --notes FILE, where the answers go")
    asked = None if form is None else Form.read(form)
    if asked is not None and asked.columns:
        given.setdefault("columns", ",".join(asked.columns))
    tag_names = names([tags]) or []
    if len(tag_names) > _TAG_KEYS:
        raise click.UsageError(
            f"--tags names {len(tag_names)}, and there are {_TAG_KEYS} keys for them: 1 to {_TAG_KEYS}"
        )
    keep_little_freed_memory()
    datasets = [open(path) for path in paths]
    _check_start(datasets[0], where, sort, names(columns))
    shown = [
        ShownDataset(dataset, path if is_url(path) else str(Path(path).absolute()))
        for dataset, path in zip(datasets, paths, strict=True)
    ]
    viewer = Viewer(
        shown,
        given,
        notes=None if notes is None else _journal(notes, shown[0].path, datasets[0], by),
        tags=tag_names,
        form=asked,
        plan=None if plan is None else ShownPlan(plan, datasets[0]),
        report=None if report is None else Path(report).read_bytes(),
        tokens=None if tokenizer is None else tokens_by(TextTokenizer(tokenizer)),
    )
    server = ViewServer(viewer, host=host, names=host_names, port=port, secret=secret, idle_seconds=idle)
    click.echo(server.url)
    forward = ssh_line(server.port)
    if forward is not None:
        click.echo(f"From your machine: {forward}", err=True)
    if opens if opens is not None else _has_display(forward):
        import webbrowser

        webbrowser.open(server.url)
    with suppress(KeyboardInterrupt):
        server.run()


def _check_start(dataset: "Dataset", where: str | None, sort: str | None, columns: list[str] | None) -> None:
    """Refuse now what the page could otherwise only report once it is open.

    Raises:
        KeyError: There is no such column.
        InvalidError: The expression does not parse.
    """
    from jinx import _core
    from jinx._dataset.columns import column_names, parse_name
    from jinx._viewer.query import SortKey

    paths = [] if where is None else _core.expression_paths(where)
    if not len(dataset):  # the columns of an empty dataset are unknown
        return
    for path in paths:
        parse_name(dataset, path)
    if sort is not None:
        parse_name(dataset, SortKey.parse(sort, column_names(dataset)).name)
    if columns is not None:
        dataset.select_columns(columns)


def _journal(notes: str, path: str, dataset: "Dataset", by: str | None) -> "Journal":
    from jinx._dataset.identity import identity_of
    from jinx._notes.journal import Journal
    from jinx._notes.merge import person
    from jinx.errors import InvalidError

    journal = Journal(notes, dataset=path, identity=identity_of(dataset), by=by or person())
    if by is not None and journal.content.by != by:
        journal.close()
        raise InvalidError(f"{notes}: these notes are by {journal.content.by}, not by {by}; name another file")
    return journal


def _has_display(forward: str | None) -> bool:
    """Whether the person at the terminal would see a browser window."""
    import os
    import sys

    if forward is not None or not sys.stdout.isatty():
        return False
    return sys.platform in {"darwin", "win32"} or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
