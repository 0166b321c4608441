"""Whole runs on a Ray cluster of several nodes that die, leave and join: the bytes of the local engine."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import jinx_pipeline as jp
from bench.pipeline.documents import write as write_documents
from bench.pipeline.text import RECIPE
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.engines.ray.worker_actors import RayWorkers
from jinx_pipeline.recipe.model import Export
from jinx_pipeline.recipe.read import read_recipe
from jinx_pipeline.run import Run
from jinx_pipeline.schedule.task import Cause
from pipeline.global_ops.everything import OPTIONS, chain, divide_much, write_data
from pipeline.made import digest, lines_of, loaded_operators, log_of, records_of, write_input

ray = pytest.importorskip("ray", reason="Ray is not installed: requirements/ray.txt")

pytestmark = [pytest.mark.slow, pytest.mark.cluster]

STORE = 80_000_000


class Nodes:
    """A head without CPUs, on which the driver is, and nodes with one CPU each."""

    def __init__(self):
        from ray.cluster_utils import Cluster

        self.cluster = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False},
        )
        self.nodes = []

    def need(self, count):
        while len(self.nodes) < count:
            self.add()

    def add(self):
        self.nodes.append(self.cluster.add_node(num_cpus=1, object_store_memory=STORE))
        return self.nodes[-1].node_id

    def kill(self, count=1):
        for node in self.nodes[:count]:
            self.cluster.remove_node(node, allow_graceful=False)
        del self.nodes[:count]

    def kill_one_at_work(self, out):
        """Kill the node of the worker that did the last block."""
        gone = {event["worker"] for event in events_of(out, "died")}
        node_of = {event["worker"]: event["node"] for event in events_of(out, "ready") if event["worker"] not in gone}
        last = [event["worker"] for event in events_of(out, "block") if event["worker"] in node_of][-1]
        self.nodes.sort(key=lambda node: node.node_id != node_of[last])
        self.kill()

    def kill_parent(self, pid):
        """Kill the node whose raylet has this number; it is the parent of its workers."""
        self.nodes.sort(key=lambda node: node.all_processes["raylet"][0].process.pid != pid)
        assert self.nodes[0].all_processes["raylet"][0].process.pid == pid
        self.kill()

    def close(self):
        ray.shutdown()
        self.cluster.shutdown()


@pytest.fixture(scope="module")
def nodes():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    made = Nodes()
    ray.init(address=made.cluster.address, log_to_driver=False)
    yield made
    made.close()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_input(tmp_path_factory.mktemp("data") / "in.jinx")


@pytest.fixture(scope="module")
def options():
    return {"block_rows": 20, "custom_operators": (str(loaded_operators()),)}


def recipe(data, seconds=0.02):
    return Dataset.load(data).process(
        [jp.ops.TextLengthFilter(max_len=75), jp.create("slow_filter", seconds=seconds), jp.create("fragile_mapper")]
    )


@pytest.fixture(scope="module")
def calm(data, options, tmp_path_factory):
    out = tmp_path_factory.mktemp("calm") / "out"
    assert recipe(data, 0.0).export(out, workers=1, **options).ok
    return digest(out)


def run_during(out, export, *steps):
    """Run in a thread; each step is done when so many lines are in the run log (Ray starts nodes in the main one)."""
    work_dir = out.with_name(f"{out.name}.work")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(export)
        for lines, step in steps:
            while lines_of(log_of(work_dir)) < lines:
                assert not running.done() or running.result() is None, "the run ended too early"
                time.sleep(0.05)
            step()
        return running.result()


def events_of(out, kind):
    lines = (out.with_name(f"{out.name}.work") / "events.jsonl").read_text().splitlines()
    return [record for record in map(json.loads, lines) if record["kind"] == kind]


@pytest.mark.cluster_short
def test_all_nodes_die_and_the_one_that_joins_ends_the_run(nodes, data, options, calm, tmp_path):
    nodes.need(3)
    out, joined = tmp_path / "out", []

    def replace():
        joined.append(nodes.add())
        nodes.kill(1)

    def export():
        return recipe(data, 0.04).export(out, engine=jp.Ray(), **options)

    assert run_during(out, export, (4, lambda: nodes.kill(2)), (8, replace)).ok
    assert digest(out) == calm
    died = events_of(out, "died")
    assert {event["cause"] for event in died} == {Cause.NODE.value}, died
    on_new = {event["worker"] for event in events_of(out, "ready") if event["node"] == joined[0]}
    assert any(event["worker"] in on_new for event in events_of(out, "block"))


def test_a_node_that_is_drained_gets_no_more_work(nodes, data, options, calm, tmp_path):
    nodes.need(2)
    out, drained = tmp_path / "out", nodes.nodes[0].node_id
    at = []

    def drain():
        command = [str(Path(sys.executable).with_name("ray")), "drain-node", "--address", nodes.cluster.address]
        why = ["--reason", "DRAIN_NODE_REASON_PREEMPTION", "--reason-message", "spot"]
        limit = ["--deadline-remaining-seconds", "600"]
        subprocess.run([*command, "--node-id", drained, *why, *limit], check=True, capture_output=True)
        at.append(time.time())

    def export():
        return recipe(data, 0.04).export(out, engine=jp.Ray(workers=2), **options)

    assert run_during(out, export, (4, drain)).ok
    assert digest(out) == calm
    there = {event["worker"] for event in events_of(out, "ready") if event["node"] == drained}
    assert there
    late = [event for event in events_of(out, "block") if event["worker"] in there and event["time"] > at[0] + 0.6]
    assert len(late) <= 1  # the one in hand
    nodes.kill(1)


DRIVER = """
import sys
import jinx_pipeline as jp
from jinx_pipeline import Dataset

