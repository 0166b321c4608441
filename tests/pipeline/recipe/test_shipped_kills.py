"""The shipped recipes for media: the same bytes for any number of workers, and after kills of workers and drivers."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import jinx
import jinx_pipeline as jp
from pipeline.made import digest, lines_of, log_of, worker_pids
from pipeline.recipe.media_samples import MADE, write_job

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


def start(folder: Path, workers: int) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(Path(jp.__file__).parents[1])}
    words = [sys.executable, "-m", "jinx_pipeline", "run", "recipe.yaml", "--workers", str(workers)]
    return subprocess.Popen(
        [*words, "--progress", "none"], cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def run(folder: Path, workers: int) -> None:
    process = start(folder, workers)
    error = process.communicate()[1]
    assert process.returncode == 0, error.decode()


@pytest.mark.parametrize("name", sorted(MADE))
def test_kills_of_workers_and_drivers_change_no_byte(tmp_path, name):
    folders = {kind: tmp_path / kind for kind in ("calm", "four", "killed")}
    for folder in folders.values():
        folder.mkdir()
    write_job(folders["calm"], name)
    for folder in (folders["four"], folders["killed"]):
        for file in folders["calm"].iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
    run(folders["calm"], 1)
    calm = digest(folders["calm"] / "out.jinx")
    assert len(jinx.open(folders["calm"] / "out.jinx")) == sum(MADE[name]().kept.values())
    run(folders["four"], 4)
    assert digest(folders["four"] / "out.jinx") == calm
    log = folders["killed"] / "out.jinx.work"
    workers = drivers = 0
    for share in (1, 2):
        driver = start(folders["killed"], 2)
        first = lines_of(log_of(log))
        pids: list[int] = []
        while driver.poll() is None and not pids:
            time.sleep(0.01)
            pids = worker_pids(driver.pid) if lines_of(log_of(log)) > max(first, 2 * share) else []
        for pid in pids[:1]:
            os.kill(pid, signal.SIGKILL)
            workers += 1
        seen = lines_of(log_of(log))
        while driver.poll() is None and lines_of(log_of(log)) <= seen:
            time.sleep(0.01)
        drivers += driver.poll() is None
        driver.kill()
        driver.communicate()
    assert workers
    assert drivers
    run(folders["killed"], 4)
    assert digest(folders["killed"] / "out.jinx") == calm
