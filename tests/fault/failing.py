"""Runs under the shim: writes with call N failing, for every N, and prints what went wrong as JSON.

`python -m fault.failing CASE DIRECTORY ACTION...`
"""

import json
import os
import shutil
import signal
import sys
from pathlib import Path

import jinx
from fault.rows import digest, files_in, files_of, stored
from fault.writing import CASES, Case
from jinx import _core

ACTIONS = ["", "ENOSPC", "EIO", "EDQUOT", "EINTR", "short", "kill", "always short", "often EINTR", "stays full"]
HARMLESS = {"EINTR", "short", "always short", "often EINTR"}
MOST_CALLS = 500


def arm(action: str, number: int) -> None:
    os.write(-1000 - ACTIONS.index(action), bytes(number))


def disarm() -> tuple[int, bool]:
    """The number of calls since the shim was armed, and whether the failing one was to remove something."""
    removal, calls = divmod(os.write(-1000, b""), 1 << 20)
    return calls, bool(removal)


def attempt(case: Case, path: Path, action: str, number: int) -> tuple[BaseException | None, tuple[int, bool]]:
    """One run with a failing call; the error, how many calls there were, and whether the failing one was to remove."""
    if action == "kill":
        child = os.fork()
        if child == 0:
            arm(action, number)
            case.write(path, 2)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.waitstatus_to_exitcode(status) == -signal.SIGKILL
        return KeyboardInterrupt() if killed else None, disarm()
    arm(action, number)
    try:
        case.write(path, 2)
    except Exception as error:  # noqa: BLE001 - its type is what is tested
        return error, disarm()
    return None, disarm()


def unclear(error: BaseException, path: Path, *, is_old: bool) -> list[str]:
    """What is wrong with an error."""
    text = str(error)
    wrong = []
    if not isinstance(error, OSError | jinx.JinxError) or "\n" in text or str(path.parent) not in text:
        wrong.append(f"not one clear line: {error!r}")
    if not is_old and "published" not in text:
        wrong.append(f"published, and the error does not say so: {error!r}")
    return wrong


def look(
    case: Case, path: Path, before: list | None, error: BaseException | None, action: str, *, may_leave: bool
) -> list[str]:
    """What is wrong after one run."""
    after = case.after(before, 2)
    found = stored(path)
    is_old = found == (digest(before) if before else None)
    if not is_old and found != digest(after):
        return ["neither the old nor the new dataset is there"]
    wrong = []
    if error is None and is_old:
        wrong.append("no error, but the new dataset is not there")
    if error is not None and action in HARMLESS:
        wrong.append(f"an error though nothing failed for good: {error!r}")
    if error is not None and action != "kill":
        wrong += unclear(error, path, is_old=is_old)
    # After a failed last sync nobody knows which main file a power cut would leave: the old sidecar stays.
    may_leave = may_leave or action == "kill" or "published" in str(error)
    return wrong + look_behind(path, may_leave=may_leave) + go_on(case, path, before if is_old else after)


def look_behind(path: Path, *, may_leave: bool) -> list[str]:
    """What is damaged or left, before and after cleaning."""
    wrong = []
    found = stored(path)
    if path.exists() and (problems := jinx.verify(path)):
        wrong.append(f"verify finds {problems}")
    left = files_in(path.parent) - files_of(path)
    if left and not may_leave:
        wrong.append(f"left behind: {sorted(left)}")
    _core.clean(str(path.parent))
    # An empty directory whose removal failed might be anybody's.
    left = files_in(path.parent) - files_of(path) - ({f".{path.name}.tmp"} if may_leave else set())
    if left or stored(path) != found:
        wrong.append(f"after clean: {sorted(left)}")
    return wrong


def go_on(case: Case, path: Path, before: list | None) -> list[str]:
    """What is wrong with the next writer."""
    case.write(path, 3)
    fine = stored(path) == digest(case.after(before, 3)) and files_in(path.parent) == files_of(path)
    return [] if fine else ["the next writer left something else"]


def run(name: str, directory: Path, action: str) -> dict:
    """All N of one action."""
    case, wrong = CASES[name], []
    for number in range(1, MOST_CALLS):
        path = directory / "round" / "target" / case.file
        before = case.prepare(path, 1)
        case.prepare_source(path, 2)
        case.prepare_source(path, 3)
        error, (calls, removal) = attempt(case, path, action, number)
        found = look(case, path, before, error, action, may_leave=removal and action not in HARMLESS)
        wrong += [f"{name}, {action}, call {number}: {text}" for text in found]
        shutil.rmtree(directory / "round")
        if calls < number or action.startswith(("always", "often")):
            return {"calls": calls, "wrong": wrong}
    return {"calls": MOST_CALLS, "wrong": [*wrong, "this never came to an end"]}


if __name__ == "__main__":
    results = {action: run(sys.argv[1], Path(sys.argv[2]), action) for action in sys.argv[3:]}
    print(json.dumps(results))
