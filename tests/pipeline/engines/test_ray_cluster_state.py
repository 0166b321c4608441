"""What is known of the nodes of a cluster, whether its head answers or not, and which of them are checked."""

import json
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import SimpleNamespace

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.engines.ray import cluster as ray_cluster
from jinx_pipeline.engines.ray.cluster import RayCluster, connected
from jinx_pipeline.engines.ray.node_check import node_check
from jinx_pipeline.operators.api.resources import Resources
from pipeline.made import lines_of, loaded_operators, log_of, write_input

STORE = 80_000_000


class Head:
    """Ray as far as it tells about nodes; it answers while `answers` is set."""

    exceptions = SimpleNamespace(RayError=OSError)

    def __init__(self):
        self.alive = ["a"]
        self.draining = {}
        self.fails = False
        self.answers = Event()
        self.answers.set()
        self._private = SimpleNamespace(
            state=SimpleNamespace(state=SimpleNamespace(get_draining_nodes=lambda: self.draining))
        )

    def nodes(self):
        self.answers.wait()
        if self.fails:
            raise ValueError("no head")
        return [
            {"Alive": item in self.alive, "NodeID": item, "Resources": {"CPU": 1, item: 1}} for item in ("a", "b", "c")
        ]


@pytest.fixture
def head():
    made = Head()
    yield made
    made.answers.set()


def until(condition, seconds=50):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_nodes_that_join_leave_and_are_drained_become_known(head, monkeypatch):
    monkeypatch.setattr(ray_cluster, "_LOOK_SECONDS", 0.01)
    with RayCluster(head).watched() as cluster:
        assert cluster.is_alive("a")
        assert cluster.leaving() == set()
        head.alive, head.draining = ["b"], {"b": 0}
        until(lambda: cluster.is_alive("b"))
        until(lambda: cluster.leaving() == {"b"})
        assert not cluster.is_alive("a")
        head.fails = True
        time.sleep(0.05)
        head.alive, head.fails = ["c"], False
        until(lambda: cluster.is_alive("c"))


