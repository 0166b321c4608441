"""`jinx-pipeline plan`."""

from typing import Any

import click

from jinx_pipeline.cli.running import examples, print_json


@click.command(epilog=examples("jinx-pipeline plan recipe.yaml", "jinx-pipeline plan recipe.yaml --json"))
@click.argument("recipe", type=click.Path())
@click.option("--workers", type=click.IntRange(1), help="Processes; one for each core if not given.")
@click.option("--memory", metavar="SIZE", help="Memory that one worker may use, such as 4GB.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan(recipe: str, *, as_json: bool, **options: Any) -> None:
    """Say what RECIPE would do: stages, order of filters, blocks, inputs to convert, disk.

    Everything is checked, and nothing is written.
    """
    from jinx_pipeline.plan.describe import describe
    from jinx_pipeline.recipe.read import read_recipe

    facts = describe(read_recipe(recipe, **options))
    if as_json:
        print_json(facts)
        return
    for line in facts["lines"]:
        click.echo(line)
