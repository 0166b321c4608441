"""A cluster whose object stores are full of what another program keeps there, and that cannot spill."""

import os
import random

import pytest

import jinx_pipeline as jp
from jinx_pipeline.dataset import BadRowsWarning, Dataset
from jinx_pipeline.engines.ray import spilled_value, worker_actors
from pipeline.made import digest, log_of, write_input

ray = pytest.importorskip("ray", reason="Ray is not installed: requirements/ray.txt")

pytestmark = [pytest.mark.slow, pytest.mark.cluster, pytest.mark.usefixtures("full_stores")]

STORE = 80_000_000
# Nothing is spilled, no file takes what the store cannot, and who asks in vain is told at once.
NO_SPILLING = {
    "automatic_object_spilling_enabled": False,
    "local_fs_capacity_threshold": 0.001,
    "oom_grace_period_s": 0,
    "object_store_full_delay_ms": 10,
}


def keeper():
    """A class that nodes know without this file."""

    class Keeper:
        def __init__(self):
            self.kept = []

        def fill(self):
            import ray

            for size in (8_000_000, 1_000_000, 110_000):
                try:
                    while True:
                        self.kept.append(ray.put(bytes(size)))
                except (ray.exceptions.OutOfDiskError, ray.exceptions.ObjectStoreFullError):
                    continue
            return size

    return Keeper


@pytest.fixture(scope="module")
def full_stores():
    from ray.cluster_utils import Cluster
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    head = {"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False, "_system_config": NO_SPILLING}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    cluster.add_node(num_cpus=2, object_store_memory=STORE)
    ray.init(address=cluster.address, log_to_driver=False)
    where = [NodeAffinitySchedulingStrategy(node["NodeID"], soft=False) for node in ray.nodes()]
    keepers = [ray.remote(num_cpus=0, scheduling_strategy=item)(keeper()).remote() for item in where]
    assert ray.get([worker.fill.remote() for worker in keepers]) == [110_000, 110_000]
    yield
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_input(tmp_path_factory.mktemp("data") / "in.jinx")


def same_as_the_local_engine(flow, tmp_path, **options):
    local = flow.export(tmp_path / "local", workers=1, **options)
    on_ray = flow.export(tmp_path / "out", engine=jp.Ray(workers=2), **options)
    assert digest(tmp_path / "out") == digest(tmp_path / "local")
    left = [file.name for file in log_of(tmp_path / "out.work").with_name("parts").iterdir()]
    assert [item for item in left if item.endswith(".answer") or item.startswith(("source-", "stage-"))] == []
    return local, on_ray


def test_an_operator_that_holds_a_large_table(data, tmp_path):
    table = random.Random(1).randbytes(300_000)

    def look_up(sample):
        sample["text"] = str(table[sample["n"]])
        return sample

    local, on_ray = same_as_the_local_engine(Dataset.load(data).process([look_up]), tmp_path, block_rows=100)
    assert local.ok
    assert on_ray.ok


def test_many_rows_with_long_errors(data, tmp_path):
    def fail(sample):
        if sample["n"] % 2:
            raise ValueError(f"{sample['n']}: " + "no " * 500)
        return sample

    flow = Dataset.load(data).process([fail])
    with pytest.warns(BadRowsWarning):
        local, on_ray = same_as_the_local_engine(flow, tmp_path, block_rows=200)
    assert on_ray.bad_rows == local.bad_rows
    assert len(on_ray.bad_rows) > 100


@pytest.mark.parametrize(("few_paths", "sent"), [(None, []), (0, ["source-0", "source-1"])])
def test_a_source_travels_with_each_task_or_once_as_a_file(data, tmp_path, monkeypatch, few_paths, sent):
    """The parts after a barrier are in a manifest, so that only an input of many files needs a file of its own."""
    monkeypatch.setattr(spilled_value, "_MOST_BYTES", 100)  # in the driver, instead of a thousand files
    if few_paths is not None:
        monkeypatch.setattr(worker_actors, "_FEW_PATHS", few_paths)
    flow = Dataset.load(data).process([jp.create("sort", by=["-len(text)"]), jp.ops.TextLengthFilter(max_len=75)])
    names, spill = [], spilled_value.spilled_if_large
    monkeypatch.setattr(
        worker_actors, "spilled_if_large", lambda value, path: names.append(path.name) or spill(value, path)
    )
    local, on_ray = same_as_the_local_engine(flow, tmp_path, block_rows=20)
    assert on_ray.rows_out == local.rows_out
    # What the first stage reads, and what remains after the sort; each once.
    assert [name.rpartition("-")[0] for name in names if name.startswith("source")] == sent
