"""A worker of the local engine: `python -m jinx_pipeline.worker REQUESTS ANSWERS LIFELINE`, inherited pipes.

It is started clean, so that scripts need no `__main__` guard and notebooks work. Operators arrive as cloudpickle.
"""

import os
import sys
import threading
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any


def main(arguments: list[str]) -> int:
    """Answer requests until the driver closes the pipe."""
    requests = Connection(int(arguments[0]), writable=False)
    answers = Connection(int(arguments[1]), readable=False)
    lifeline = int(arguments[2])
    # What operators print belongs to the log, not into the pipe or the driver's standard output.
    os.dup2(2, 1)
    threading.Thread(target=_die_with_the_driver, args=(lifeline,), daemon=True).start()
    return _Worker(requests, answers).serve()


def _die_with_the_driver(lifeline: int) -> None:
    """The other end of this pipe is closed when the driver dies, however it dies."""
    os.read(lifeline, 1)
    os._exit(3)


class _Worker:
    def __init__(self, requests: Connection, answers: Connection) -> None:
        self._requests = requests
        self._answers = answers
        self._stages: dict[str, Any] = {}
        self._sources: Any = None
        self._path: list[str] = []

    def serve(self) -> int:
        from jinx_pipeline.plan.source import SourceCache

        self._sources = SourceCache()
        self._answers.send(("ready", os.getpid()))
        while True:
            try:
                message = self._requests.recv()
            except EOFError:
                return 0
            if message[0] == "path":
                sys.path[:] = message[1]
            elif message[0] == "task":
                self._answers.send(self._run(*message[1:]))
            else:
                try:
                    self._prepare(*message)
                except Exception as error:  # noqa: BLE001 - it is reported
                    self._answers.send(("fatal", -1, f"{type(error).__name__}: {error}", traceback.format_exc()))

    def _prepare(self, kind: str, *content: Any) -> None:
        import cloudpickle

        from jinx_pipeline.operators.registry import load_file

        if kind == "files":
            for path in content[0]:
                load_file(path)
        else:
            self._stages[content[0]] = cloudpickle.loads(content[1])  # made by the driver that started us

    def _run(self, key: str, source: Any, task: Any, attempt: int, path: str) -> tuple[Any, ...]:
        from jinx_pipeline.engines.chain import ThrottledError, concerns_all_rows
        from jinx_pipeline.engines.run_task import run_task
        from jinx_pipeline.operators.context import Context

        stage = self._stages[key]
        device = "cuda:0" if os.environ.get("CUDA_VISIBLE_DEVICES") else "cpu"
        ctx = Context(seed=stage.seed, device=device, threads=stage.threads, media_dir=stage.media_dir)
        try:
            return "receipt", attempt, run_task(stage, self._sources.get(source), task, Path(path), ctx)
        except ThrottledError as error:
            return "throttled", attempt, error.seconds
        except MemoryError:
            return "memory", attempt
        except Exception as error:  # noqa: BLE001 - the driver decides what a failure means
            what = f"{type(error).__name__}: {error}"
            return "fatal" if concerns_all_rows(error) else "failed", attempt, what, traceback.format_exc()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
