"""A worker process that counts lengths: requests come on its standard input, results go to standard output.

Unlike processes of `multiprocessing` it does not run the caller's script again, so scripts need no `__main__` guard.
"""

import os
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from jinx.errors import JinxError

if TYPE_CHECKING:
    from jinx._annotate.lengths import Block

_START = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); from jinx._annotate.worker import serve; serve()"
)


class Worker:
    """A process that counts for one caller at a time.

    Args:
        counter: The pickled counter.
    """

    def __init__(self, counter: bytes) -> None:
        # Only the caller handles Ctrl-C; it then ends this process. The process also ends when the caller is killed.
        self._process = subprocess.Popen(  # noqa: S603 - starts our own code
            [sys.executable, "-c", _START], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
        )
        self._send(pickle.dumps(sys.path) + pickle.dumps(counter))

    def count(self, start: int, stop: int) -> "Block":
        """The lengths of the samples `start` to `stop`.

        Raises:
            InvalidError: A sample cannot be encoded.
            JinxError: The process is gone.
        """
        self._send(pickle.dumps((start, stop)))
        assert self._process.stdout is not None  # noqa: S101
        try:
            answer: Any = pickle.load(self._process.stdout)  # noqa: S301 - from our own process
        except (EOFError, pickle.UnpicklingError):
            raise _gone(f" at the samples {start} to {stop - 1}") from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None  # noqa: S101
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise _gone() from None

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        with self._process:
            pass


def _gone(where: str = "") -> JinxError:
    return JinxError(
        f"a process that counts has ended{where}: the function ended it, or the system did, perhaps because memory was "
        "short; try with fewer workers (--workers 1)"
    )


def serve() -> None:
    """Answer requests until standard input ends."""
    # Otherwise every process would start as many tokenizer threads as there are cores.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    asked, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # user functions may print
    pickled: bytes = pickle.load(asked)  # noqa: S301 - from the caller
    counter: Any = None
    while True:
        try:
            start, stop = pickle.load(asked)  # noqa: S301
        except EOFError:
            return
        try:
            # Unpickle here, so that errors can be reported, for example that the files of the dataset were replaced.
            counter = counter or pickle.loads(pickled)  # noqa: S301
            answer: Any = counter.count(start, stop)
        except Exception as error:  # noqa: BLE001 - raised again by the caller
            answer = error
        pickle.dump(answer, answers)
        answers.flush()
