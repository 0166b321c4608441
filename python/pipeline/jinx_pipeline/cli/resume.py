"""The command `jinx-pipeline resume`: continues an interrupted run."""

from pathlib import Path
from typing import Any

import click

from jinx_pipeline.cli.running import examples, print_result, result_of, run_options


@click.command(epilog=examples("jinx-pipeline resume out.jinx.work", "jinx-pipeline resume recipe.yaml --workers 4"))
@click.argument("what", type=click.Path(), metavar="RECIPE|WORK_DIR")
@run_options
def resume(what: str, progress: str, *, as_json: bool, **options: Any) -> int:
    """Resume an interrupted run, named by its recipe or by its working directory.

    Finished blocks are neither read nor run again. A recipe or an input that has changed is refused.
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
        result = result_of(Run(recipe, progress="none" if as_json else progress))
    return print_result(result, as_json=as_json)