def test_nobody_waits_for_a_head_that_does_not_answer(head, monkeypatch):
    monkeypatch.setattr(ray_cluster, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(ray_cluster, "_END_SECONDS", 0.1)
    with RayCluster(head).watched() as cluster:
        head.answers.clear()
        time.sleep(0.05)
        # A run that asked the head would wait until the end of the test.
        for _ in range(100):
            assert [node["NodeID"] for node in cluster.nodes()] == ["a"]
            assert cluster.is_alive("a")
            assert cluster.leaving() == set()
    assert not head.answers.is_set()


class Slow(Head):
    """Ray as far as it runs a check on nodes; only some of them answer.

    Args:
        quick: The nodes that answer.
    """

    util = SimpleNamespace(client=SimpleNamespace(ray=SimpleNamespace(is_connected=lambda: True)))
    exceptions = SimpleNamespace(RayError=OSError, TaskUnschedulableError=KeyError, NodeDiedError=KeyError)

    def __init__(self, quick):
        super().__init__()
        self.alive, self.quick = ["a", "b", "c"], quick

    def nodes(self):
        # Ray refuses shorter ids.
        return [
            {**node, "NodeID": node["NodeID"] * 56, "NodeManagerAddress": f"10.0.0.{node['NodeID']}"}
            for node in super().nodes()
        ]

    def remote(self, **_):
        def task(check):
            del check

            def on(scheduling_strategy):
                return SimpleNamespace(remote=lambda: scheduling_strategy.node_id)

            return SimpleNamespace(options=on)

        return task

    def wait(self, calls, **_):
        return [call for call in calls if call[0] in self.quick], [call for call in calls if call[0] not in self.quick]

    def get(self, call):
        return {"a": None, "b": None, "c": "node c is another machine"}[call[0]]


def test_a_node_that_does_not_answer_refuses_no_run_that_others_can_do():
    pytest.importorskip("ray", reason="Ray is not installed: requirements/ray.txt")
    for quick in ("a", "ab"):
        RayCluster(Slow(quick)).check_nodes(lambda: None, [{"CPU": 1}])
    with pytest.raises(RuntimeError, match=r"node 10\.0\.0\.a of the Ray cluster did not answer within 60 s"):
        RayCluster(Slow("")).check_nodes(lambda: None, [{"CPU": 1}])
    with pytest.raises(RuntimeError, match="node c is another machine"):
        RayCluster(Slow("ac")).check_nodes(lambda: None, [{"CPU": 1}])


def test_the_thread_ends_with_the_run(head, monkeypatch):
    monkeypatch.setattr(ray_cluster, "_LOOK_SECONDS", 0.01)
    with RayCluster(head).watched() as cluster:
        pass
    head.alive = ["b"]
    time.sleep(0.05)
    assert cluster.is_alive("a")


def test_other_versions_are_named(tmp_path, monkeypatch):
    (tmp_path / "parts").mkdir()
    check = node_check(tmp_path, [])
    assert check() is None
    version = jinx.__version__
    monkeypatch.setattr("jinx._core.__version__", "9.9")
    assert f"the native core of jinx-data is 9.9 there, and {version} on the driver's machine; install" in check()
    monkeypatch.undo()
    monkeypatch.setattr("jinx_pipeline._kernels.__version__", "9.9")
    assert f"the native part of jinx-pipeline is 9.9 there, and {version} on the driver's machine; install" in check()
    monkeypatch.undo()
    monkeypatch.setattr("importlib.metadata.version", lambda name: {"jinx-data": "1", "jinx-pipeline": "2"}[name])
    check = node_check(tmp_path, [])
    monkeypatch.setattr("importlib.metadata.version", lambda name: {"jinx-data": "1", "jinx-pipeline": "3"}[name])
    assert "jinx-pipeline is 3 there, and 2 on the driver's machine; install the same versions" in check()


@pytest.mark.parametrize("error", [ImportError("No module named pyarrow"), OSError("libarrow.so: bad ELF header")])
def test_a_library_that_does_not_load_is_named(tmp_path, monkeypatch, error):
    (tmp_path / "parts").mkdir()
    check = node_check(tmp_path, [])

    class Broken:
        def find_spec(self, name, *_):
            if name == "jinx_pipeline.worker.task_runner":
                raise error

    monkeypatch.delitem(sys.modules, "jinx_pipeline.worker.task_runner", raising=False)
    monkeypatch.setattr("sys.meta_path", [Broken(), *sys.meta_path])
    assert f"jinx-pipeline cannot be imported there ({type(error).__name__}: {error}); install it" in check()


@pytest.fixture(scope="module")
def nodes():
    """A head with a GPU by name alone, and a node that sees nothing of ours."""
    ray = pytest.importorskip("ray", reason="Ray is not installed: requirements/ray.txt")
    from ray.cluster_utils import Cluster as Nodes

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    about = {"num_cpus": 4, "num_gpus": 1, "resources": {"ours": 10}, "include_dashboard": False}
    made = Nodes(initialize_head=True, head_node_args={**about, "object_store_memory": STORE})
    made.add_node(num_cpus=1, resources={"theirs": 1}, object_store_memory=STORE)
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


def only_on_the_head(head):
    """A check that nodes other than the head do not pass."""

    def check():
        import ray

        here = ray.get_runtime_context().get_node_id()
        return None if here == head else "node with nothing of ours"

    return check


@pytest.mark.slow
@pytest.mark.cluster
def test_nodes_that_no_worker_can_use_are_not_checked(nodes):
    with connected("auto") as cluster:
        check = only_on_the_head(nodes.head_node.node_id)
        cluster.check_nodes(check, [{"CPU": 1, "ours": 1}])
        with pytest.raises(RuntimeError, match="nothing of ours"):
            cluster.check_nodes(check, [{"CPU": 1, "ours": 1}, {"CPU": 1}])


@pytest.mark.slow
@pytest.mark.cluster
def test_a_run_whose_workers_share_a_gpu(nodes, tmp_path):
    class OnGpu(jp.ops.TextLengthFilter):
        resources = Resources(gpus=0.5)

    data = write_input(tmp_path / "in.jinx")
    flow = Dataset.load(data).process([jp.ops.WordsNumFilter(), OnGpu(max_len=75)])
    assert flow.export(tmp_path / "out", engine=jp.Ray(resources={"ours": 1}), block_rows=20).ok
    events = [json.loads(line) for line in (tmp_path / "out.work" / "events.jsonl").read_text().splitlines()]
    started = [event["worker"] for event in events if event["kind"] == "ready"]
    assert sum(item.startswith("0.5gpu") for item in started) == 2
    assert sum(item.startswith("cpu") for item in started) <= 2


@pytest.mark.slow
@pytest.mark.cluster
def test_blocks_are_done_while_the_head_process_does_not_answer(nodes, tmp_path):
    data = write_input(tmp_path / "in.jinx")
    operators = {"block_rows": 10, "custom_operators": (str(loaded_operators()),)}
    flow = Dataset.load(data).process([jp.create("slow_filter", seconds=0.03)])
    gcs = nodes.head_node.all_processes["gcs_server"][0].process.pid
    work_dir = tmp_path / "out.work"
    with ThreadPoolExecutor(1) as pool:
        engine = jp.Ray(workers=2, resources={"ours": 1})
        running = pool.submit(lambda: flow.export(tmp_path / "out", engine=engine, **operators))
        until(lambda: lines_of(log_of(work_dir)) >= 6 or running.done(), seconds=60)
        os.kill(gcs, signal.SIGSTOP)
        try:
            time.sleep(0.5)  # what was on the way
            before = lines_of(log_of(work_dir))
            time.sleep(2.5)
            during = lines_of(log_of(work_dir)) - before
        finally:
            os.kill(gcs, signal.SIGCONT)
        assert running.result().ok
    assert during >= 5
