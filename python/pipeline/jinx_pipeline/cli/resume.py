"""The command `jinx-pipeline resume`: continues an interrupted run."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jinx._cli.parameters import Duration
from jinx_pipeline.cli.running import examples, print_result, result_of, run_options

if TYPE_CHECKING:
    from jinx_pipeline.run import Run, RunResult

# How often to check files and Label Studio for answers.
_POLL_SECONDS = 15.0


@click.command(epilog=examples("jinx-pipeline resume out.jinx.work", "jinx-pipeline resume recipe.yaml --workers 4"))
@click.argument("what", type=click.Path(), metavar="RECIPE|WORK_DIR")
@click.option("--wait", metavar="TIME", type=Duration(), help="Wait so long for the answers of people, such as 2h.")
@click.option("--accept-missing", is_flag=True, help="Go on without answers that people have not given: null.")
@run_options
def resume(what: str, progress: str, *, wait: float | None, accept_missing: bool, as_json: bool, **options: Any) -> int:
    """Resume an interrupted run, named by its recipe or by its working directory.

    Finished blocks are neither read nor run again. A recipe or an input that has changed is refused. The exit code is 3
    if people have to answer first.
    """
    from jinx_pipeline.recipe.read import read_recipe
    from jinx_pipeline.replay import recipe_in
    from jinx_pipeline.run import Run
    from jinx_pipeline.run_plan import other_remedy, work_dir_of
    from jinx_pipeline.runlog.run_directory import current_run
    from jinx_pipeline.runlog.run_log import START_OVER
    from jinx_pipeline.store.mirror import is_remote, mirrored, shown

    is_work_dir = is_remote(what) or Path(what).is_dir()
    recipe = recipe_in(mirrored(what), **options) if is_work_dir else read_recipe(what, **options)
    folder = work_dir_of(recipe)
    if current_run(folder) is None:
        raise click.UsageError(
            f"there is nothing to resume in {shown(folder)}; start it with: jinx-pipeline run {what}"
        )
    with other_remedy(f"{START_OVER} of jinx-pipeline run"):
        run = Run(recipe, progress="none" if as_json else progress, accepts_missing=accept_missing)
        result = result_of(lambda: _waited(run, wait or 0.0))
    return print_result(result, as_json=as_json)


def _waited(run: "Run", seconds: float) -> "RunResult":
    """The result of a run, after waiting a while for people's answers."""
    from jinx_pipeline.annotation.wait import WaitingError

    limit = time.monotonic() + seconds
    while True:
        try:
            return run()
        except WaitingError as error:
            left = limit - time.monotonic()
            if left <= 0:
                raise
            click.echo(str(error), err=True)
            time.sleep(min(_POLL_SECONDS, left))
