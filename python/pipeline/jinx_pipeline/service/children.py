"""Starts the processes of the service: `python -m jinx_pipeline.service.child`."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

_GRACE_SECONDS: Final = 5.0
CHILD: Final = (sys.executable, "-m", "jinx_pipeline.service.child")


def run_child(arguments: list[str], text: str, *, seconds: float) -> str | None:
    """Run a child with a text on standard input, and return its output; None if it took too long.

    Its workers end with it.
    """
    with subprocess.Popen(  # noqa: S603 - starts our own program
        [*CHILD, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    ) as child:
        try:
            return child.communicate(text, timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            child.terminate()  # lets it remove its temporary directory
            with suppress(subprocess.TimeoutExpired):
                child.communicate(timeout=_GRACE_SECONDS)
            child.kill()
            return None


def start_job(directory: Path, lock: int) -> subprocess.Popen[bytes]:
    """Start the process of a job, which holds the lock on its directory for as long as it lives."""
    with (directory / "log.txt").open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - starts our own program
            [*CHILD, "job", str(directory)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # The process outlives the server, even if the terminal is closed.
            start_new_session=True,
            pass_fds=(lock,),
            cwd=directory,
        )


def signal_job(pid: int, number: signal.Signals) -> None:
    """Send a signal to the process of a job; its workers end with it."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
