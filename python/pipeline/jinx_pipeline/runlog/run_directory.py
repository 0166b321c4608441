"""The directory of one run: its log, its parts, and the decisions of its global operators.

log.jsonl       the run log
recipe.json     the recipe, for resume and replay
parts/          output of tasks: <node>-b<block>-<first row>.<attempt>-<driver>
decisions/      row orders of the plan and of global operators; the combined facts of the footers of the inputs
"""

import re
from pathlib import Path

from jinx_pipeline.runlog.run_log import START_OVER, LostEpochError, RunLogError
from jinx_pipeline.schedule.task import Task
from jinx_pipeline.store.mirror import shown
from jinx_pipeline.store.mirror_store import store_at
from jinx_pipeline.store.store import Log, Store
from jinx_pipeline.store.sync import sync_folder

RUNS, CURRENT = "runs", "CURRENT"
_LOG, _PARTS, _DECISIONS = "log.jsonl", "parts", "decisions"
# A file that earlier versions kept directly in the working directory.
OLD_LAYOUT = "plan.json"
_ID = re.compile(r"[0-9a-f]{16}")
# In messages: the maximum number of characters of a damaged file, and of listed run ids.
_SHOWN, _LISTED = 20, 5


def is_run_id(name: str) -> bool:
    """Whether a name is the id of a run; nothing else in `runs/` is ours."""
    return _ID.fullmatch(name) is not None


class RunDirectory:
    """The directory of one run, inside `runs/` of the working directory.

    Args:
        work_dir: The working directory.
        run: The id of the run.
        driver: A token of this process.

    Attributes:
        work_dir: The working directory.
        run: The id of the run.
        driver: A token of this process.
        path: The directory.
        store: The files in it, except for the output of tasks.
    """

    def __init__(self, work_dir: Path, run: str, driver: str) -> None:
        self.work_dir = work_dir
        self.run = run
        self.driver = driver
        self.path = work_dir / RUNS / run
        self.store: Store = store_at(self.path)

    @property
    def parts(self) -> Path:
        """The directory for the output of tasks."""
        return self.path / _PARTS

    @property
    def decisions(self) -> Path:
        """The directory for decisions of the plan and of global operators."""
        return self.path / _DECISIONS

    @property
    def log(self) -> Log:
        """The run log."""
        return self.store.log(_LOG)

    @property
    def recipe_path(self) -> Path:
        """The path of the recipe, for resuming and replaying."""
        return self.path / "recipe.json"

    def part_path(self, task: Task, attempt: int, suffix: str) -> Path:
        """The path for the rows of an attempt at a task; attempts never share a path, even if two drivers make them."""
        # Workers of a killed driver may still write for a while, with attempt numbers that this driver also uses.
        return self.parts / f"{task.node}-b{task.block:06}-{task.first:09}.{attempt}-{self.driver}{suffix}"

    def part_names(self) -> list[str]:
        """The names of the outputs of tasks, committed or not."""
        return self.store.list(_PARTS)

    def make(self) -> None:
        """Make the directory, empty."""
        for folder in (self.parts, self.decisions):
            folder.mkdir(parents=True, exist_ok=True)

    def remove(self) -> None:
        """Remove the directory; the log, which names the outputs, is removed last."""
        for name in (_PARTS, _DECISIONS, ""):
            self.store.delete(name)

    def sync(self) -> None:
        """Wait until the directory, its decisions and its name are on disk."""
        for folder in (self.decisions, self.path, self.path.parent, self.work_dir):
            sync_folder(folder)

    def refuse_other_run(self) -> None:
        """Refuse to continue if the working directory has another run now.

        Raises:
            LostEpochError: The working directory has another run.
        """
        if named_run(self.work_dir) != self.run:
            raise LostEpochError(f"{shown(self.work_dir)}: another process has started over; leave it to that one")


def named_run(work_dir: Path) -> str | None:
    """The run id stored in the working directory, which may be damaged; None if there is no run.

    Raises:
        ValueError: An earlier version made the directory.
    """
    if (work_dir / OLD_LAYOUT).exists():
        raise ValueError(
            f"{work_dir} was made by an earlier version of jinx-pipeline, which kept {OLD_LAYOUT} there; finish that "
            "run with it, or remove the directory to start over"
        )
    try:
        return store_at(work_dir).get(CURRENT).decode("ascii", "replace").strip()
    except FileNotFoundError:
        return None


def current_run(work_dir: Path) -> str | None:
    """The id of the run of a working directory; None if there is no run.

    Raises:
        ValueError: An earlier version made the directory.
        RunLogError: The file with the id is damaged.
    """
    run = named_run(work_dir)
    if run is not None and not is_run_id(run):
        held = f"it begins with {run[:_SHOWN]!r}" if run else "it is empty"
        raise RunLogError(
            f"{shown(work_dir / CURRENT)} is damaged: {held} instead of the id of a run; {_remedy(work_dir, run)}"
        )
    return run


def current_directory(work_dir: Path, driver: str = "") -> RunDirectory | None:
    """The directory of the run of a working directory; None if there is no run.

    Raises:
        ValueError: An earlier version made the working directory.
        RunLogError: The run is gone, or the file with its id is damaged.
    """
    run = current_run(work_dir)
    if run is None:
        return None
    directory = RunDirectory(work_dir, run, driver)
    if _LOG not in directory.store.list():
        others = _remedy(work_dir, run) if _runs(work_dir, run) else f"restore it, or {START_OVER}"
        raise RunLogError(f"{directory.log.name} is gone; {others}")
    return directory


def _runs(work_dir: Path, run: str) -> list[str]:
    """The ids of the other runs of a working directory."""
    return sorted(name for name in store_at(work_dir).list(RUNS) if name != run and is_run_id(name))


def _remedy(work_dir: Path, run: str) -> str:
    runs = _runs(work_dir, run)
    if not runs:
        return f"there is no run in {RUNS}/: {START_OVER}"
    listed = ", ".join(runs[:_LISTED]) + (f" and {len(runs) - _LISTED} more" if len(runs) > _LISTED else "")
    which = f"the run there is {listed}" if len(runs) == 1 else f"the runs there are {listed}"
    return f"restore it ({which}: write the id of yours into {CURRENT}), or {START_OVER}"
