"""The command `jinx-pipeline plan`: shows what a run would do."""

from typing import Any

import click

from jinx_pipeline.cli.graph_files import drawn, refuse_other_pictures
from jinx_pipeline.cli.running import examples, input_options, print_json, read_with_input


@click.command(epilog=examples("jinx-pipeline plan recipe.yaml", "jinx-pipeline plan web-en --in pages.jinx"))
@click.argument("recipe", type=click.Path())
@input_options
@click.option("--workers", type=click.IntRange(1), help="The number of processes; by default that of cores.")
@click.option("--memory", metavar="SIZE", help="Memory that one worker may use, such as 4GB.")
@click.option("--run-code", is_flag=True, help="Load the files of custom_operators, and measure their operators too.")
@click.option("--graph", type=click.Path(), help="Draw the recipe: to a file .svg, or .mmd for Mermaid.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan(recipe: str, source: str | None, graph: str | None, *, run_code: bool, as_json: bool, **options: Any) -> None:
    """Show what RECIPE would do: stages, order of filters, blocks, inputs to convert, disk space.

    RECIPE is a file, or the name of a recipe that comes with the package; `run` lists the names. Everything is checked,
    and nothing is written. Operators of the package run on a few samples to measure them. Code that RECIPE names is
    only run with --run-code.
    """
    from jinx_pipeline.cli.report_files import refuse_file_places, write_file
    from jinx_pipeline.plan_page import describe
    from jinx_pipeline.report.graph_picture import picture_of

    refuse_other_pictures(graph)
    loaded = read_with_input(recipe, source, options)
    refuse_file_places((graph,), loaded)
    facts = describe(loaded, run_code=run_code)
    if graph is not None:
        write_file(graph, drawn(picture_of(loaded), graph))
    if as_json:
        print_json(facts)
        return
    for line in facts["lines"]:
        click.echo(line)
