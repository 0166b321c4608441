"""A child process that runs an adapter in another environment, and answers batches."""

import json
import subprocess
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import IO, Any, Final
from weakref import finalize

import pyarrow as pa

from jinx_pipeline.external import adapter
from jinx_pipeline.external.environment import installed, python_of
from jinx_pipeline.external.errors import AdapterError, ExternalError

_END_SECONDS: Final = 5.0


class Adapter:
    """An adapter, whose process starts when it is first asked, and again after it has died.

    Args:
        file: The Python file.
        function: The function in it that loads the adapter.
        facts: What the function is given: `options` and `device`.
        schema: The columns of its answers.
        env: Its environment, if it is not made from requirements.
        requirements: The packages of its environment.
    """

    def __init__(
        self,
        file: Path,
        function: str,
        *,
        facts: dict[str, Any],
        schema: pa.Schema,
        env: str | None,
        requirements: list[str],
    ) -> None:
        self._command = [str(file), function]
        self._facts = json.dumps({**facts, "schema": schema.serialize().to_pybytes().hex()}).encode()
        self._env, self._requirements = env, requirements
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = Lock()

    def start(self) -> None:
        """Start the process and load the adapter, unless it runs.

        Raises:
            ExternalError: It cannot be loaded.
        """
        with self._lock:
            self._process = self._process or self._started()

    def __call__(self, batch: pa.Table) -> pa.Table:
        """The answer to a batch.

        Raises:
            AdapterError: The adapter failed, or died.
            ExternalError: It cannot be loaded.
        """
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_table(batch)
        with self._lock:
            kind, content = self._asked(adapter.BATCH, sink.getvalue())
        if kind == adapter.ROW_ERROR:
            raise AdapterError(content.decode("utf-8", "replace"))
        return pa.ipc.open_stream(content).read_all()

    def _asked(self, kind: bytes, content: Any) -> tuple[bytes, bytes]:
        process = self._process = self._process or self._started()
        requests, answers = _pipes(process)
        try:
            adapter.write(requests, kind, content)
        except OSError:
            answer = b"", b""
        else:
            answer = adapter.read(answers)
        if not answer[0]:
            self._process = None
            raise AdapterError(f"the process of the adapter ended with {_ended(process)}")
        return answer

    def _started(self) -> "subprocess.Popen[bytes]":
        python = installed(self._requirements) if self._env is None else python_of(self._env)
        command = [str(python), "-u", adapter.__file__, *self._command]
        try:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - from the recipe
        except OSError as error:
            raise ExternalError(f"{python} cannot be run: {error}") from error
        finalize(self, _ended, process)
        requests, answers = _pipes(process)
        with suppress(OSError):
            adapter.write(requests, adapter.LOAD, self._facts)
        kind, content = adapter.read(answers)
        if kind != adapter.READY:
            problem = content.decode("utf-8", "replace") if kind else f"its process ended with {_ended(process)}"
            raise ExternalError(f"{self._command[0]} cannot be loaded in {python.parent.parent}: {problem}")
        return process


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None:
        raise ExternalError("the process of the adapter has no pipes")
    return process.stdin, process.stdout


def _ended(process: "subprocess.Popen[bytes]") -> int:
    """End a process; returns its code."""
    for pipe in _pipes(process):
        with suppress(OSError):
            pipe.close()
    try:
        return process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
