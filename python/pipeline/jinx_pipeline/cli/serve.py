"""The command `jinx-pipeline serve`: the pipeline as a service."""

from contextlib import suppress
from pathlib import Path

import click

from jinx_pipeline.cli.running import examples
from jinx_pipeline.cli.service_options import named_directories, require_service
from jinx_pipeline.optional import require

_LARGEST_PORT = 65535


@click.command(
    epilog=examples(
        "jinx-pipeline serve --root data=/data --out results=/results --token-file token",
        "jinx-pipeline serve --root data=. --out out=/tmp/out --jobs 2 --port 8000",
    )
)
@click.option("--root", "roots", multiple=True, metavar="NAME=DIR", help="A directory that clients may read.")
@click.option("--out", "outs", multiple=True, metavar="NAME=DIR", help="A directory that jobs may write to.")
@click.option("--state", type=click.Path(), default="jinx-service", show_default=True, help="Where plans and jobs are.")
@click.option(
    "--allow", multiple=True, metavar="OPERATOR", help="Allow an operator that runs code or connects to servers."
)
@click.option("--mcp", "has_mcp", is_flag=True, help="Also speak the Model Context Protocol, at /mcp.")
@click.option("--write", is_flag=True, help="Agents may run plans, each after their user has agreed.")
@click.option("--token-file", type=click.Path(), help="The token of clients; made if it does not exist.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The interface to listen on.")
@click.option("--port", type=click.IntRange(0, _LARGEST_PORT), default=0, help="The port; by default a free one.")
@click.option(
    "--host-name", "names", multiple=True, help="A name by which clients address the server, such as a proxy's."
)
@click.option("--jobs", "running", type=click.IntRange(1), default=1, show_default=True, help="Jobs at the same time.")
@click.option("--max-queue", type=click.IntRange(1), default=1000, show_default=True, help="Jobs that may wait.")
@click.option("--workers", type=click.IntRange(1), help="The processes of a job; by default that of cores.")
@click.option("--memory", metavar="SIZE", help="Memory that one worker may use, such as 4GB.")
@click.option("--job-hours", type=click.FloatRange(min=0, min_open=True), default=24.0, show_default=True,
              help="The longest duration of a job.")  # fmt: skip
def serve(
    roots: tuple[str, ...],
    outs: tuple[str, ...],
    state: str,
    allow: tuple[str, ...],
    token_file: str | None,
    host: str,
    port: int,
    names: tuple[str, ...],
    running: int,
    max_queue: int,
    workers: int | None,
    memory: str | None,
    job_hours: float,
    *,
    has_mcp: bool,
    write: bool,
) -> None:
    """Serve datasets, plans and jobs over HTTP, with a page of jobs and a viewer for the browser.

    Clients name files as NAME/path, and reach nothing outside of --root and --out. Jobs are processes that outlive the
    server: start it again with the same --state, and it finds them. Operators that run code or connect to servers are
    refused unless --allow names them. Ctrl-C ends the server.
    """
    require_service("jinx-pipeline serve")
    import os

    from jinx._sizes import parse_size
    from jinx._viewer.server import LOCAL_NAMES
    from jinx._viewer.token import read_token
    from jinx_pipeline.service.jobs import JobLimits
    from jinx_pipeline.service.server import Server
    from jinx_pipeline.service.workplace import Workplace

    if host not in LOCAL_NAMES and token_file is None:
        raise click.UsageError(f"--host {host} is open to other machines; name a token: --token-file FILE")
    limits = JobLimits(
        running=running,
        queued=max_queue,
        workers=workers or os.cpu_count() or 1,
        memory=None if memory is None else parse_size(memory),
        seconds=job_hours * 3600,
    )
    readable, writable = named_directories("--root", roots), named_directories("--out", outs)
    if write and not has_mcp:
        raise click.UsageError("--write is about agents; add --mcp")
    if not readable and not writable:
        raise click.UsageError("name a directory that clients may read: --root NAME=DIR")
    place = Workplace.open(Path(state), readable, writable, allow=allow, limits=limits)
    token = read_token(Path(token_file) if token_file is not None else Path(state) / "token")
    mcp = None
    if has_mcp:
        require("mcp", extra="mcp", what="--mcp")
        from jinx_pipeline.mcp.server import mcp_server

        mcp = mcp_server(place, may_write=write)
    server = Server(place, token, host=host, port=port, names=names, mcp=mcp)
    click.echo(server.url)
    click.echo(f"Page of jobs: {server.page}", err=True)
    click.echo(f"Token: {token_file or Path(state) / 'token'}", err=True)
    with suppress(KeyboardInterrupt):
        server.run()
