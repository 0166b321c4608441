"""The process that forks the workers of the command line: they are as new ones are, and no one outlives the others."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import jinx
from jinx_pipeline.engines.local.fork_server import ForkServer
from pipeline.made import worker_pids

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only on Linux are workers forked")

OPERATORS = '''
import os, random, signal, sys, time
from pathlib import Path

import numpy as np
import pyarrow as pa

import jinx_pipeline as jp
from jinx_pipeline.worker.process_state import AT_START

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)
NUMBERS = [random.random(), float(np.random.random())]


@jp.register("told_mapper")
class ToldMapper(jp.Mapper):
    """Adds what the process is like."""

    reads, writes = ("n",), ("told",)

    def process(self, batch, ctx):
        numbers = batch.column("n")
        files = []
        for file in os.listdir("/proc/self/fd"):
            try:
                files.append(os.readlink(f"/proc/self/fd/{file}"))
            except OSError:
                pass  # the one of the listing
        told = {
            "pid": os.getpid(),
            "name": Path("/proc/self/comm").read_text().strip(),
            "parent": Path(f"/proc/{os.getppid()}/comm").read_text().strip(),
            "session": os.getsid(0) == os.getpid(),
            "handlers": [signal.getsignal(s) in (signal.SIG_DFL, signal.SIG_IGN) for s in SIGNALS],
            "changes": AT_START.changes(),
            "input": os.readlink("/proc/self/fd/0"),
            "output": os.readlink("/proc/self/fd/1"),
            "files": files,
            "threads": [os.environ[name] for name in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS")],
            "gpus": os.environ["CUDA_VISIBLE_DEVICES"],
            "variable": os.environ.get("JE_ARROW_MALLOC_CONF", ""),
            "pool": pa.default_memory_pool().backend_name,
            "numbers": NUMBERS,
        }
        if os.environ.get("DIES_WITH") and 3 in numbers and told["parent"] == "jinx-fork":
            Path(os.environ["DIES_WITH"]).write_text(str(os.getppid()))
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(60)
        # One write: unbuffered, `print` would write word by word, and the words of two workers would mix.
        sys.stdout.write(f"said by {os.getpid()}\\n")
        sys.stdout.flush()
        return {"told": [told] * len(numbers)}


@jp.register("slow_mapper")
class SlowMapper(jp.Mapper):
    """Adds a column, slowly."""

    seconds: float = 0.0
    reads, writes = ("n",), ("twice",)

    def process(self, batch, ctx):
        time.sleep(self.seconds)
        return {"twice": [2 * n for n in batch.column("n")]}
'''


def write_recipe(folder: Path, operators: list, rows: int = 20, **options) -> Path:
    jinx.convert(({"n": n} for n in range(rows)), folder / "in.jinx", overwrite=True)
    (folder / "own.py").write_text(OPERATORS)
    recipe = {
        "dataset": {"path": str(folder / "in.jinx")},
        "custom_operators": ["own.py"],
        "workers": 2,
        "block_rows": 1,
        "process": operators,
        "export": {"path": str(folder / "out")},
        **options,
    }
    (folder / "recipe.yaml").write_text(json.dumps(recipe))
    return folder / "recipe.yaml"


def start(folder: Path, **variables: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "jinx_pipeline", "run", "recipe.yaml"]
    return subprocess.Popen(
        command, cwd=folder, env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def run(folder: Path, **variables: str) -> None:
    process = start(folder, **variables)
    output = b"".join(process.communicate(timeout=120))
    assert process.returncode == 0, output.decode()


@pytest.mark.timeout(180)
def test_forked_workers_are_like_new_ones(tmp_path):
    write_recipe(tmp_path, [{"told_mapper": {}}], rows=40)
    run(tmp_path)
    told = [sample["told"] for sample in jinx.open(tmp_path / "out").to_list()]
    log = str(tmp_path / "out.work" / "workers.log")
    by_pid = {facts["pid"]: facts for facts in told}
    for facts in by_pid.values():
        assert facts["parent"] == "jinx-fork"
        assert facts["name"] == "jinx-worker"
        assert facts["session"]
        assert facts["handlers"] == [True] * 3
        assert facts["changes"] == []
        assert (facts["input"], facts["output"]) == ("/dev/null", log)
        assert facts["threads"] == ["1", "1"]
        assert facts["gpus"] == facts["variable"] == ""
        assert facts["pool"] == "system"
        # Neither the sockets of the server nor the lock of the working directory.
        assert not [file for file in facts["files"] if file.startswith("socket:") or file.endswith("/lock")]
    assert len({tuple(facts["numbers"]) for facts in by_pid.values()}) == len(by_pid)
    assert {f"said by {pid}" for pid in by_pid} == set(Path(log).read_text().splitlines())


@pytest.mark.timeout(180)
def test_a_server_that_is_killed_takes_its_workers_along_and_new_ones_finish_the_run(tmp_path):
    write_recipe(tmp_path, [{"told_mapper": {}}])
    run(tmp_path, DIES_WITH=str(tmp_path / "server"))
    samples = jinx.open(tmp_path / "out").to_list()
    assert [sample["n"] for sample in samples] == list(range(20))
    assert samples[3]["told"]["parent"] != "jinx-fork"
    assert not is_running(int((tmp_path / "server").read_text()))


@pytest.mark.timeout(180)
@pytest.mark.parametrize("is_stopped", [False, True])
def test_neither_server_nor_workers_outlive_a_killed_command(tmp_path, is_stopped):
    write_recipe(tmp_path, [{"slow_mapper": {"seconds": 0.3}}])
    driver = start(tmp_path)
    until = time.monotonic() + 120
    while not (workers := worker_pids(driver.pid)):
        assert driver.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    servers = {int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in workers}
    if is_stopped:
        for pid in (*workers, *servers):
            os.kill(pid, signal.SIGSTOP)
    driver.kill()
    driver.communicate()
    while any(is_running(pid) for pid in (*workers, *servers)):
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.timeout(180)
def test_a_killed_worker_is_replaced_and_no_row_is_lost(tmp_path):
    write_recipe(tmp_path, [{"slow_mapper": {"seconds": 0.5}}])
    driver, killed = start(tmp_path), set[int]()
    while driver.poll() is None:
        for pid in worker_pids(driver.pid)[: 1 - len(killed)]:  # a row that costs two workers is given up
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        time.sleep(0.1)
    assert driver.returncode == 0, driver.communicate()
    driver.communicate()
    assert killed
    assert jinx.open(tmp_path / "out").to_list() == [{"n": n, "twice": 2 * n} for n in range(20)]


@pytest.mark.timeout(180)
def test_without_a_server_workers_are_new_programs(tmp_path):
    """A system without pidfds, as here, or a process with threads: `sitecustomize` is imported before anything else."""
    (tmp_path / "sitecustomize.py").write_text("import os\ndel os.pidfd_open\n")
    write_recipe(tmp_path, [{"told_mapper": {}}])
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    run(tmp_path, PYTHONPATH=path)
    assert {sample["told"]["parent"] for sample in jinx.open(tmp_path / "out").to_list()} != {"jinx-fork"}


def test_a_process_that_has_begun_its_work_forks_no_server():
    assert "numpy" in sys.modules
    assert ForkServer.started({}) is None


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False