if __name__ == "__main__":
    data, out, operators, address = sys.argv[1:]
    jp.load_file(operators)
    flow = Dataset.load(data).process(
        [jp.ops.TextLengthFilter(max_len=75), jp.create("slow_filter", seconds=0.02), jp.create("fragile_mapper")]
    )
    flow.export(out, engine=jp.Ray(address), block_rows=20, custom_operators=(operators,))
"""


@pytest.mark.parametrize("blocks", [1, pytest.param(8, marks=pytest.mark.cluster_short), 17])
def test_a_driver_that_is_killed_is_resumed(nodes, data, options, calm, tmp_path, *, blocks):
    nodes.need(2)
    out, script = tmp_path / "out", tmp_path / "driver.py"
    script.write_text(DRIVER)
    work_dir = tmp_path / "out.work"
    arguments = [str(script), str(data), str(out), *options["custom_operators"], nodes.cluster.address]
    driver = subprocess.Popen([sys.executable, *arguments])
    while lines_of(log_of(work_dir)) < blocks and driver.poll() is None:
        time.sleep(0.02)
    driver.send_signal(signal.SIGKILL)
    assert driver.wait() == -signal.SIGKILL
    result = recipe(data).export(out, engine=jp.Ray(), **options)
    assert result.ok
    assert result.resumed
    assert digest(out) == calm
    pieces = [record for record in records_of(work_dir, "committed") if record["node"].startswith("text_length_filter")]
    assert len(pieces) == len({piece["block"] for piece in pieces}) == 20


PAUSING = """
import time
from jinx_pipeline import Mapper, register


@register("pausing_mapper")
class PausingMapper(Mapper):
    seconds: float = 0.004

    @property
    def reads(self):
        return ("text",)

    def process(self, batch, ctx):
        time.sleep(self.seconds * len(batch))
        return {}
