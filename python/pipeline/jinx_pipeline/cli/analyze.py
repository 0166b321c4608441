"""The command `jinx-pipeline analyze`: computes statistics for every sample."""

import subprocess
import sys
from typing import Any

import click

from jinx_pipeline.cli.running import examples, print_result, result_of, run_options


@click.command(
    epilog=examples(
        "jinx-pipeline analyze recipe.yaml --out stats.jinx --report report.html",
        "jinx-pipeline run recipe.yaml --from-stats stats.jinx",
    )
)
@click.argument("recipe", type=click.Path())
@click.option("--out", type=click.Path(), default="stats.jinx", show_default=True, help="The view with statistics.")
@click.option(
    "--report", type=click.Path(), default="report.html", show_default=True, help="The report, one HTML file."
)
@click.option("--restart", is_flag=True, help="Forget an earlier analysis.")
@click.option("--view", "is_viewed", is_flag=True, help="Show the samples and the report in jinx view.")
@run_options
def analyze(
    recipe: str,
    out: str,
    report: str,
    progress: str,
    *,
    restart: bool,
    is_viewed: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Measure the dataset of RECIPE with its filters; nothing is dropped.

    OUT is a view of the dataset with the statistics of every sample: jinx-pipeline run --from-stats OUT tries other
    thresholds without computing them again.
    """
    import jinx
    from jinx_pipeline.cli.report_files import refuse_file_places, refuse_place_of_file, write_file
    from jinx_pipeline.recipe.export import Export
    from jinx_pipeline.recipe.read import read_recipe
    from jinx_pipeline.recipe.resolve import resolve
    from jinx_pipeline.report.analysis import analysis
    from jinx_pipeline.report.page import page
    from jinx_pipeline.stored_stats import measure

    refuse_place_of_file(report)
    checked = resolve(read_recipe(recipe, **options))
    refuse_file_places((report,), checked.with_exports([Export(out)]))
    progress = "none" if as_json else progress
    result = result_of(lambda: measure(checked, out, progress=progress, restart=restart))
    dataset = jinx.open(out)
    write_file(report, page(dataset, checked, result, analysis(dataset, checked)))
    code = print_result(result, as_json=as_json)
    click.echo(f"report: {report}", err=True)
    if is_viewed:
        # Run as a separate command, which Ctrl-C also ends.
        subprocess.run([sys.executable, "-m", "jinx", "view", out, "--report", report], check=False)  # noqa: S603
    return code
