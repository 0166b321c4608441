"""Recipes with stages of both pools on a Ray cluster that has a GPU in name: no pool keeps the other from starting."""

import json
import os
from dataclasses import replace

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.schedule.task import Limits
from pipeline.made import digest, rows_of, write_input

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
        return {"doubled": [2 * item for item in batch.column("n")]}


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
        event["node"].partition("-")[0]: event["worker"]
        for event in map(json.loads, events)
        if event["kind"] == "block"
    }
    assert workers_of["OnCpu"].startswith("cpu-")
    assert workers_of["OnGpu"].startswith("gpu-")
    again = Dataset.load(data).process([OnCpu(), OnGpu()])
    assert again.export(tmp_path / "again", engine=jp.Ray(workers=1), block_rows=10).ok
    assert digest(tmp_path / "again") == digest(tmp_path / "out")


def process_of(sample):
    """Which process did it."""
    import os

    return {**sample, "pid": os.getpid()}


def test_a_second_run_that_borrows_from_a_cluster_starts_no_actor(tmp_path):
    data = write_input(tmp_path / "in.jinx")
    module = tmp_path / "mine.py"
    with jp.Cluster(jp.Ray(workers=2)) as cluster:
        for version in (1, 2):
            module.write_text(f"def mark(sample):\n    return {{**sample, 'version': {version}}}\n")
            mark = jp.ops.PythonFileMapper(file_path=module, function_name="mark")
            flow = Dataset.load(data).process([process_of, mark])
            assert flow.export(tmp_path / f"out-{version}", block_rows=10, cluster=cluster).ok
        first, second = (rows_of(tmp_path / f"out-{version}") for version in (1, 2))
        assert {row["pid"] for row in second} <= {row["pid"] for row in first}
        assert {row["version"] for row in second} == {2}
        assert ray.is_initialized()


def slow_once(sample):
    """The first process to meet row 20 is slow from then on."""
    import os
    import time
    from pathlib import Path

    marker = Path(sample["marker"])
    if sample["n"] >= 20:
        try:
            with marker.open("x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            pass
        if marker.read_text() == str(os.getpid()):
            time.sleep(0.5)
    return sample


def test_an_actor_leaves_a_task_that_a_copy_has_ended(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"n": n, "marker": str(tmp_path / "marker")} for n in range(80))
    flow = Dataset.load(tmp_path / "in.jinx").process([slow_once, jp.ops.Sort(by="n", descending=True)])
    options = replace(flow.recipe.options, engine="ray", workers=2, block_rows=20, batch_rows=1)
    recipe = replace(flow.recipe, options=options, export=jp.Export(str(tmp_path / "out.jinx")))
    result = jp.Run(recipe, limits=Limits(straggler_seconds=0.5, straggler_factor=2.0))()
    assert result.ok
    events = [json.loads(event) for event in (tmp_path / "out.jinx.work" / "events.jsonl").read_text().splitlines()]
    assert "died" not in [event["kind"] for event in events]
