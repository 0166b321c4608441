"""The shipped recipes for media on Ray: the bytes of the local engine, also after an actor or the driver was killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import jinx_pipeline as jp
from jinx_pipeline.engines.ray.worker_actors import RayWorkers
from jinx_pipeline.recipe.read import read_recipe
from pipeline.made import digest, lines_of, log_of
from pipeline.recipe.media_samples import MADE, write_job

ray = pytest.importorskip("ray", reason="Ray is not installed: requirements/ray.txt")

pytestmark = [pytest.mark.slow, pytest.mark.cluster, pytest.mark.usefixtures("cluster"), pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def cluster():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000)
    yield
    ray.shutdown()


@pytest.mark.parametrize("name", sorted(MADE))
def test_ray_gives_the_bytes_of_the_local_engine(tmp_path, monkeypatch, name):
    local, cluster = tmp_path / "local", tmp_path / "ray"
    local.mkdir()
    cluster.mkdir()
    write_job(local, name)
    for file in local.iterdir():
        (cluster / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(local)
    jp.Run(read_recipe("recipe.yaml", workers=1))()
    made: list[RayWorkers] = []
    killed: list[int] = []
    make = RayWorkers.__init__
    monkeypatch.setattr(RayWorkers, "__init__", lambda self, *a, **more: (made.append(self), make(self, *a, **more))[0])
    done = threading.Event()

    def kill_one():
        while not done.is_set() and not killed:
            time.sleep(0.02)
            working = list(made[0].pids().values()) if made else []
            if working and lines_of(log_of(cluster / "out.jinx.work")) > 2:
                os.kill(working[0], signal.SIGKILL)
                killed.append(working[0])

    killer = threading.Thread(target=kill_one, daemon=True)
    monkeypatch.chdir(cluster)
    killer.start()
    try:
        jp.Run(read_recipe("recipe.yaml", engine="ray", workers=2))()
    finally:
        done.set()
        killer.join(10)
    assert killed
    assert digest(cluster / "out.jinx") == digest(local / "out.jinx")


def driver_of(folder: Path, address: str) -> subprocess.Popen[bytes]:
    """A driver in a process of its own, whose workers are on the cluster."""
    environment = {**os.environ, "PYTHONPATH": str(Path(jp.__file__).parents[1]), "RAY_ADDRESS": address}
    words = [sys.executable, "-m", "jinx_pipeline", "run", "recipe.yaml", "--engine", "ray", "--workers", "2"]
    return subprocess.Popen(
        [*words, "--progress", "none"], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


@pytest.mark.parametrize("name", ["audio-speech", "general-video"])
def test_a_killed_driver_is_resumed_with_the_same_bytes(tmp_path, monkeypatch, name):
    local, cluster = tmp_path / "local", tmp_path / "ray"
    local.mkdir()
    cluster.mkdir()
    write_job(local, name)
    for file in local.iterdir():
        (cluster / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(local)
    jp.Run(read_recipe("recipe.yaml", workers=1))()
    address, killed = ray.get_runtime_context().gcs_address, 0

    def lines():
        return lines_of(log_of(cluster / "out.jinx.work"))

    for _ in range(2):
        driver, seen = driver_of(cluster, address), lines()
        while driver.poll() is None and lines() <= max(seen, 2):
            time.sleep(0.01)
        killed += driver.poll() is None
        driver.kill()
        driver.communicate()
    assert killed
    driver = driver_of(cluster, address)
    said = driver.communicate()[0]
    assert driver.returncode == 0, said.decode()
    assert digest(cluster / "out.jinx") == digest(local / "out.jinx")
    assert sorted(path.name for path in cluster.iterdir()) == sorted(path.name for path in local.iterdir())
