"""The command `jinx-pipeline replay`: runs failed rows again."""

from pathlib import Path
from typing import Any

import click

from jinx_pipeline.cli.running import examples, print_result, result_of, run_options


@click.command(
    epilog=examples("jinx-pipeline replay out.jinx.work rest.jinx", "jinx-pipeline replay out.work rest --workers 1")
)
@click.argument("run_dir", type=click.Path(exists=True, file_okay=False), metavar="WORK_DIR")
@click.argument("out", type=click.Path())
@run_options
def replay(run_dir: str, out: str, progress: str, *, as_json: bool, **options: Any) -> int:
    """Run the recipe of WORK_DIR again on the rows on which something failed, and write those that pass to OUT.

    Use it after you have repaired the operator, the model or the machine. Of a sample that was split before one of its
    parts failed, all parts are written again.
    """
    from jinx_pipeline.replay import replay_of
    from jinx_pipeline.run import Run
    from jinx_pipeline.run_plan import other_remedy

    recipe = replay_of(Path(run_dir), out, **options)
    with other_remedy("choose another OUT, or remove that working directory"):
        result = result_of(Run(recipe, progress="none" if as_json else progress))
    return print_result(result, as_json=as_json)
