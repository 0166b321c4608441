"""The driver of a run on Ray is killed at its file-system calls; the same command then ends with the same bytes."""

import os

import pytest

ray = pytest.importorskip("ray", reason="Ray is not installed: requirements/ray.txt")

pytestmark = [pytest.mark.slow, pytest.mark.cluster]

CASES = ["first out.parquet", "restarted out", "grown out"]
# Of the calls that are about files of the run, one in so many: a run takes seconds to start its workers.
EVERY, EVERY_OF_SOAK = 67, 3


@pytest.fixture(scope="module")
def address():
    """A cluster outside the shim, which traces the drivers alone."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    head = {"num_cpus": 1, "object_store_memory": 100_000_000, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    yield cluster.address
    cluster.shutdown()


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("case", CASES)
def test_a_driver_that_is_killed_at_call_n_is_resumed(case, address, kill_runs, soak):
    every = EVERY_OF_SOAK if soak else EVERY
    result = kill_runs(case, every, 1 + 23 * CASES.index(case) % every, address)
    assert result["wrong"] == {}
    assert result["tried"] >= 1