"""


def test_the_recipe_of_the_benchmark_has_the_same_bytes_wherever_it_runs(nodes, tmp_path, monkeypatch):
    made = []
    keep = RayWorkers.__init__
    monkeypatch.setattr(RayWorkers, "__init__", lambda self, *a, **more: (made.append(self), keep(self, *a, **more))[0])
    write_documents(tmp_path / "documents.jsonl", 2000)
    operators = tmp_path / "pausing.py"
    operators.write_text(PAUSING)
    recipe = tmp_path / "recipe.yaml"
    steps = {"process": [*RECIPE[:1], {"pausing_mapper": {}}, *RECIPE[1:]], "block_rows": 100}
    where = {"dataset": {"path": str(tmp_path / "documents.jsonl")}, "custom_operators": [str(operators)]}
    recipe.write_text(json.dumps({**steps, **where}))

    def run(name, **options):
        what = read_recipe(recipe, **options)
        return Run(replace(what, export=Export(str(tmp_path / name))))()

    def on_ray(name, **options):
        return run(name, engine="ray", **options)

    assert run("local", workers=2).ok
    expected = digest(tmp_path / "local")
    nodes.need(2)
    assert on_ray("one", workers=1).ok
    nodes.need(4)

    def kill_worker():
        os.kill(next(iter(made[-1].pids().values())), signal.SIGKILL)

    out = tmp_path / "four"
    steps = (4, kill_worker), (8, lambda: nodes.kill_one_at_work(out))
    assert run_during(out, lambda: on_ray("four", workers=4), *steps).ok
    assert {event["cause"] for event in events_of(out, "died")} == {Cause.DIED.value, Cause.NODE.value}

    program = [
        str(Path(sys.executable).with_name("jinx-pipeline")),
        "run",
        str(recipe),
        "--out",
        str(tmp_path / "again"),
    ]
    command = [*program, "--engine", "ray", "--ray-address", nodes.cluster.address, "--progress", "none"]
    driver = subprocess.Popen(command)
    while lines_of(log_of(tmp_path / "again.work")) < 6 and driver.poll() is None:
        time.sleep(0.02)
    driver.kill()
    assert driver.wait() == -signal.SIGKILL
    subprocess.run(command, check=True)
    assert {digest(tmp_path / name) for name in ("one", "four", "again")} == {expected}


@pytest.mark.parametrize("operator", ["document_minhash_deduplicator", "sort"])
def test_a_node_that_is_lost_inside_a_phase_changes_nothing(nodes, tmp_path, monkeypatch, operator):
    data = write_data(tmp_path)
    assert chain(data).export(tmp_path / "calm", workers=1, **OPTIONS).ok
    divide_much(monkeypatch)
    nodes.need(2)
    out, hold = tmp_path / "out", tmp_path / "hold"
    Path(f"{hold}.mortal_{operator}").touch()

    def export():
        return chain(data, hold=str(hold)).export(out, engine=jp.Ray(workers=2), **OPTIONS)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(export)
        while not (held := [file.suffix[1:] for file in tmp_path.glob("hold.[0-9]*")]):
            assert not running.done() or running.result() is None, "the run ended too early"
            time.sleep(0.05)
        nodes.kill_parent(int(held[0]))
        assert running.result().ok
    assert [event["cause"] for event in events_of(out, "died")] == [Cause.NODE.value]
    assert digest(out) == digest(tmp_path / "calm")


PHASE_DRIVER = """
import sys
from pathlib import Path
from pytest import MonkeyPatch
import jinx_pipeline as jp
from pipeline.global_ops.everything import OPTIONS, chain, divide_much

if __name__ == "__main__":
    data, hold, out, address = sys.argv[1:]
    divide_much(MonkeyPatch())
    chain(Path(data), hold=hold).export(out, engine=jp.Ray(address, workers=2), **OPTIONS)
