"""Commands on datasets at URLs while the store fails: right bytes or one error, and the old dataset or the new one."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import bucket
import jinx
import samples
from fault.answers import Answer, another_range, damaged, status, truncated, whole_object
from jinx._cli.program import run

OLD, NEW = 7, 20
SAVE = "import sys, jinx; jinx.open(sys.argv[1]).save(sys.argv[2], overwrite=True)"


@dataclass
class Places:
    """Where things are: `new` in the bucket and on this machine, over which `old` ones lie that are replaced."""

    store: bucket.Bucket
    local: Path

    def url(self, name: str) -> str:
        return self.store.url(name)

    def fill(self) -> None:
        """Make everything as it was."""
        for directory in (self.store.directory, self.local):
            for path in directory.iterdir():
                path.unlink()
            for name, count in (("new", NEW), ("old", OLD)):
                samples.write(directory / f"{name}.jinx", count)
        jinx.open(self.url("new.jinx"))[:OLD].save(self.url("view.jinx"))
        (self.store.directory / "lost.binx").write_bytes(b"values that no dataset needs")


def _save(places: Places) -> int:
    try:
        jinx.open(places.url("new.jinx")).save(places.url("view.jinx"), overwrite=True)
    except (OSError, jinx.JinxError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


@dataclass(frozen=True)
class Command:
    """A command, the dataset that it changes and the one that it reads; with `words` it is run as a program."""

    words: Callable[[Places], list[str]]
    target: str = "old.jinx"
    source: str = "new.jinx"
    removes: str = ""
    is_local: bool = False

    def run(self, places: Places) -> int:
        words = self.words(places)
        return _save(places) if words[0] == "save" else run(words)

    def program(self, places: Places) -> list[str]:
        words = self.words(places)
        return (
            [sys.executable, "-c", SAVE, *words[1:]] if words[0] == "save" else [sys.executable, "-m", "jinx", *words]
        )


COMMANDS = {
    "cp to": Command(lambda at: ["cp", "--overwrite", str(at.local / "new.jinx"), at.url("old.jinx")]),
    "cp between": Command(lambda at: ["cp", "--overwrite", at.url("new.jinx"), at.url("old.jinx")]),
    "cp from": Command(lambda at: ["cp", "--overwrite", at.url("new.jinx"), str(at.local / "old.jinx")], is_local=True),
    "cp a view": Command(lambda at: ["cp", "--overwrite", at.url("view.jinx"), at.url("old.jinx")], source="view.jinx"),
    "mv between": Command(lambda at: ["mv", "--overwrite", at.url("new.jinx"), at.url("old.jinx")], removes="new.jinx"),
    "rm": Command(lambda at: ["rm", at.url("old.jinx")], removes="old.jinx"),
    "clean": Command(lambda at: ["clean", at.url(""), "--older-than", "0"], target=""),
    "verify": Command(lambda at: ["verify", at.url("new.jinx")], target=""),
    "save": Command(lambda at: ["save", at.url("new.jinx"), at.url("view.jinx")], target="view.jinx"),
}
CHANGING = [name for name in COMMANDS if name not in {"verify", "cp from"}]


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Places]:
    for name in ("bucket", "local"):
        (tmp_path / name).mkdir()
    with bucket.served(tmp_path / "bucket") as store:
        for name, value in {**store.environment, "JINX_CACHE": "off"}.items():
            monkeypatch.setenv(name, value)
        places = Places(store, tmp_path / "local")
        places.fill()
        store.forget()
        yield places


def shown(place: str | Path) -> int | None:
    """The number of samples of a whole dataset with the right values, or None if there is none."""
    try:
        dataset = jinx.open(place)
    except FileNotFoundError:
        return None
    found = samples.plain(list(dataset))
    assert found == samples.plain([samples.sample(i) for i in range(len(found))])
    return len(found)


def check(places: Places, command: Command, code: int) -> None:
    """What is there after a command, whatever became of it."""
    in_bucket = {name: shown(places.url(name)) for name in ("new.jinx", "old.jinx")}
    if command.removes:
        # It is removed as a whole, and not before the other place has it.
        assert in_bucket["new.jinx"] in {NEW, None}
        assert in_bucket["new.jinx"] == NEW or in_bucket["old.jinx"] == NEW
        if code == 0:
            assert in_bucket[command.removes] is None
    else:
        assert in_bucket["new.jinx"] == NEW
    if command.removes == "old.jinx":
        assert in_bucket["old.jinx"] in {OLD, None}
    elif command.target:
        place = places.local / command.target if command.is_local else places.url(command.target)
        after = OLD if command.source == "view.jinx" else NEW
        assert shown(place) in ({after} if code == 0 else {OLD, after})
    if command.removes != "new.jinx" and command.target != "view.jinx":
        assert shown(places.url("view.jinx")) == OLD
    if command.words(places)[0] == "clean" and code == 0:
        assert not (places.store.directory / "lost.binx").exists()


def one_error(text: str) -> None:
    """One line that names what failed, and no secret."""
    assert text.strip()
    assert text.strip().count("\n") == 0
    for hidden in (bucket.SECRET, "Signature=", "Traceback"):
        assert hidden not in text


def first_of_each(fault: Answer, methods: str = "GET") -> Answer:
    """The fault for the first of all requests for the same thing, so that the second one succeeds."""
    seen: set[tuple[object, ...]] = set()

    def answer(handler: bucket.Handler, request: bucket.Request) -> bool:
        key = (request.method, handler.path, handler.headers.get("Range"))
        if (
            request.method not in methods.split()
            or key in seen
            or (methods == "GET" and not handler.headers.get("Range"))
        ):
            return False
        seen.add(key)
        return fault(handler, request)

    return answer


@pytest.mark.parametrize("code", [429, 500, 503])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_store_that_is_busy_at_first(places, name, code):
    """Each request fails once."""
    command = COMMANDS[name]
    places.store.faults.append(first_of_each(status(code, "SlowDown"), "GET PUT POST DELETE HEAD"))
    ended = command.run(places)
    failed = sum(request.status == code for request in places.store.requests)
    places.store.faults.clear()
    assert ended == 0
    assert failed >= 2
    check(places, command, ended)


@pytest.mark.parametrize("fault", [truncated, damaged], ids=["truncated", "damaged"])
@pytest.mark.parametrize("name", ["cp between", "cp from", "verify", "save"])
def test_answers_that_arrive_broken_at_first(places, name, fault, capsys):
    """Right bytes, or one error: the first answers, with the ends of files, are not asked for again."""
    command = COMMANDS[name]
    places.store.faults.append(first_of_each(fault))
    ended = command.run(places)
    broken = len(places.store.requests)
    places.store.faults.clear()
    said = capsys.readouterr()
    assert broken >= 1
    if ended:
        one_error(said.err or said.out)
    check(places, command, ended)
    places.fill()
    assert command.run(places) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_request_that_stalls(places, name):
    """No byte for longer than the limit of five seconds, once."""
    command, left = COMMANDS[name], [1]

    def stall(handler: bucket.Handler, request: bucket.Request) -> bool:
        if not left[0] or request.method == "HEAD":
            return False
        left[0] = 0
        time.sleep(6)
        handler.close_connection = True
        return True

    places.store.faults.append(stall)
    began = time.monotonic()
    ended = command.run(places)
    assert time.monotonic() - began < 60
    places.store.faults.clear()
    assert left == [0]
    check(places, command, ended)


@pytest.mark.parametrize("name", COMMANDS)
def test_credentials_that_are_revoked_at_each_request(places, name, capsys):
    command = COMMANDS[name]
    for step in range(1, 100):
        left = [step]

        def refuse(handler: bucket.Handler, request: bucket.Request, left: list[int] = left) -> bool:
            left[0] -= 1
            if left[0] >= 0:
                return False
            handler.refuse(request, 403, "AccessDenied")
            return True

        places.store.faults[:] = [refuse]
        capsys.readouterr()
        ended = command.run(places)
        places.store.faults.clear()
        error = capsys.readouterr().err
        check(places, command, ended)
        if ended == 0:
            break
        one_error(error)
        places.fill()
    assert ended == 0
    assert step > 1


WRONG: dict[str, Answer] = {"another range": another_range, "whole object": whole_object}


@pytest.mark.parametrize("fault", WRONG)
@pytest.mark.parametrize("name", ["cp between", "cp from", "mv between", "verify", "save"])
def test_answers_that_are_wrong_are_one_error(places, name, fault, capsys):
    command = COMMANDS[name]

    def wrong(handler: bucket.Handler, request: bucket.Request) -> bool:
        is_range = request.method == "GET" and request.key.startswith("new.") and handler.headers.get("Range")
        return bool(is_range) and WRONG[fault](handler, request)

    places.store.faults.append(wrong)
    ended = command.run(places)
    places.store.faults.clear()
    said = capsys.readouterr()
    assert ended == 1
    one_error(said.err or said.out)
    check(places, command, ended)


@pytest.mark.parametrize("name", ["cp between", "cp from", "mv between", "verify"])
def test_a_dataset_that_is_replaced_while_it_is_read(places, name, capsys):
    """Its tag is another one from the third request on: never a mix, and nothing is removed."""
    command, left = COMMANDS[name], [3]

    def replace(handler: bucket.Handler, request: bucket.Request) -> bool:
        if request.key.startswith("new.") and request.method == "GET":
            left[0] -= 1
        if left[0] == 0:
            for file in ("new.jinx", "new.binx"):
                places.store.tags[file] = '"another"'
        return False

    places.store.faults.append(replace)
    ended = command.run(places)
    places.store.faults.clear()
    assert left[0] <= 0
    if ended:
        said = capsys.readouterr()
        one_error(said.err or said.out)
    assert (places.store.directory / "new.jinx").exists() or shown(places.url("old.jinx")) == NEW
    check(places, command, ended)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", CHANGING)
def test_killed_at_each_request_that_changes_something(places, name):
    """Afterwards the same command succeeds."""
    command = COMMANDS[name]
    for step in range(1, 100):
        left, program = [step], list[subprocess.Popen[bytes]]()

        def kill(
            handler: bucket.Handler,
            request: bucket.Request,
            left: list[int] = left,
            program: list[subprocess.Popen[bytes]] = program,
        ) -> bool:
            left[0] -= request.method in {"PUT", "POST", "DELETE"}
            if left[0] == 0:
                left[0] = -1
                if len(request.key) % 2:  # before it is done
                    handler.close_connection = True
                    program[0].send_signal(signal.SIGKILL)
                    return True
                threading.Timer(0.02, program[0].send_signal, [signal.SIGKILL]).start()
            return False

        places.store.faults[:] = [kill]
        program.append(subprocess.Popen(command.program(places), stdout=subprocess.DEVNULL, env={**os.environ}))
        ended = program[0].wait(120)
        places.store.faults.clear()
        check(places, command, ended)
        if left[0] > 0:
            assert ended == 0
            break
        if command.removes and shown(places.url(command.removes)) is None:  # it had done its work
            places.fill()
        assert command.run(places) == 0
        check(places, command, 0)
        places.fill()
    assert step > 1
