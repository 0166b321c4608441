"""The CPU time of a recipe on Ray and on the local engine: `python -m bench.ray.cpu ENGINE DATA OUT` is one run."""

import ctypes
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import Any

from bench import environments
from bench.pipeline.program import children_of, used_cpu
from bench.pipeline.text import RECIPE, source

# So many that the start of Ray, which differs by seconds from run to run, is small next to them.
DOCUMENTS = 240_000
ACTORS = 4
# A machine that becomes slower or faster meanwhile does so for both engines.
_ORDER = ("start", "local", "ray", "ray", "local", "start")
_STORE = 100_000_000
_LOOK_SECONDS = 0.05
_END_SECONDS = 20.0
# Of <linux/prctl.h>: processes whose parent has died become children of this one, so that they are still found.
_SET_CHILD_SUBREAPER = 36


def engines_compared(contestant: str, place: Path) -> dict[str, Any]:
    """The seven operators of `bench.pipeline` on both engines with four workers, and what Ray's start alone takes."""
    del contestant
    folder = environments.cache() / "pipeline"
    folder.mkdir(parents=True, exist_ok=True)
    data = source(folder, DOCUMENTS)
    found: dict[str, list[float]] = {}
    for name in _ORDER:
        found.setdefault(name, []).append(cpu_seconds(name, data, place / name))
    return {"documents": DOCUMENTS, **{f"{name}_cpu": round(fmean(seconds), 2) for name, seconds in found.items()}}


def cpu_seconds(engine: str, data: Path, out: Path) -> float:
    """CPU seconds of a run and of all processes that come from it, those that Ray ends included."""
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    command = [sys.executable, "-W", "ignore", "-m", "bench.ray.cpu", engine, str(data), str(out)]
    child = subprocess.Popen(command, cwd=environments.ROOT)
    used: dict[int, float] = {}
    end = None
    while end is None or (time.monotonic() < end and children_of(os.getpid())):
        _look(os.getpid(), used)
        if end is None and child.poll() is not None:
            end = time.monotonic() + _END_SECONDS
        if end is not None:
            with suppress(ChildProcessError):
                os.waitpid(-1, os.WNOHANG)
        time.sleep(_LOOK_SECONDS)
    if child.returncode:
        raise RuntimeError(f"{engine}: ended with {child.returncode}")
    # The next run of this engine must find nothing that it could resume.
    for left in (out, out.with_name(f"{out.name}.work")):
        shutil.rmtree(left, ignore_errors=True)
    return sum(used.values())


def _look(pid: int, used: dict[int, float]) -> None:
    """Note what the processes under one have used so far; of one that ends, the last look counts."""
    for child in children_of(pid):
        with suppress(OSError):
            used[child] = used_cpu(child)
        _look(child, used)


def _start() -> None:
    """What the Ray engine cannot do without: a cluster, and so many actors that do nothing."""
    import ray

    @ray.remote(num_cpus=1)
    class Nothing:
        def answer(self) -> int:
            return os.getpid()

    _connect()
    actors = [Nothing.remote() for _ in range(ACTORS)]
    ray.get([actor.answer.remote() for actor in actors])
    time.sleep(2 * _LOOK_SECONDS)
    ray.shutdown()


def _connect() -> None:
    import ray

    more = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
    ray.init(address="local", num_cpus=ACTORS, object_store_memory=_STORE, **more)


def main() -> None:
    """One run."""
    engine, data, out = sys.argv[1:]
    if engine == "start":
        _start()
        return
    import jinx_pipeline as jp

    if engine == "ray":
        _connect()
    steps = [jp.create(name, **parameters) for step in RECIPE for name, parameters in step.items()]
    flow = jp.Dataset.load(data).process(steps)
    flow.export(out, engine=jp.Ray() if engine == "ray" else "local", workers=ACTORS)


if __name__ == "__main__":
    main()
