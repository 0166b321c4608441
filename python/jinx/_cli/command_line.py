"""A program with several commands: loads the command that is called, and turns errors into a line and an exit code."""

import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

from jinx.errors import InvalidError, JinxError

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
    """The reader of our output closed the pipe. Not an OSError, because click exits with 1 for those."""


class Commands(click.Group):
    """A group whose commands are imported only when they are used, so that `--help` is quick.

    Args:
        table: For each command name: its module, and its line in `--help`.
        **attributes: As for `click.Group`.
    """

    def __init__(self, *, table: Mapping[str, tuple[str, str]], **attributes: Any) -> None:
        super().__init__(**attributes)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the table."""
        del ctx
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name."""
        del ctx
        if cmd_name not in self.table:
            return None
        return getattr(import_module(self.table[cmd_name][0]), cmd_name.replace("-", "_"))

    def invoke(self, ctx: click.Context) -> Any:
        """Like click, but a closed pipe is not a failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ClosedPipeError from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Like click, but suggests the nearest name if the command does not exist."""
        if args and args[0] not in self.table and not args[0].startswith("-"):
            from jinx._suggest import hint

            raise click.UsageError(f"no command {args[0]!r}{hint(args[0], self.table)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, without importing any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.table.items()])


@dataclass(frozen=True)
class Failure:
    """The message and the exit code for an error."""

    lines: list[str]
    code: int


def failure_of(error: Exception) -> Failure | None:
    """The message for an error of jinx, of the system or about an argument; None for a bug in the program."""
    kinds = (JinxError, OSError, ValueError, TypeError, KeyError, IndexError, ImportError, MemoryError)
    return Failure([one_line(error)], exit_code_of(error)) if isinstance(error, kinds) else None


@dataclass(frozen=True)
class Program:
    """A program with several commands.

    Attributes:
        commands: The group.
        name: The name of the program.
        explain: Makes the message for an error; None if the error is to be raised.
        interrupted: The message after an interruption.
    """

    commands: click.Command
    name: str
    explain: Callable[[Exception], Failure | None] = failure_of
    interrupted: str = "interrupted"

    def run(self, arguments: list[str], name: str | None = None) -> int:
        """Run a command line; returns the exit code: 0 done, 1 a problem with the data, 2 with the command line.

        Args:
            arguments: The words after the name.
            name: The name in messages about the command line.
        """
        debug = "--debug" in arguments
        words = [word for word in arguments if word != "--debug"]
        _replace_closed_streams()
        code = DONE
        try:
            with _terminated_as_interrupted():
                code = self._run(words, name or self.name, debug=debug)
                sys.stdout.flush()
        except (BrokenPipeError, ClosedPipeError):
            _close_output()
            return DONE
        except OSError as error:
            if debug:
                raise
            _close_output()
            return code or self._say(one_line(error), DATA_PROBLEM)  # the command has already reported an error
        return code

    def _run(self, words: list[str], name: str, *, debug: bool) -> int:
        try:
            result: Any = self._result(words, name)
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx is not None else name
            return self._say(f"{error.format_message()} (see {command} --help)", USAGE_PROBLEM)
        except click.ClickException as error:
            return self._say(error.format_message(), DATA_PROBLEM)
        except (KeyboardInterrupt, click.Abort):
            return self._say(self.interrupted, INTERRUPTED)
        except (BrokenPipeError, ClosedPipeError):
            raise
        except Exception as error:
            failure = None if debug else self.explain(error)
            if failure is None:
                raise
            for line in failure.lines:
                self._say(line, failure.code)
            return failure.code
        return result if isinstance(result, int) else DONE

    def _result(self, words: list[str], name: str) -> Any:
        try:
            return self.commands.main(words, prog_name=name, standalone_mode=False)
        except click.Abort as abort:
            # click treats every EOFError as the end of interactive input.
            if isinstance(abort.__cause__, EOFError):
                raise abort.__cause__ from None
            raise

    def _say(self, message: str, code: int) -> int:
        click.echo(f"{self.name}: {message}", err=True)
        return code


def _close_output() -> None:
    """Discard anything that is not yet written to standard output, also when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _replace_closed_streams() -> None:
    """Reopen streams that the shell closed (`>&-`), so that writes fail and no other file gets their number."""
    for number, name, flags, mode in (
        (0, "stdin", os.O_WRONLY, "r"),
        (1, "stdout", os.O_RDONLY, "w"),
        (2, "stderr", os.O_WRONLY, "w"),  # a failed write to stderr could not be reported
    ):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


@contextmanager
def _terminated_as_interrupted() -> Generator[None]:
    """Make SIGTERM (from schedulers) and SIGHUP (from closed terminals) stop a command as Ctrl-C does.

    This leaves no half-written file. A signal that is ignored (`nohup`) remains ignored.
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


def one_line(error: BaseException) -> str:
    """An error's message on one line."""
    text: object = error.args[0] if isinstance(error, KeyError) and error.args else error
    if isinstance(error, OSError) and error.strerror:
        # An error without a file comes from writing to a stream, or from starting a process or thread.
        is_start = error.errno in {errno.EAGAIN, errno.ENOMEM} and error.strerror == os.strerror(error.errno)
        where: str = error.filename or ("starting a process (ulimit -u)" if is_start else "<standard output>")
        if error.filename2:
            where = f"{where} -> {error.filename2}"
        text = f"{where}: {error.strerror}{_ADVICE.get(error.errno or 0, '')}"
    return " ".join(str(text).split()) or type(error).__name__


def exit_code_of(error: BaseException) -> int:
    """1 for errors of the core, which concern data, unless they are about no sample; 2 for errors of the command."""
    if isinstance(error, InvalidError):
        return DATA_PROBLEM if getattr(error, "sample", None) is not None else USAGE_PROBLEM
    return USAGE_PROBLEM if isinstance(error, _USAGE) and not isinstance(error, JinxError) else DATA_PROBLEM
