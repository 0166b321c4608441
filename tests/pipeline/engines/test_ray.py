"""Whole runs on a Ray cluster of one node: the bytes of the local engine, whatever happens."""

import json
import os
import signal
import threading
import time

import pytest

import jinx_pipeline as jp
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.engines.ray.cluster import RayCluster
from jinx_pipeline.engines.ray.node_check import node_check
from jinx_pipeline.engines.ray.worker_actors import RayWorkers
from jinx_pipeline.engines.worker_backend import Died, Ready, Request
from jinx_pipeline.plan.source import Source
from jinx_pipeline.plan.stage import Stage
from jinx_pipeline.recipe.model import Options
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.schedule.task import Cause, Task
from jinx_pipeline.worker.map_work import MapWork
from pipeline.made import digest, loaded_operators, log_of, rows_of, write_input

ray = pytest.importorskip("ray", reason="Ray is not installed: requirements/ray.txt")

pytestmark = [pytest.mark.slow, pytest.mark.cluster, pytest.mark.usefixtures("cluster")]


ONE_CPU = {"CPU": 1}


@pytest.fixture(scope="module")
def cluster():
    """A connection that the runs use and leave as it is."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000)
    yield RayCluster(ray)
    ray.shutdown()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_input(tmp_path_factory.mktemp("data") / "in.jinx")


def recipe(data, seconds=0.0):
    return Dataset.load(data).process(
        [jp.ops.TextLengthFilter(max_len=75), jp.create("slow_filter", seconds=seconds), doubled]
    )


def doubled(sample):
    return {**sample, "twice": 2 * sample["n"]}


@pytest.fixture(scope="module")
def options():
    return {"block_rows": 40, "custom_operators": (str(loaded_operators()),)}


@pytest.fixture(scope="module")
def calm(data, options, tmp_path_factory):
    out = tmp_path_factory.mktemp("calm") / "out"
    assert recipe(data).export(out, workers=1, **options).ok
    return out


@pytest.mark.parametrize("workers", [1, 2])
def test_ray_gives_the_bytes_of_the_local_engine(data, options, calm, tmp_path, workers):
    result = recipe(data).export(tmp_path / "out", engine=jp.Ray(workers=workers), **options)
    assert result.ok
    assert digest(tmp_path / "out") == digest(calm)
    events = [json.loads(line) for line in (tmp_path / "out.work" / "events.jsonl").read_text().splitlines()]
    assert sum(event["kind"] == "block" for event in events) == 10
    assert [operator.operator for operator in result.operators][:2] == ["text_length_filter", "slow_filter"]


@pytest.mark.cluster_short
def test_killed_actors_change_nothing(data, options, calm, tmp_path, monkeypatch):
    made, killed = [], []
    keep = RayWorkers.__init__
    monkeypatch.setattr(RayWorkers, "__init__", lambda self, *a, **more: (made.append(self), keep(self, *a, **more))[0])

    def kill_twice():
        while len(killed) < 2:
            time.sleep(0.05)
            working = [item for item in (made[0].pids().values() if made else ()) if item not in killed]
            if working and log_of(tmp_path / "out.work").stat().st_size > 200 * (len(killed) + 1):
                os.kill(working[0], signal.SIGKILL)
                killed.append(working[0])

    killer = threading.Thread(target=kill_twice, daemon=True)
    killer.start()
    result = recipe(data, seconds=0.01).export(tmp_path / "out", engine=jp.Ray(workers=2), **options)
    killer.join(10)
    assert len(killed) == 2
    assert result.ok
    assert digest(tmp_path / "out") == digest(calm)
    events = [json.loads(line) for line in (tmp_path / "out.work" / "events.jsonl").read_text().splitlines()]
    assert [event["cause"] for event in events if event["kind"] == "died"] == [Cause.DIED.value] * 2


def test_a_row_that_kills_its_actor_is_the_only_one_lost(data, options, tmp_path):
    flow = Dataset.load(data).process(jp.create("fragile_mapper", kills=[123]))
    with pytest.warns(jp.BadRowsWarning):
        result = flow.export(tmp_path / "out", engine=jp.Ray(workers=2), **{**options, "block_rows": 200})
    (bad,) = result.bad_rows
    assert (bad.row, bad.operator) == (123, "fragile_mapper")
    assert bad.error.startswith("the worker died: ")
    assert [row["n"] for row in rows_of(tmp_path / "out")] == [n for n in range(400) if n != 123]
    assert not list(log_of(tmp_path / "out.work").with_name("parts").glob("*.last-words"))


def test_an_actor_above_its_memory_limit_costs_one_row(data, options, tmp_path):
    flow = Dataset.load(data).process(jp.create("hungry_mapper", rows=[7], megabytes=600))
    more = {**options, "block_rows": 200, "memory": "400MB"}
    with pytest.warns(jp.BadRowsWarning):
        result = flow.export(tmp_path / "out", engine=jp.Ray(workers=1), **more)
    (bad,) = result.bad_rows
    assert (bad.row, bad.operator) == (7, "hungry_mapper")
    assert bad.error == "the worker exceeded its memory limit: killed: it used more than 400,000,000 bytes of memory"
    assert result.rows_out == 399


def test_more_workers_than_the_cluster_holds_wait_and_hold_nothing_up(data, options, calm, tmp_path):
    recipe(data).export(tmp_path / "out", engine=jp.Ray(workers=5), **options)
    assert digest(tmp_path / "out") == digest(calm)
    assert ray.is_initialized()  # the connection is the caller's


def lose(workers, name):
    """What happens when the answer of a worker is lost together with the connection to it."""
    actor = workers._actors[name]
    error = ray.exceptions.ActorUnavailableError("away", actor.handle._actor_id.binary())
    event = workers._error_event(actor, "", error)
    assert isinstance(event, Died)
    assert event.cause is Cause.NODE


@pytest.fixture
def workers(cluster, tmp_path):
    (tmp_path / "parts").mkdir()
    made = RayWorkers(cluster, node_check(tmp_path, []), tmp_path, {"cpu": {"CPU": 2}})
    yield made
    made.close()


def test_a_worker_that_was_not_reachable_takes_the_place_of_one_that_waits(workers):
    first = workers.start("cpu")
    assert news_of(workers) == [Ready(first)]
    pid = workers.pids()[first]
    lose(workers, first)
    second = workers.start("cpu")  # the first one holds all CPUs
    assert news_of(workers) == [Ready(second)]
    assert workers.pids() == {second: pid}


def test_a_worker_that_was_not_reachable_and_is_not_needed_is_ended(workers):
    first = workers.start("cpu")
    assert news_of(workers) == [Ready(first)]
    handle = workers._actors[first].handle
    lose(workers, first)
    ended = time.monotonic() + 30
    while workers._doubtful and time.monotonic() < ended:
        assert workers.events(0.5) == []
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(handle.prepare.remote(lambda: None, workers._settings), timeout=30)


def test_a_stage_is_sent_again_where_its_first_call_was_lost(workers, data, tmp_path):
    workers.load_work("0.0", MapWork(Stage([], [], Roles(), "rows")))
    request = Request("0.0", Source((str(data),)), Task("0.0", 0, 0, 3), 0, str(tmp_path / "parts" / "p.jinx"))
    first = workers.start("cpu")
    assert news_of(workers) == [Ready(first)]
    workers.submit(first, request)
    workers._actors[first].calls.clear()  # lost on its way
    lost = workers._actors[first].handle
    lose(workers, first)
    second = workers.start("cpu")
    assert news_of(workers) == [Ready(second)]
    assert workers._actors[second].handle is lost
    assert "0.0" not in workers._actors[second].known_works
    workers.submit(second, request)
    (answer,) = news_of(workers)
    assert (answer.attempt, answer.receipt.rows_out) == (0, 3)
    assert workers._actors[second].known_works == {"0.0"}


def test_a_node_that_was_not_reachable_is_avoided_until_it_answers(workers):
    first = workers.start("cpu")
    assert news_of(workers) == [Ready(first)]
    node = workers._actors[first].node
    lose(workers, first)
    second = workers.start("cpu")
    assert workers._actors[second].avoided == {node}
    assert news_of(workers) == [Ready(second)]
    assert not workers._avoided()


def test_a_worker_that_ray_kills_because_its_node_is_short_of_memory(workers):
    first = workers.start("cpu")
    assert news_of(workers) == [Ready(first)]
    actor = workers._actors[first]
    workers._end(actor)
    what = (
        f"1 worker(s) were killed due to the node running low on memory. Memory on the node (IP: ::1, ID: {actor.node})"
    )
    event = workers._error_event(actor, "", ray.exceptions.OutOfMemoryError(f"{what}\nOOM kill reason: ..."))
    assert event == Died(first, Cause.NODE_MEMORY, what)
    second = workers.start("cpu")
    assert workers._actors[second].avoided == {actor.node}
    assert news_of(workers) == [Ready(second)]  # after some seconds, on the same node


def news_of(workers):
    news = []
    while not news:
        news = workers.events(5.0)
    return news


@pytest.mark.parametrize("workers", [None, 2])
def test_resources_that_no_node_has_are_refused_before_anything_starts(data, options, tmp_path, workers):
    engine = jp.Ray(workers=workers, resources={"fast_disk": 1})
    with pytest.raises(jp.RecipeError, match=r"no node .* \(CPU: 1, fast_disk: 1\); the most .* fast_disk: 0"):
        recipe(data).export(tmp_path / "out", engine=engine, **options)
    assert not (tmp_path / "out").exists()


def test_storage_that_a_node_does_not_see_is_named(cluster, tmp_path):
    (tmp_path / "parts").mkdir()
    with pytest.raises(RuntimeError, match=r"node .*: /nowhere/in.jinx does not exist; all nodes must see the same"):
        cluster.check_nodes(node_check(tmp_path, ["/nowhere/in.jinx"]), [ONE_CPU])
    check = node_check(tmp_path, [])
    (tmp_path / "token").write_text("of another driver")
    with pytest.raises(RuntimeError, match="token is another file than the driver's"):
        cluster.check_nodes(check, [ONE_CPU])
    (tmp_path / "token").unlink()
    with pytest.raises(RuntimeError, match=r"cannot read .*token"):
        cluster.check_nodes(check, [ONE_CPU])


def test_the_node_of_the_driver_is_checked_without_a_process_of_ray(cluster):
    checked_by = []
    cluster.check_nodes(lambda: checked_by.append(os.getpid()), [ONE_CPU])
    assert checked_by == [os.getpid()]


def test_the_options_of_a_recipe_name_the_same_engine():
    assert Options(**jp.Ray("10.0.0.1:6379", workers=3).options()) == Options(
        engine="ray", ray_address="10.0.0.1:6379", workers=3
    )


def hangs_at_123(sample):
    while sample["n"] == 123:
        time.sleep(0.1)
    return sample


def test_a_row_that_hangs_its_actor_is_the_only_one_lost(data, options, tmp_path):
    more = {**options, "block_rows": 200, "row_seconds": 0.5}
    with pytest.warns(jp.BadRowsWarning):
        result = Dataset.load(data).process(hangs_at_123).export(tmp_path / "out", engine=jp.Ray(workers=2), **more)
    (bad,) = result.bad_rows
    assert (bad.row, bad.operator) == (123, "hangs_at_123")
    assert bad.error == "the worker exceeded its time limit: no row was finished for 0.5 s (row_seconds=0.5)"
    assert result.rows_out == 399
