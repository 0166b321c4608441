"""The command `jinx-pipeline batch`: language models by files of the Batch API."""

from typing import Any

import click

from jinx_pipeline.cli.running import examples, input_options, print_json, read_with_input


@click.command(
    epilog=examples("jinx-pipeline batch recipe.yaml", "jinx-pipeline batch rating.yaml --in pages.jinx --workers 4")
)
@click.argument("recipe", type=click.Path())
@input_options
@click.option("--workers", type=click.IntRange(1), help="The number of processes; by default that of cores.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def batch(recipe: str, source: str | None, *, as_json: bool, **options: Any) -> int:
    """Write the requests of RECIPE to language models as files for a Batch API, and take the answers.

    Operators that have `batch: DIR` in their `model_params` send nothing. This command takes the answers that are in
    DIR/answers, and writes requests without an answer to DIR/requests. Send these files, put the files that come back
    into DIR/answers, and repeat it until no request waits (the exit code is 3 until then); then `run` makes the output.
    """
    from jinx_pipeline.batch import collect
    from jinx_pipeline.cli.program import WAITING

    states = collect(read_with_input(recipe, source, options))
    if as_json:
        print_json([{**vars(state), "folder": str(state.folder)} for state in states])
    for state in states if not as_json else ():
        click.echo(f"{state.folder}: {state.taken:,} new answers")
        for problem in state.problems:
            click.echo(f"  not taken: {problem}")
        if state.refused > len(state.problems):
            click.echo(f"  ... and {state.refused - len(state.problems):,} lines more")
        if state.requests:
            click.echo(f"  {state.requests:,} requests of {state.samples:,} samples wait in {state.folder}/requests")
        else:
            click.echo("  no request waits: run the recipe")
    return WAITING if any(state.requests for state in states) else 0
