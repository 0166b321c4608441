"""What workers on Ray take, and how many of them a cluster has room for; Ray itself is not asked."""

from types import SimpleNamespace

import pytest

import jinx_pipeline as jp
from jinx_pipeline.engines.ray.capacity import Capacity
from jinx_pipeline.engines.ray.cluster import RayCluster
from jinx_pipeline.engines.ray.engine import _OnRay
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.plan.planner import refuse_impossible
from jinx_pipeline.plan.probe import pools_of
from jinx_pipeline.recipe.errors import RecipeError
from jinx_pipeline.recipe.model import Options, Recipe, SourceSpec, Step
from jinx_pipeline.sample.roles import Roles

CPU = {"CPU": 1}


def cluster_of(*nodes):
    alive = [{"Alive": True, "NodeID": str(at), "Resources": item} for at, item in enumerate(nodes)]
    ray = SimpleNamespace(nodes=lambda: alive, exceptions=SimpleNamespace(RayError=OSError))
    return RayCluster(ray)


def recipe(*resources, **options):
    steps = []
    for resource in resources:
        kind = type("Op", (jp.ops.TextLengthFilter,), {"resources": resource})
        steps.append(Step(kind()))
    return Recipe((SourceSpec("in.jinx"),), Roles(), tuple(steps), None, Options(engine="ray", **options))


def needs_of(*resources, **options):
    what = recipe(*resources, **options)
    engine = _OnRay(what.options, None)  # pyright: ignore[reportArgumentType] - no cluster is asked
    return engine.fitted(pools_of(what))._needs()


def counts(cluster, *resources, **options):
    what = recipe(*resources, **options)
    return dict(_OnRay(what.options, cluster).fitted(pools_of(what)).counts())


@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("resources", [{"fast_disk": 1}, {"gpu": 1}, {"CPU": 9}])
def test_what_no_node_has_is_refused_also_for_a_number_of_workers(workers, resources):
    with pytest.raises(RuntimeError, match="no node of the Ray cluster has what a worker needs"):
        counts(cluster_of({"CPU": 8}), Resources(), workers=workers, ray_resources=resources)


@pytest.mark.parametrize("workers", [None, 2])
def test_a_worker_with_a_gpu_that_no_node_can_hold_is_refused(workers):
    apart = cluster_of({"CPU": 8, "fast_disk": 1}, {"CPU": 8, "GPU": 1})
    with pytest.raises(RuntimeError, match=r"\(CPU: 1, fast_disk: 1, GPU: 1\); the most .* GPU: 1"):
        counts(apart, Resources(gpus=1), workers=workers, ray_resources={"fast_disk": 1})
    assert counts(apart, Resources(), workers=workers, ray_resources={"fast_disk": 1})["cpu"] == (workers or 1)


def test_nodes_that_vanish_do_not_stop_a_run(monkeypatch):
    nodes = [{"Alive": True, "NodeID": "0", "Resources": {"CPU": 2}}]
    ray = SimpleNamespace(nodes=lambda: nodes, exceptions=SimpleNamespace(RayError=OSError))
    cluster = RayCluster(ray)
    monkeypatch.setattr("jinx_pipeline.engines.ray.capacity._ASK_SECONDS", 0.0)
    room = Capacity(cluster, {"cpu": CPU}, None)
    nodes.clear()
    cluster.refresh()
    assert dict(room) == {"cpu": 2}
    nodes += [{"Alive": True, "NodeID": "1", "Resources": {"CPU": 3}}]
    cluster.refresh()
    assert dict(room) == {"cpu": 3}


@pytest.mark.parametrize(
    ("asked", "gpus", "amount"),
    [({}, 1, 1), ({}, 0.25, 0.25), ({}, 2, 2), ({}, 1.5, 2), ({"GPU": 0.25}, 1, 0.25), ({"GPU": 2}, 0.5, 2)],
)
def test_how_much_of_a_gpu_a_worker_takes(asked, gpus, amount):
    needs = needs_of(Resources(), Resources(gpus=gpus), ray_resources=asked)
    assert needs == {"cpu": {"CPU": 1}, Resources(gpus=gpus).pool: {"CPU": 1, "GPU": amount}}


def test_each_need_is_a_pool_of_its_own():
    needs = needs_of(
        Resources(cpus=2, memory=10), Resources(gpus=0.5, cpus=4, memory=30), Resources(cpus=3), Resources(cpus=3)
    )
    assert needs == {
        "cpu": {"CPU": 1},
        "2cpu-10B": {"CPU": 2, "memory": 10},
        "4cpu-0.5gpu-30B": {"CPU": 4, "GPU": 0.5, "memory": 30},
        "3cpu": {"CPU": 3},
    }
    assert needs_of(Resources(cpus=2), threads=4) == {"cpu": {"CPU": 4}, "2cpu": {"CPU": 4}}
    assert needs_of(Resources(cpus=2), ray_resources={"CPU": 1}) == {"cpu": {"CPU": 1}, "2cpu": {"CPU": 1}}


