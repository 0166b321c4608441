"""Runs on a Ray cluster whose nodes share nothing but a bucket: the bytes of the local engine, and a node may die."""

import time

import pytest
from tests.bucket import served

from pipeline.engines.bucket_runs import Place, ended, write_input

ray = pytest.importorskip("ray", reason="Ray is not installed: requirements/ray.txt")

pytestmark = [pytest.mark.slow, pytest.mark.cluster]

STORE = 80_000_000


@pytest.fixture
def place(tmp_path):
    (tmp_path / "bucket").mkdir()
    write_input(tmp_path / "bucket", 600)
    with served(tmp_path / "bucket") as bucket:
        yield Place(bucket, tmp_path)


@pytest.fixture
def nodes(place):
    """A cluster: a function that adds a node with directories of its own, and one that kills the last one."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False},
    )
    added = []

    def add():
        folder = place.folder / f"node-{len(added)}"
        names = {"JINX_SCRATCH": str(folder / "scratch"), "JINX_CACHE": str(folder / "cache")}
        variables = {**place.bucket.environment, **names, "PYTHONPATH": place.environment["PYTHONPATH"]}
        added.append(cluster.add_node(num_cpus=1, object_store_memory=STORE, env_vars=variables))

    def kill():
        cluster.remove_node(added.pop(), allow_graceful=False)

    place.environment["RAY_ADDRESS"] = cluster.address
    yield add, kill
    cluster.shutdown()


@pytest.mark.timeout(400)
def test_nodes_that_share_only_a_bucket_give_the_bytes_of_the_local_engine(place, nodes):
    add, kill = nodes
    place.run("calm")
    add()
    place.run("one", "--engine", "ray", workers=1)
    assert place.digest("one") == place.digest("calm")
    for _ in range(3):
        add()
    running = place.start("four", "--engine", "ray", workers=4)
    while place.log_objects("four") < 6 and running.poll() is None:
        time.sleep(0.05)
    kill()
    ended(running)
    assert place.digest("four") == place.digest("calm")
    used = [node for node in range(4) if (place.folder / f"node-{node}" / "scratch").exists()]
    assert len(used) > 1
