"""A worker of the local engine: `python -m jinx_pipeline.worker REQUESTS ANSWERS LIFELINE ACTIVITY`, inherited files.

It is started clean, so that scripts need no `__main__` guard and notebooks work. Operators arrive as cloudpickle.
"""

import os
import sys
import threading
from multiprocessing.connection import Connection


def main(arguments: list[str]) -> int:
    """Answer requests until the driver closes the pipe."""
    requests = Connection(int(arguments[0]), writable=False)
    answers = Connection(int(arguments[1]), readable=False)
    lifeline = int(arguments[2])
    # What operators print belongs to the log, not into the pipe or the driver's standard output.
    os.dup2(2, 1)
    threading.Thread(target=_die_with_the_driver, args=(lifeline,), daemon=True).start()
    return _serve(requests, answers, int(arguments[3]))


def _die_with_the_driver(lifeline: int) -> None:
    """The other end of this pipe is closed when the driver dies, however it dies."""
    os.read(lifeline, 1)
    os._exit(3)


def _serve(requests: Connection, answers: Connection, activity: int) -> int:
    from jinx_pipeline.worker.activity import PIPES_CLOSED, Activity
    from jinx_pipeline.worker.pandas_import import spare
    from jinx_pipeline.worker.task_runner import TaskRunner

    shared = Activity(activity)
    pipes = {one.fileno(): os.fstat(one.fileno()) for one in (requests, answers)}

    def busy_with(name: str, rows: int) -> None:
        # Without them nobody hears us: end now, while the operator that has closed them is the one that is named.
        if not all(_is_open(file, status) for file, status in pipes.items()):
            os._exit(PIPES_CLOSED)
        shared.set(name, rows)

    runner = TaskRunner(busy_with)
    answers.send(("ready", os.getpid()))
    while True:
        try:
            kind, *content = requests.recv()
        except EOFError:
            return 0
        if kind == "path":
            sys.path[:] = content[0]
            continue
        if kind == "spare":
            spare()
            continue
        do = {"files": runner.load_files, "work": runner.load_work, "task": runner.run}[kind]
        answer = do(*content)
        if answer is not None:
            answers.send(answer)


def _is_open(file: int, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.fstat(file), status)
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