def test_pools_without_a_gpu_have_a_worker_each_before_any_fills_the_cluster():
    found = counts(cluster_of({"CPU": 8, "memory": 40}), Resources(), Resources(memory=30))
    assert found == {"cpu": 7, "cpu-30B": 1}
    assert counts(cluster_of({"CPU": 1}), Resources(), Resources(cpus=0.9)) == {"cpu": 1, "0.9cpu": 1}


def test_pools_with_a_gpu_take_turns():
    cluster = cluster_of({"CPU": 8, "GPU": 1}, {"CPU": 8, "GPU": 2})
    found = counts(cluster, Resources(gpus=0.25), Resources(gpus=0.5))
    assert found == {"cpu": 7, "0.25gpu": 6, "0.5gpu": 3}


def test_the_kind_of_a_gpu_is_not_asked_of_workers_without_one():
    asked = {"accelerator_type:H100": 0.01, "GPU": 0.5, "fast_disk": 1}
    needs = needs_of(Resources(), Resources(gpus=1), ray_resources=asked)
    assert needs["cpu"] == {"CPU": 1, "fast_disk": 1}
    assert needs["gpu"] == {"CPU": 1, **asked}
    assert needs_of(Resources(), ray_resources={"GPU": 0.5}) == {"cpu": {"CPU": 1}}


def test_nodes_that_lack_something_do_not_count_with_their_gpus():
    cluster = cluster_of({"CPU": 8, "GPU": 4}, {"CPU": 8, "GPU": 1, "fast_disk": 10})
    found = counts(cluster, Resources(), Resources(gpus=1), ray_resources={"fast_disk": 1})
    assert found == {"cpu": 7, "gpu": 1}
    assert counts(cluster, Resources()) == {"cpu": 16}


@pytest.mark.parametrize(
    ("nodes", "gpus", "workers", "expected"),
    [
        ([{"CPU": 8, "GPU": 1}], 1, None, {"cpu": 7, "gpu": 1}),
        ([{"CPU": 8, "GPU": 1}, {"CPU": 4}], 1, None, {"cpu": 11, "gpu": 1}),
        ([{"CPU": 8, "GPU": 1}], 0.25, None, {"cpu": 4, "gpu": 4}),
        ([{"CPU": 8, "GPU": 1}], 0.1, None, {"cpu": 1, "gpu": 8}),
        ([{"CPU": 1, "GPU": 1}], 1, None, {"cpu": 1, "gpu": 1}),
        ([{"CPU": 8, "GPU": 4}], 2, None, {"cpu": 6, "gpu": 2}),
        ([{"CPU": 8, "GPU": 1}], 1, 20, {"cpu": 20, "gpu": 1}),
        ([{"CPU": 8, "GPU": 1}], 0, None, {"cpu": 8}),
    ],
)
def test_workers_with_and_without_a_gpu_share_the_cpus_of_a_node(nodes, gpus, workers, expected):
    needs = Resources(gpus=gpus)
    found = counts(cluster_of(*nodes), Resources(), needs, workers=workers)
    assert found == {needs.pool if name == "gpu" else name: count for name, count in expected.items()}


def test_an_operator_with_two_gpus_runs_where_a_node_has_them():
    what = recipe(Resources(gpus=2))
    cluster = cluster_of({"CPU": 8, "GPU": 2})
    assert counts(cluster, Resources(gpus=2))["2gpu"] == 1
    refuse_impossible(what, lacks=_OnRay(what.options, cluster).lacks, columns=["text"])
    with pytest.raises(RecipeError, match=r"needs 1 CPU, 2 GPUs; no node .* the most that one has: CPU: 8, GPU: 1"):
        refuse_impossible(what, lacks=_OnRay(what.options, cluster_of({"CPU": 8, "GPU": 1})).lacks, columns=["text"])


def test_amounts_that_floats_do_not_have_exactly():
    assert counts(cluster_of({"CPU": 0.3}), Resources(), ray_resources={"CPU": 0.1})["cpu"] == 3


def test_the_nodes_that_can_hold_a_worker():
    cluster = cluster_of({"CPU": 8}, {"CPU": 8, "fast_disk": 1}, {"fast_disk": 1})
    assert [node["NodeID"] for node in cluster.able({"CPU": 1, "fast_disk": 1})] == ["1"]
    assert [node["NodeID"] for node in cluster.able({"CPU": 1})] == ["0", "1"]
