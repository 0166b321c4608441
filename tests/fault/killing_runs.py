"""Runs under the shim: whole pipeline runs, killed at call N, and the same command after each; prints what went wrong.

`python -m fault.killing_runs SITUATION OUTPUT DIRECTORY EVERY FIRST [ADDRESS]`: every EVERY-th call from FIRST on.

Workers are in the process of the driver, so that a kill is that of the machine's, and a run takes milliseconds. With
the address of a Ray cluster, they are there: only the driver is killed, and what its workers do at that moment goes on
until Ray ends them.
"""

import json
import os
import shutil
import signal
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import cloudpickle

import jinx
import jinx_pipeline as jp
from fault.failing import arm, disarm
from jinx_pipeline import SourceSpec, run
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.engines.worker_backend import Event, Ready, Request, event_of
from jinx_pipeline.recipe.model import Export, Options, Output, Recipe, Step, StepPort
from jinx_pipeline.recipe.output_kind import kind_of
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.worker.task_runner import TaskRunner

OUTPUTS = {"out.jinx": None, "out": None, "v.jinx": "view", "out.jsonl": None, "out.parquet": None}
ROWS, MORE_ROWS = 6, 10
MOST_CALLS = 5000


class Workers:
    """One worker, which does a task when it is listened to."""

    may_lack_room = False

    def __init__(self) -> None:
        self._runner = TaskRunner()
        self._events: list[Event] = []
        self._requests: list[Request] = []

    def start(self, pool: str) -> str:
        self._events.append(Ready("w"))
        return "w"

    def load_work(self, key: str, work: Any) -> None:
        self._runner.load_work(key, cloudpickle.dumps(work))

    def submit(self, worker: str, request: Request) -> None:
        self._requests.append(request)

    def takes_ahead(self, worker: str) -> bool:
        return False

    def stop(self, worker: str, attempt: int) -> None:
        raise AssertionError("there is nothing to be stopped for")

    def events(self, timeout: float) -> list[Event]:
        found, self._events = self._events, []
        if not found and self._requests:
            one = self._requests.pop(0)
            found = [event_of("w", self._runner.run(one.work, one.source, one.task, one.attempt, one.path))]
        if not found:
            time.sleep(timeout)
        return found

    def kill(self, worker: str) -> None:
        raise AssertionError("there is nothing to be killed for")

    def close(self) -> None:
        pass


class Engine:
    def counts(self) -> dict[str, int]:
        return {"cpu": 1}

    def memory(self) -> dict[str, int]:
        return {}

    def lacks(self, needs: Any) -> None:
        del needs

    def fitted(self, *_: Any) -> "Engine":
        return self

    def workers(self, *_: Any) -> Workers:
        return Workers()


@contextmanager
def opened(_: Any):
    yield Engine()


def lines(path: Path, first: int, last: int) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps({"n": n, "text": f"text number {n}"}) + "\n" for n in range(first, last))


@dataclass
class Place:
    """A directory with an input and an output.

    Attributes:
        folder: The directory.
        name: Of the output.
        address: Of the Ray cluster with the workers; None: they are in this process.
    """

    folder: Path
    name: str
    address: str | None = None

    def export(self, text: str = "B", *, refused: bool = False, **more: Any) -> None:
        """A run of a recipe that depends on `text`; a refused one asks for what the input does not have."""
        data = self.folder / "in.jsonl"
        source = SourceSpec(str(data), max_samples=3) if refused else data
        first = jp.ops.ImageShapeFilter(min_width=1) if refused else jp.ops.TextLengthFilter(min_len=1)
        change = jp.create("replace_content_mapper", pattern="text", repl=text)
        engine = "local" if self.address is None else jp.Ray(self.address)
        more = {"engine": engine, "workers": 1, "block_rows": 2, "kind": OUTPUTS[self.name], **more}
        if self.name == "out":
            more["shard_size"] = 500
        Dataset.load(source).process([first, change]).export(self.folder / self.name, **more)

    def branched(self) -> None:
        """A run of a recipe whose branches come together in one node."""
        change = jp.create("replace_content_mapper", pattern="text", repl="B")
        least, most = (jp.ops.TextLengthFilter(**bound) for bound in ({"min_len": 1}, {"min_len": 0, "max_len": 99}))
        steps = [Step(change), *(Step(length, inputs=(StepPort(0),)) for length in (least, most))]
        size = "500B" if self.name == "out" else None
        export = Export(str(self.folder / self.name), OUTPUTS[self.name] or kind_of(self.name), shard_size=size)
        options = Options(workers=1, block_rows=2)
        sources, outputs = (SourceSpec(str(self.folder / "in.jsonl")),), (Output((StepPort(1), StepPort(2))),)
        jp.Run(Recipe(sources, Roles(), tuple(steps), export, options=options, outputs=outputs))()

    def lines(self, first: int, last: int) -> None:
        lines(self.folder / "in.jsonl", first, last)

    def rows(self) -> dict[str, str]:
        """The rows of the output."""
        out = self.folder / self.name
        found = jinx.stream(out) if out.suffix in {".jsonl", ".parquet"} else jinx.open(out)
        return {self.name: str([dict(one) for one in found])}

    def state(self) -> dict[str, str]:
        """What lies in the directory: names, and of the output the bytes."""
        found: dict[str, str] = {}
        for path in sorted(self.folder.rglob("*")):
            name = str(path.relative_to(self.folder))
            if not name.startswith(f"{self.name}.work/"):
                found[name] = sha256(path.read_bytes()).hexdigest() if path.is_file() and name != "in.jsonl" else ""
        if self.name == "v.jinx" and self.name in found:
            # Its file names the place of the converted input, which depends on the time of the input.
            shown = jinx.open(self.folder / self.name)
            found[self.name] = f"{shown.info().ids} {[dict(one) for one in shown]}"
        return found


