"""The commands by name, loaded when they are used, and what becomes of their errors."""

import os
import sys
from importlib import import_module
from typing import Any

import click

from jinx import __version__
from jinx.errors import JinxError

# Name: (module, what `jinx --help` says).
COMMANDS = {
    "convert": ("jinx.cli.convert", "Convert between Parquet, JSON lines, MessagePack and JINX."),
    "head": ("jinx.cli.rows", "Print the first samples as JSON lines."),
    "cat": ("jinx.cli.rows", "Print all samples as JSON lines."),
    "get": ("jinx.cli.values", "Write one field of one sample to standard output."),
    "extract": ("jinx.cli.values", "Write one field of every sample to files."),
    "info": ("jinx.cli.info", "Say what is in a file."),
    "verify": ("jinx.cli.checking", "Compare everything with its checksums."),
    "repair": ("jinx.cli.checking", "Rebuild a file whose writer died."),
    "clean": ("jinx.cli.checking", "Remove what dead writers left in a folder."),
    "completion": ("jinx.cli.completion", "Print the completion script for a shell."),
}

DONE, DATA_PROBLEM, USAGE_PROBLEM, INTERRUPTED = 0, 1, 2, 130


class ClosedPipeError(Exception):
    """Who reads our output has seen enough. Not an OSError: click would end the process with an exit code of 1."""


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
        return getattr(import_module(COMMANDS[cmd_name][0]), cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        """As click does, but a closed pipe is no failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ClosedPipeError from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest name for one that does not exist."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from jinx.nearest import hint

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
    epilog="\b\nExamples:\n  jinx convert in.parquet out.jinx --sidecar\n  jinx head out.jinx | jq .",
)
@click.version_option(__version__, prog_name="jinx")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def jinx(debug: bool) -> None:
    """Multimodal training data in one readable file.

    `jinx COMMAND --help` explains a command and ends with examples.
    """
    del debug


def run(arguments: list[str]) -> int:
    """Run the command line; returns the exit code: 0 done, 1 a problem with the data, 2 with the command."""
    debug = "--debug" in arguments
    arguments = [word for word in arguments if word != "--debug"]
    try:
        code = _run(arguments, debug=debug)
        sys.stdout.flush()
    except (BrokenPipeError, ClosedPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    return code


def _run(arguments: list[str], *, debug: bool) -> int:
    try:
        result: Any = jinx.main(arguments, prog_name="jinx", standalone_mode=False)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else "jinx"
        return _say(f"{error.format_message()} (see {command} --help)", USAGE_PROBLEM)
    except click.ClickException as error:
        return _say(error.format_message(), DATA_PROBLEM)
    except (KeyboardInterrupt, click.Abort):
        return _say("interrupted", INTERRUPTED)
    except (JinxError, OSError, ValueError, TypeError, KeyError, IndexError, ImportError) as error:
        if debug:
            raise
        return _say(one_line(error), _code_of(error))
    return result if isinstance(result, int) else DONE


def one_line(error: BaseException) -> str:
    """An error's message on one line."""
    text: object = error.args[0] if isinstance(error, KeyError) and error.args else error
    if isinstance(error, OSError) and error.filename and error.strerror:
        text = f"{os.fspath(error.filename)}: {error.strerror}"
    return " ".join(str(text).split()) or type(error).__name__


def _code_of(error: BaseException) -> int:
    """A name that does not exist or exists already is a problem with the command."""
    return USAGE_PROBLEM if isinstance(error, FileNotFoundError | FileExistsError | KeyError) else DATA_PROBLEM


def _say(message: str, code: int) -> int:
    click.echo(f"jinx: {message}", err=True)
    return code
