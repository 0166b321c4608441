"""Trials: a model trained and evaluated with the user's commands. Results are kept, so that none is done twice."""

import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import IO, Any, Final

from jinx_pipeline.sandbox.spec import Spec

_SHOWN: Final = 300


@dataclass(frozen=True)
class TrialResult:
    """The result of a trial.

    Attributes:
        digest: A digest of what it depends on.
        score: The score.
        seconds: How long training and evaluation took.
    """

    digest: str
    score: float
    seconds: float


class TrialError(RuntimeError):
    """Raised when a command of the user fails."""


class Trials:
    """The trials of a comparison, in a directory.

    Args:
        spec: What is compared.
        directory: The directory.
    """

    def __init__(self, spec: Spec, directory: Path) -> None:
        self._spec, self._directory = spec, directory
        directory.mkdir(parents=True, exist_ok=True)
        self._path = directory / "trials.jsonl"
        self._scripts = [_content(word) for word in (*spec.train, *spec.evaluate)]
        self._known: dict[str, TrialResult] = {}
        with suppress(FileNotFoundError):
            for line in self._path.read_bytes().split(b"\n")[:-1]:  # the last line may be incomplete
                result = TrialResult(**json.loads(line))
                self._known[result.digest] = result

    def run(self, data: Path, identity: str, budget: int, seed: int) -> TrialResult:
        """The result of a trial; a trial whose result is known does not run again.

        Args:
            data: The dataset to train on.
            identity: What the dataset is.
            budget: How many samples the model sees.
            seed: The seed.

        Raises:
            TrialError: A command failed, or printed no score.
        """
        facts = [identity, budget, seed, self._spec.train, self._spec.evaluate, self._scripts]
        digest = sha256(json.dumps(facts).encode()).hexdigest()[:32]
        if digest not in self._known:
            result = self._done(digest, data, budget, seed)
            with self._path.open("ab") as file:
                file.write(json.dumps(asdict(result)).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            self._known[digest] = result
        return self._known[digest]

    def _done(self, digest: str, data: Path, budget: int, seed: int) -> TrialResult:
        folder = self._directory / digest
        shutil.rmtree(folder, ignore_errors=True)  # left by an interrupted trial
        out = folder / "out"
        out.mkdir(parents=True)
        values = {"data": str(data), "samples": budget, "seed": seed, "out": str(out)}
        started = time.monotonic()
        with (folder / "log.txt").open("w+b") as log:
            self._call(self._spec.train, values, log)
            output = self._call(self._spec.evaluate, values, log)
        return TrialResult(digest, score_of(output), round(time.monotonic() - started, 3))

    def _call(self, command: tuple[str, ...], values: dict[str, Any], log: IO[bytes]) -> str:
        words = [word.format(**values) for word in command]
        with subprocess.Popen(  # noqa: S603 - it is the user's own command
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, start_new_session=True
        ) as process:
            try:
                output = process.communicate(timeout=self._spec.seconds)[0]
            except subprocess.TimeoutExpired:
                raise TrialError(f"{words[0]} took longer than {self._spec.seconds:g} s; see {log.name}") from None
            finally:
                # Also kill the processes that the command has started.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        log.write(output)
        log.flush()
        if process.returncode != 0:
            raise TrialError(f"{' '.join(words)} ended with {process.returncode}; see {log.name}")
        return output.decode(errors="replace")


def _content(word: str) -> str | None:
    """A digest of the file that a word in a command refers to, such as a script; None if there is none."""
    path = Path(word)
    return sha256(path.read_bytes()).hexdigest() if path.suffix and path.is_file() else None


def score_of(output: str) -> float:
    """The score in the last line of an output: a number, or JSON with `score`.

    Raises:
        TrialError: There is none.
    """
    line = next((line for line in reversed(output.splitlines()) if line.strip()), "")
    try:
        value = json.loads(line)
        score = float(value["score"] if isinstance(value, dict) else value)
    except (ValueError, TypeError, KeyError):
        score = float("nan")
    if not isfinite(score):
        raise TrialError(f"eval prints a number, or JSON with score, in its last line; it printed {line[:_SHOWN]!r}")
    return score
