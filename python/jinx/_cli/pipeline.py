"""`jinx pipeline`: the command `jinx-pipeline`, which is a separate distribution."""

import click


@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def pipeline(arguments: tuple[str, ...]) -> int:
    """Run recipes of operators; the same as `jinx-pipeline`."""
    from importlib import import_module

    try:
        program = import_module("jinx_pipeline.cli.program")
    except ModuleNotFoundError as error:
        if error.name != "jinx_pipeline":
            raise
        raise click.UsageError("jinx pipeline needs another package: pip install jinx-pipeline") from error
    return program.run(list(arguments), "jinx pipeline")