"""


def test_a_driver_that_is_killed_inside_a_phase_is_resumed(nodes, tmp_path, monkeypatch):
    data = write_data(tmp_path)
    assert chain(data).export(tmp_path / "calm", workers=1, **OPTIONS).ok
    divide_much(monkeypatch)
    nodes.need(2)
    out, hold, script = tmp_path / "out", tmp_path / "hold", tmp_path / "driver.py"
    Path(f"{hold}.mortal_document_minhash_deduplicator").touch()
    script.write_text(PHASE_DRIVER)
    command = [sys.executable, str(script), str(data), str(hold), str(out), nodes.cluster.address]
    driver = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    while not any(tmp_path.glob("hold.[0-9]*")) and driver.poll() is None:
        time.sleep(0.05)
    driver.kill()
    assert driver.wait() == -signal.SIGKILL
    result = chain(data, hold=str(hold)).export(out, engine=jp.Ray(workers=2), **OPTIONS)
    assert result.ok
    assert result.resumed
    assert digest(out) == digest(tmp_path / "calm")


def add_without_the_package(nodes, folder):
    (folder / "sitecustomize.py").write_text("import sys\nsys.modules['jinx_pipeline'] = None\n")
    return nodes.cluster.add_node(num_cpus=1, object_store_memory=STORE, env_vars={"PYTHONPATH": str(folder)})


def test_a_node_that_joins_late_without_the_package_gets_no_work(nodes, data, options, calm, tmp_path):
    nodes.need(1)
    out, bare = tmp_path / "out", []

    def add():
        bare.append(add_without_the_package(nodes, tmp_path))

    def export():
        return recipe(data, 0.1).export(out, engine=jp.Ray(workers=len(nodes.nodes) + 1), **options)

    try:
        assert run_during(out, export, (2, add)).ok
    finally:
        nodes.cluster.remove_node(bare[0], allow_graceful=False)
    assert digest(out) == calm
    (died,) = events_of(out, "died")
    assert "jinx-pipeline cannot be imported there" in died["what"]
    assert died["cause"] == Cause.NODE.value
    assert bare[0].node_id not in {event["node"] for event in events_of(out, "ready")}


def test_a_node_without_the_package_is_named(nodes, data, options, tmp_path):
    nodes.need(1)
    bare = add_without_the_package(nodes, tmp_path)
    try:
        with pytest.raises(RuntimeError, match=r"node .*: jinx-pipeline cannot be imported there .*on every node"):
            recipe(data).export(tmp_path / "out", engine=jp.Ray(), **options)
    finally:
        nodes.cluster.remove_node(bare, allow_graceful=False)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("other", [{"ray_version": "2.59.0"}, {"python_version": "3.99.1"}])
def test_a_cluster_of_other_versions_is_named(nodes, data, tmp_path, other):
    from ray._common.usage.usage_constants import CLUSTER_METADATA_KEY as KEY
    from ray._private.ray_constants import KV_NAMESPACE_CLUSTER as SPACE
    from ray._raylet import GcsClient

    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(json.dumps({"dataset": {"path": str(data)}, "process": [{"text_length_filter": {}}]}))
    cluster = GcsClient(address=nodes.cluster.address)
    # What `ray start` notes, and every process that joins compares with its own.
    noted = cluster.internal_kv_get(KEY, SPACE)
    cluster.internal_kv_put(KEY, json.dumps({**json.loads(noted), **other}).encode(), True, SPACE)
    try:
        program = [str(Path(sys.executable).with_name("jinx-pipeline")), "run", str(recipe)]
        where = ["--engine", "ray", "--ray-address", nodes.cluster.address, "--out", str(tmp_path / "out")]
        told = subprocess.run([*program, *where], check=False, capture_output=True, text=True)
    finally:
        cluster.internal_kv_put(KEY, noted, True, SPACE)
    assert told.returncode == 1
    assert told.stderr.count("\n") == 1, told.stderr
    here = {"ray_version": ray.__version__, "python_version": ".".join(map(str, sys.version_info[:3]))}
    for versions in (here, {**here, **other}):
        assert f"Ray: {versions['ray_version']} Python: {versions['python_version']}" in told.stderr
    assert "need the same versions of Ray and Python" in told.stderr
