"""The command `jinx-pipeline mcp`: the service for language models, over standard input and output."""

from pathlib import Path
from tempfile import TemporaryDirectory

import click

from jinx_pipeline.cli.running import examples
from jinx_pipeline.cli.service_options import named_directories, require_service
from jinx_pipeline.optional import require


@click.command(
    epilog=examples(
        "jinx-pipeline mcp --root data=/data",
        "jinx-pipeline mcp --root data=/data --write --out results=/results",
    )
)
@click.option("--root", "roots", multiple=True, required=True, metavar="NAME=DIR", help="A directory that may be read.")
@click.option("--out", "outs", multiple=True, metavar="NAME=DIR", help="A directory that jobs may write to.")
@click.option("--write", is_flag=True, help="Plans may be run, each after the user has agreed.")
@click.option("--state", type=click.Path(), default="jinx-service", show_default=True, help="Where jobs are.")
def mcp(roots: tuple[str, ...], outs: tuple[str, ...], state: str, *, write: bool) -> None:
    """Speak the Model Context Protocol on standard input and output, for agents that start this command.

    Agents look at datasets, find operators and try recipes. Without --write nothing is written; with it, an agent can
    run a plan after its user has agreed, and outputs are only made below --out. Agents reach no code, shell or URL.
    """
    require_service("jinx-pipeline mcp")
    require("mcp", extra="mcp", what="jinx-pipeline mcp")
    from jinx_pipeline.mcp.server import mcp_server
    from jinx_pipeline.service.workplace import Workplace

    if write != bool(outs):
        raise click.UsageError("--write and --out belong together: jobs write below --out")
    with TemporaryDirectory(prefix="jinx-pipeline-") as folder:
        readable, writable = named_directories("--root", roots), named_directories("--out", outs)
        # Without jobs there is no state to keep, so a temporary directory is enough.
        place = Workplace.open(Path(state if write else folder), readable, writable)
        if write:
            place.jobs.start()
        try:
            mcp_server(place, may_write=write).run("stdio")
        finally:
            place.close()
