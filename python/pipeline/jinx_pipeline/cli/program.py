"""The commands by name, imported when they are used, and the exit codes of their errors."""

import os
import sys
from importlib import import_module
from typing import Any

import click

from jinx._cli.program import DONE, INTERRUPTED, ClosedPipeError, exit_code_of, one_line, terminated_as_interrupted

# Name: (module, what `jinx-pipeline --help` says).
COMMANDS = {
    "run": ("jinx_pipeline.cli.run", "Run a recipe, or resume what an interrupted run has left."),
    "plan": ("jinx_pipeline.cli.plan", "Say what a recipe would do, without doing it."),
    "resume": ("jinx_pipeline.cli.resume", "Resume an interrupted run."),
    "analyze": ("jinx_pipeline.cli.analyze", "Measure a dataset with the filters of a recipe; make a report."),
    "ops": ("jinx_pipeline.cli.ops", "Find and describe operators."),
    "replay": ("jinx_pipeline.cli.replay", "Run a recipe again on the rows on which something failed."),
    "import-recipe": ("jinx_pipeline.cli.import_recipe", "Turn a recipe of Data-Juicer or MLDataForge into ours."),
    "train-lm": ("jinx_pipeline.cli.train_lm", "Train a language model for perplexity_filter."),
    "convert-dialog": ("jinx_pipeline.cli.convert_dialog", "Convert dialogs from one layout to another."),
}


class Commands(click.Group):
    """A group whose commands are imported when they are used, so that `--help` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the table."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        return getattr(import_module(COMMANDS[cmd_name][0]), cmd_name.replace("-", "_"))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest name for one that does not exist."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from jinx._suggest import hint

            raise click.UsageError(f"no command {args[0]!r}{hint(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table, without importing a command."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nExamples:\n  jinx-pipeline run recipe.yaml\n  jinx-pipeline ops repetition",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def pipeline(debug: bool) -> None:  # noqa: FBT001 - click passes flags as arguments
    """Clean, filter and deduplicate datasets with recipes of operators.

    `jinx-pipeline COMMAND --help` explains a command and ends with examples.
    """
    del debug


def run(arguments: list[str], name: str = "jinx-pipeline") -> int:
    """Run the command line; returns the exit code: 0 done, 1 a problem with the data, 2 with the command."""
    debug = "--debug" in arguments
    words = [word for word in arguments if word != "--debug"]
    try:
        with terminated_as_interrupted():
            code = _run(words, name, debug=debug)
            sys.stdout.flush()
    except (BrokenPipeError, ClosedPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    return code


def _run(arguments: list[str], name: str, *, debug: bool) -> int:  # noqa: C901, PLR0911 - a table of errors
    from jinx_pipeline.engines.driver import StoppedError
    from jinx_pipeline.recipe.places import RecipeError

    try:
        result: Any = pipeline.main(arguments, prog_name=name, standalone_mode=False)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else name
        return _say(f"{error.format_message()} (see {command} --help)", 2)
    except click.ClickException as error:
        return _say(error.format_message(), 1)
    except (KeyboardInterrupt, click.Abort):
        return _say("interrupted; run the same command again to resume", INTERRUPTED)
    except RecipeError as error:
        for line in str(error).splitlines():
            _say(line, 2)
        return 2
    except StoppedError as error:
        if debug:
            raise
        return _say(f"{one_line(error)}; run the same command again to resume", 1)
    except BrokenPipeError:
        raise
    except (OSError, ValueError, TypeError, KeyError, IndexError, ImportError, RuntimeError) as error:
        if debug:
            raise
        return _say(one_line(error), exit_code_of(error))
    return result if isinstance(result, int) else DONE


def _say(message: str, code: int) -> int:
    click.echo(f"jinx-pipeline: {message}", err=True)
    return code