def refuse(place: Place) -> None:
    try:
        place.export(refused=True)
    except jp.RecipeError:
        return
    raise AssertionError("it was not refused")


def killed_half_way(place: Place) -> None:
    """What a run leaves that is killed at about its middle."""
    arm("", 0)
    calm = replace(place, folder=place.folder / "calm")
    total = calls_of(calm.export, calm.folder, place)
    in_child(lambda: (arm("kill", total // 2), place.export()))
    disarm()


def calls_of(work: Callable[[], None], folder: Path, place: Place) -> int:
    folder.mkdir()
    shutil.copy(place.folder / "in.jsonl", folder)
    in_child(lambda: (arm("kill", MOST_CALLS), work()))
    calls = disarm()[0]
    shutil.rmtree(folder)
    return calls


@dataclass(frozen=True)
class Situation:
    """What is there before a run that is killed, the run, and the command after it.

    Attributes:
        before: Makes what is there.
        killed: The run that is killed.
        after: The command that ends with the output.
        compares_rows: Whether the rows of the output are compared, and not its bytes: how they are divided into
            shards and groups depends on what was published before the input grew.
    """

    before: Callable[[Place], None]
    killed: Callable[[Place], None]
    after: Callable[[Place], None]
    compares_rows: bool = False


def again(place: Place) -> None:
    place.export()


def branched(place: Place) -> None:
    place.branched()


def over(place: Place) -> None:
    place.export(restart=True, overwrite=True)


SITUATIONS = {
    "first": Situation(lambda place: place.lines(0, ROWS), again, again),
    "branched": Situation(lambda place: place.lines(0, ROWS), branched, branched),
    "resumed": Situation(lambda place: (place.lines(0, ROWS), killed_half_way(place)), again, again),
    "restarted": Situation(lambda place: (place.lines(0, ROWS), place.export("A")), over, over),
    "refused": Situation(lambda place: place.lines(0, ROWS), refuse, again),
    "corrected": Situation(lambda place: (place.lines(0, ROWS), refuse(place)), again, again),
    "grown": Situation(
        lambda place: (place.lines(0, ROWS), place.export(), place.lines(ROWS, MORE_ROWS)), again, again
    ),
    "growing": Situation(
        lambda place: place.lines(0, ROWS), again, lambda place: (place.lines(ROWS, MORE_ROWS), place.export()), True
    ),
}


def in_child(work: Callable[[], Any]) -> tuple[int, str]:
    """Do some work in a process of its own; its exit code (negative: a signal), and what it raised."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException as error:  # noqa: BLE001 - it is told
            os.write(writer, f"{type(error).__name__}: {error}".encode()[:2000])
        finally:
            os._exit(code)
    os.close(writer)
    said = b""
    while part := os.read(reader, 4096):
        said += part
    os.close(reader)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said.decode()


def trial(situation: Situation, place: Place, number: int) -> tuple[bool, list[str], dict[str, str]]:
    """One run that is killed at a call, if it has so many; what went wrong, and what the directory holds then."""
    shutil.rmtree(place.folder, ignore_errors=True)
    place.folder.mkdir()
    code, said = in_child(lambda: situation.before(place))
    if code:
        return False, [f"before: {said}"], {}
    code, said = in_child(lambda: (arm("kill", number), situation.killed(place)))
    disarm()
    wrong = [f"not killed, but: {said}"] if code not in {0, -signal.SIGKILL} else []
    after, said = in_child(lambda: situation.after(place))
    if after:
        wrong.append(f"the same command: {said}")
    return code == -signal.SIGKILL, wrong, place.rows() if situation.compares_rows else place.state()


def main() -> None:
    name, output, folder, every, first, *address = sys.argv[1:]
    place = Place(Path(folder) / "under-test", output, *address)
    if place.address is None:
        run.opened_engine = opened
    else:
        import ray  # noqa: F401 - once, and not in each child

    warnings.simplefilter("ignore")
    situation = SITUATIONS[name]
    _, wrong, calm = trial(situation, place, MOST_CALLS)
    found = {"calm": wrong} if wrong else {}
    number, tried = int(first), 0
    while not wrong:
        is_killed, said, state = trial(situation, place, number)
        if state != calm:
            differ = sorted(one for one in state.keys() | calm.keys() if state.get(one) != calm.get(one))
            said.append(f"other than without a kill: {differ}")
        if said:
            found[str(number)] = said
        if not is_killed:
            break
        tried += 1
        number += int(every)
    print(json.dumps({"tried": tried, "calls": number, "wrong": found}))


if __name__ == "__main__":
    main()
