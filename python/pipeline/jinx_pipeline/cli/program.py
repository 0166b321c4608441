"""The commands of `jinx-pipeline` by name, imported when they are used."""

import click

from jinx._cli.command_line import Commands, Failure, Program, exit_code_of, failure_of, one_line

# The module of each command, and its summary in `jinx-pipeline --help`.
COMMANDS = {
    "run": ("jinx_pipeline.cli.run", "Run a recipe, or resume an interrupted run."),
    "plan": ("jinx_pipeline.cli.plan", "Show what a recipe would do, without running it."),
    "resume": ("jinx_pipeline.cli.resume", "Resume an interrupted run."),
    "analyze": ("jinx_pipeline.cli.analyze", "Measure a dataset with the filters of a recipe; make a report."),
    "ops": ("jinx_pipeline.cli.ops", "Find and describe operators."),
    "replay": ("jinx_pipeline.cli.replay", "Run a recipe again on the rows on which something failed."),
    "clean": ("jinx_pipeline.cli.clean", "List or remove stored media that no output names."),
    "import-recipe": ("jinx_pipeline.cli.import_recipe", "Convert a recipe of Data-Juicer or MLDataForge to ours."),
    "ask": ("jinx_pipeline.cli.ask", "Make a recipe for a request in plain language."),
    "serve": ("jinx_pipeline.cli.serve", "Serve datasets, plans and jobs over HTTP, with a page."),
    "mcp": ("jinx_pipeline.cli.mcp", "Speak the Model Context Protocol, for agents."),
    "compare": ("jinx_pipeline.cli.compare", "Compare recipes by what a model learns from their outputs."),
    "train-lm": ("jinx_pipeline.cli.train_lm", "Train a language model for perplexity_filter."),
    "batch": ("jinx_pipeline.cli.batch", "Ask language models by files of the Batch API."),
    "bench-model": ("jinx_pipeline.cli.bench_model", "Measure how busy the models of a recipe are."),
    "convert-schema": ("jinx_pipeline.cli.convert_schema", "Convert samples from one schema to another."),
}

WAITING = 3
"""The exit code of a run that people have to answer first."""


@click.command(
    cls=Commands,
    table=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nExamples:\n  jinx-pipeline run recipe.yaml\n  jinx-pipeline ops repetition",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def pipeline(debug: bool) -> None:  # noqa: FBT001 - click passes flags as arguments
    """Clean, filter and deduplicate datasets with recipes of operators.

    `jinx-pipeline COMMAND --help` explains a command and ends with examples.
    """
    del debug


def _explain(error: Exception) -> Failure | None:
    from jinx_pipeline.annotation.wait import WaitingError
    from jinx_pipeline.engines.driver import RepairError, StoppedError
    from jinx_pipeline.recipe.errors import RecipeError

    if isinstance(error, RecipeError):
        return Failure(str(error).splitlines(), 2)
    if isinstance(error, WaitingError):
        return Failure([f"{one_line(error)}; then run the same command again"], WAITING)
    if isinstance(error, StoppedError) and not isinstance(error, RepairError):
        return Failure([f"{one_line(error)}; run the same command again to resume"], 1)
    if isinstance(error, RuntimeError):
        return Failure([one_line(error)], exit_code_of(error))
    return failure_of(error)


run = Program(pipeline, "jinx-pipeline", _explain, "interrupted; run the same command again to resume").run
