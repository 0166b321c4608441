"""The commands by name, loaded when they are used, and the exit codes of their errors."""

import errno
import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from jinx import __version__
from jinx.errors import InvalidError, JinxError

# Name: (module, what `jinx --help` says).
COMMANDS = {
    "convert": ("jinx._cli.convert", "Convert between Parquet, JSON lines, MessagePack and JINX."),
    "head": ("jinx._cli.rows", "Print the first samples as JSON lines."),
    "cat": ("jinx._cli.rows", "Print all samples as JSON lines."),
    "get": ("jinx._cli.values", "Write one column of one sample to standard output."),
    "extract": ("jinx._cli.values", "Write one column of every sample to files."),
    "info": ("jinx._cli.info", "Say what is in a file."),
    "verify": ("jinx._cli.checking", "Compare everything with its checksums."),
    "repair": ("jinx._cli.checking", "Save the intact samples of a damaged file."),
    "shuffle": ("jinx._cli.order", "Write a dataset in shuffled order."),
    "sort": ("jinx._cli.order", "Write a dataset sorted by columns, paths or lengths."),
    "split": ("jinx._cli.rewriting", "Divide a dataset into parts."),
    "concat": ("jinx._cli.rewriting", "Join datasets of any formats as one."),
    "select": ("jinx._cli.rewriting", "Write the samples at positions."),
    "dedup": ("jinx._cli.rewriting", "Leave out samples that are the same as earlier ones."),
    "compact": ("jinx._cli.rewriting", "Write many small files as few large ones."),
    "index": ("jinx._cli.index", "Make and change files of positions."),
    "merge": ("jinx._cli.merge", "Merge the parts that several writers wrote into one dataset."),
    "mv": ("jinx._cli.files", "Move or rename datasets, their sidecars with them."),
    "cp": ("jinx._cli.files", "Copy datasets, their sidecars with them."),
    "rm": ("jinx._cli.files", "Remove datasets, their sidecars with them."),
    "rebase": ("jinx._cli.files", "Tell a saved view where its datasets are now."),
    "annotate": ("jinx._cli.annotate", "Count what each sample costs in training, as a saved view."),
    "clean": ("jinx._cli.checking", "Remove leftover temporary files from a directory."),
    "pack": ("jinx._cli.pack", "Plan which samples share a sequence, and compare ways to batch them."),
    "pipeline": ("jinx._cli.pipeline", "Run recipes of operators; see jinx-pipeline."),
    "completion": ("jinx._cli.completion", "Print the completion script for a shell."),
}

_USAGE = (
    FileNotFoundError,
    FileExistsError,
    IsADirectoryError,
    NotADirectoryError,
    KeyError,
    IndexError,
    TypeError,
    ValueError,
    ImportError,
)
_ADVICE = {
    errno.ENOSPC: "; make room, or write elsewhere",
    errno.EDQUOT: "; make room, or write elsewhere",
    errno.EFBIG: "; raise the limit (ulimit -f), or write shards (--shard-size)",
    errno.EEXIST: "; choose another name",
}

DONE, DATA_PROBLEM, USAGE_PROBLEM, INTERRUPTED = 0, 1, 2, 130


class ClosedPipeError(Exception):
    """The reader of our output has closed it. Not an OSError, for which click would exit with 1."""


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
        """As click does, but a closed pipe is not a failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ClosedPipeError from error

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
    epilog="\b\nExamples:\n  jinx convert in.parquet out.jinx --sidecar\n  jinx head out.jinx | jq .",
)
@click.version_option(__version__, prog_name="jinx")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def jinx(debug: bool) -> None:
    """Multimodal training data in two plain files.

    `jinx COMMAND --help` explains a command and ends with examples.
    """
    del debug


def run(arguments: list[str]) -> int:
    """Run the command line; returns the exit code: 0 done, 1 a problem with the data, 2 with the command."""
    debug = "--debug" in arguments
    arguments = [word for word in arguments if word != "--debug"]
    _replace_closed_streams()
    code = DONE
    try:
        with terminated_as_interrupted():
            code = _run(arguments, debug=debug)
            sys.stdout.flush()
    except (BrokenPipeError, ClosedPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:
        if debug:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return code or _say(one_line(error), DATA_PROBLEM)  # an error of the command has been reported
    return code


def _replace_closed_streams() -> None:
    """Open what the shell closed (`>&-`) as something that refuses, so that no file of ours gets its number."""
    for number, name, flags, mode in (
        (0, "stdin", os.O_WRONLY, "r"),
        (1, "stdout", os.O_RDONLY, "w"),
        (2, "stderr", os.O_WRONLY, "w"),  # where a refusal could not be reported
    ):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


@contextmanager
def terminated_as_interrupted() -> Generator[None]:
    """SIGTERM, from schedulers, and SIGHUP, from closed terminals, stop a command as Ctrl-C does.

    So no half-written file is left. A signal that is ignored (`nohup`) remains ignored.
    """

    def stop(number: int, frame: object) -> None:
        del number, frame
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, stop) for number in numbers if signal.getsignal(number) != signal.SIG_IGN}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
    except (JinxError, OSError, ValueError, TypeError, KeyError, IndexError, ImportError, MemoryError) as error:
        if debug:
            raise
        return _say(one_line(error), exit_code_of(error))
    return result if isinstance(result, int) else DONE


def one_line(error: BaseException) -> str:
    """An error's message on one line."""
    text: object = error.args[0] if isinstance(error, KeyError) and error.args else error
    if isinstance(error, OSError) and error.strerror:
        where: str = error.filename or "<standard output>"
        if error.filename2:
            where = f"{where} -> {error.filename2}"
        text = f"{where}: {error.strerror}{_ADVICE.get(error.errno or 0, '')}"
    return " ".join(str(text).split()) or type(error).__name__


def exit_code_of(error: BaseException) -> int:
    """Errors of the core are about the data, unless no sample is concerned; errors of Python are about the command."""
    if isinstance(error, InvalidError):
        return DATA_PROBLEM if getattr(error, "sample", None) is not None else USAGE_PROBLEM
    return USAGE_PROBLEM if isinstance(error, _USAGE) and not isinstance(error, JinxError) else DATA_PROBLEM


def _say(message: str, code: int) -> int:
    click.echo(f"jinx: {message}", err=True)
    return code
