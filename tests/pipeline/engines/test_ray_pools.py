"""Recipes with stages of both pools on a Ray cluster that has a GPU in name: no pool keeps the other from starting."""

import json
import os

import pytest

import jinx_pipeline as jp
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.operators.api.resources import Resources
from pipeline.made import digest, write_input

ray = pytest.importorskip("ray", reason="Ray is not installed: requirements/ray.txt")

pytestmark = [pytest.mark.slow, pytest.mark.cluster]


class OnGpu(jp.Mapper):
    """Adds a column, and takes a GPU for it."""

    writes = ("seen",)
    resources = Resources(gpus=1)

    def process(self, batch, ctx):
        del ctx
        return {"seen": [True] * len(batch)}


class OnCpu(jp.Mapper):
    """Adds a column."""

    writes = ("doubled",)

    def process(self, batch, ctx):
        del ctx
        return {"doubled": [2 * one for one in batch.column("n")]}


@pytest.fixture(scope="module", autouse=True)
def cluster():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    more = {"include_dashboard": False, "log_to_driver": False, "object_store_memory": 100_000_000}
    ray.init(address="local", num_cpus=2, num_gpus=1, **more)
    yield
    ray.shutdown()


@pytest.mark.parametrize("workers", [None, 2])
def test_a_stage_with_a_gpu_after_one_without(workers, tmp_path, monkeypatch):
    monkeypatch.setattr("jinx_pipeline.engines.driver._STARVED_SECONDS", 3.0)
    data = write_input(tmp_path / "in.jinx")
    flow = Dataset.load(data).process([OnCpu(), OnGpu()])
    assert flow.export(tmp_path / "out", engine=jp.Ray(workers=workers), block_rows=10).ok
    events = (tmp_path / "out.work" / "events.jsonl").read_text().splitlines()
    workers_of = {
        one["node"].partition("-")[0]: one["worker"] for one in map(json.loads, events) if one["kind"] == "block"
    }
    assert workers_of["OnCpu"].startswith("cpu-")
    assert workers_of["OnGpu"].startswith("gpu-")
    again = Dataset.load(data).process([OnCpu(), OnGpu()])
    assert again.export(tmp_path / "again", engine=jp.Ray(workers=1), block_rows=10).ok
    assert digest(tmp_path / "again") == digest(tmp_path / "out")
