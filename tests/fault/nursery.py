"""A process that forks writers on request, so that a round costs no start of Python.

Each line of input is `CASE|PATH|VERSION|SECONDS`. The writer is killed after so many seconds, if they are given; the
answer is its exit code (negative: the signal that killed it).
"""

import os
import signal
import sys
import time
from pathlib import Path

from fault.rewriting import COMMANDS
from fault.writing import CASES


def main() -> None:
    for line in sys.stdin:
        name, path, version, seconds = line.rstrip("\n").split("|")
        child = os.fork()
        if child == 0:
            signal.alarm(120)
            try:
                {**CASES, **COMMANDS}[name].write(Path(path), int(version))
            except BaseException as error:  # noqa: BLE001 - the parent hears of it by the exit code
                print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
                os._exit(1)
            os._exit(0)
        if seconds:
            time.sleep(float(seconds))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


main()
