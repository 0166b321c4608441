"""Saved views and added columns: touching, opening and pickling them, and adding a column of many samples."""

import json
import os
import pickle
import subprocess
from pathlib import Path

import numpy as np
import numpy.typing as npt

import jinx
from bench import environments
from bench.views.rounds import Record, Step, alternate

TOUCHES = {"touch n": ("n", "n"), "touch messages": ("messages", "messages"), "touch an own column": ("own", "score")}
SAVE, OPEN, PICKLE = "add a float column and save", "open a saved view", "pickle a saved view"
Floats = npt.NDArray[np.float64]


def touching(place: Path, rounds: int) -> list[Record]:
    """One column of every sample of `texts.jinx`, shuffled: through a saved view and without one."""
    direct = jinx.open(place / "texts.jinx")
    order = np.random.Generator(np.random.PCG64(2)).permutation(len(direct))
    view = direct.select(order).with_columns({"own": np.arange(len(order)) / 3})
    view.save(place / "view.jinx", overwrite=True)
    saved, same = jinx.open(place / "view.jinx"), direct.select(order)

    def touch(dataset: jinx.Dataset, name: str) -> Step:
        return lambda: sum(1 for i in range(len(dataset)) if dataset[i][name] is not None)

    records: list[Record] = []
    for case, (own, base) in TOUCHES.items():
        steps = {"direct": touch(same, base), "jinx": touch(saved, own)}
        records += alternate(case, steps, count=len(order), rounds=rounds)
    return records


def write_many(path: Path, count: int) -> Path:
    """Rows of one small integer."""
    with jinx.Writer(path) as writer:
        writer.write_many({"n": i} for i in range(count))
    return path


def adding(place: Path, count: int, rounds: int) -> list[Record]:
    """A float column added to many samples, which are in `many.jinx`: saved, and written by others."""
    whole = jinx.open(place / "many.jinx")
    values = place / "values.npy"
    np.save(values, np.random.Generator(np.random.PCG64(3)).random(count))
    scores = np.load(values)
    python, failed = _lance()
    lance = place / "many.lance"
    steps: dict[str, Step] = {
        "pyarrow, Parquet": lambda: parquet(scores, place / "scored.parquet"),
        "jinx": lambda: add(whole, scores, place / "scored.jinx"),
        "Lance, added column": lambda: {"failed": failed} if python is None else _add(python, lance, values),
    }
    return alternate(SAVE, steps, count=count, rounds=rounds)


def opening(place: Path, rounds: int) -> list[Record]:
    """A shuffled view of all of `many.jinx`: opened, and pickled."""
    jinx.open(place / "many.jinx").shuffle(seed=1).save(place / "shuffled.jinx", overwrite=True)
    view = jinx.open(place / "shuffled.jinx")
    records = alternate(OPEN, {"jinx": lambda: jinx.open(place / "shuffled.jinx")}, count=1, rounds=rounds)
    size = len(pickle.dumps(view))
    step = {"jinx": lambda: {"bytes": size, "samples": len(pickle.loads(pickle.dumps(view)))}}  # noqa: S301
    return records + alternate(PICKLE, step, count=1, rounds=1)


def add(dataset: jinx.Dataset, scores: Floats, path: Path) -> None:
    """The column in a saved view."""
    dataset.with_columns({"score": scores}).save(path, overwrite=True)


def parquet(scores: Floats, path: Path) -> None:
    """The column as a Parquet file of its own, synced."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"score": scores}), path)
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def _lance() -> tuple[Path | None, str]:
    try:
        return environments.python_of("lance"), ""
    except environments.InstallError as error:
        return None, f"not installed: {error}"


def _add(python: Path, dataset: Path, values: Path) -> Record:
    """What a process in the environment of Lance measured."""
    command = [str(python), "-W", "ignore", "-m", "bench.views.lance_column", str(dataset), str(values)]
    done = subprocess.run(command, cwd=environments.ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    found: Record = json.loads(done.stdout.splitlines()[-1])
    return found
