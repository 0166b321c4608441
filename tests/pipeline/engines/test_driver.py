"""The driver with workers that do what a script says: orders of events that are rare with processes."""

import io
import time

import pytest

from jinx_pipeline.engines.driver import Driver, Observer, StoppedError
from jinx_pipeline.engines.worker_backend import Died, Failed, Finished, Ready, Stopped
from jinx_pipeline.engines.worker_pool import WorkerPool
from jinx_pipeline.model.receipt import Receipt
from jinx_pipeline.plan.source import Source
from jinx_pipeline.plan.stage import Stage
from jinx_pipeline.report.progress import Progress
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.run_log import RunLog
from jinx_pipeline.runlog.work_dir import WorkDir
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.schedule.graph import Graph, Node, Stream
from jinx_pipeline.schedule.task import Cause, Limits
from jinx_pipeline.worker.map_work import MapWork


class Scripted:
    """Workers whose tasks end at once, unless `script` returns other events."""

    may_lack_room = True

    def __init__(self, script, *, passes_on=False, ahead=False):
        self.script, self.passes_on, self.ahead = script, passes_on, ahead
        self.stopped = []
        self.started, self.killed, self.tasks, self.news, self.patience = [], [], [], [], []

    def start(self, pool):
        self.started.append(f"{pool}-{len(self.started) + 1}")
        return self.started[-1]

    def load_work(self, key, work):
        pass

    def submit(self, worker, request):
        self.tasks.append((worker, request))
        part = Receipt("part", 10) if request.work.endswith(".0") and self.passes_on else Receipt(None, 0)
        self.news.append(Finished(worker, request.attempt, part))

    def takes_ahead(self, worker):
        return self.ahead

    def stop(self, worker, attempt):
        self.stopped.append((worker, attempt))

    def events(self, timeout):
        self.patience.append(timeout)
        news, self.news = self.news, []
        return self.script(self, news)

    def busy_with(self, worker):
        return "slow_filter"

    def kill(self, worker):
        self.killed.append(worker)

    def close(self):
        pass


class InFile:
    """Streams of one input file, whose rows are known by their numbers."""

    def read_by(self, task):
        return Source(("in.jinx",)), task

    def named(self, node, bad):
        return bad

    def counts(self, node):
        return True


def graph_of(groups, pools):
    """For each group of blocks a source and a node for each pool; a group begins when the one before it is finished."""
    nodes = []
    for number in range(groups):
        after = (nodes[-1].id,) if nodes else ()
        nodes.append(Node(str(number), None, after=after))
        for place, pool in enumerate(pools):
            nodes.append(Node(f"{number}.{place}", pool, (Stream(nodes[-1].id),)))
    return Graph(tuple(nodes))


def begin(driver, number, blocks, pools):
    works = {
        f"{number}.{place}": MapWork(Stage([], [], Roles(), "rows", pool=pool)) for place, pool in enumerate(pools)
    }
    driver.begin(str(number), dict.fromkeys(range(blocks), 10), works)


@pytest.fixture
def ledger(tmp_path):
    with WorkDir(tmp_path / "work") as work_dir:
        with work_dir.new_run() as directory:
            RunLog.create(directory.log, directory.run, {})
        with Ledger(directory) as ledger:
            ledger.claim()
            yield ledger


def done(ledger, node, blocks):
    return [block for block in range(blocks) if ledger.committed(node, block, 10) is not None]


@pytest.fixture
def run(ledger):
    """Runs groups of so many blocks each, one after another, with the same workers."""

    def go(workers, *groups, count=2, pools=("cpu",), worker_pool=None, **more):
        worker_pool = worker_pool or WorkerPool(workers)
        graph = graph_of(len(groups), pools)
        driver = Driver(graph, InFile(), worker_pool, dict.fromkeys(pools, count), ledger, **more)
        for number, blocks in enumerate(groups):
            begin(driver, number, blocks, pools)
            while f"{number}.{len(pools) - 1}" not in driver.take_finished():
                driver.step(0.5)
        driver.run()
        for number, blocks in enumerate(groups):
            assert done(ledger, f"{number}.0", blocks) == list(range(blocks))

    return go


def ready_when_started(workers, news):
    known = getattr(workers, "ready", 0)
    workers.ready = len(workers.started)
    return [*map(Ready, workers.started[known:]), *news]


def test_workers_of_a_node_work_on_in_the_next(run):
    workers = Scripted(ready_when_started)
    run(workers, 3, 3)
    assert workers.started == ["cpu-1", "cpu-2"]
    assert {worker for worker, _ in workers.tasks[3:]} == {"cpu-1", "cpu-2"}


def test_a_worker_that_is_ready_only_in_the_next_node(run):
    def script(workers, news):
        if not workers.tasks:
            return [Ready("cpu-1")]
        in_second = workers.tasks[-1][1].work == "1.0" or not news
        return [Ready("cpu-2"), *news] if in_second and "cpu-2" not in [worker for worker, _ in workers.tasks] else news

    workers = Scripted(script)
    run(workers, 2, 3)
    assert "cpu-2" in [worker for worker, _ in workers.tasks]


def test_idle_workers_that_end_between_nodes_are_no_failed_starts(run):
    def script(workers, news):
        news = ready_when_started(workers, news)
        if not getattr(workers, "ended", False) and workers.tasks[-1:] and workers.tasks[-1][1].work == "1.0":
            workers.ended = True
            idle = set(workers.started) - {event.worker for event in news if isinstance(event, Finished)}
            return [*(Died(worker, Cause.DIED, "killed by SIGKILL") for worker in sorted(idle)), *news]
        return news

    run(Scripted(script), 6, 1, count=6)


@pytest.mark.parametrize("dies", [False, True])
def test_news_of_a_worker_that_was_just_ended_is_not_heard(run, dies):
    """A straggler and the copy of its task end in the same moment; the first to be heard ends the other worker."""
    held = []

    def script(workers, news):
        if not workers.tasks:
            return ready_when_started(workers, news)
        held.extend(event for event in news if event.worker == "cpu-2")
        rest = [event for event in news if event.worker != "cpu-2"]
        if len(workers.tasks) < 3 or not rest:
            return rest
        return [*rest, Died("cpu-2", Cause.DIED, "killed by SIGKILL") if dies else held[0]]

    workers = Scripted(script)
    run(workers, 2, limits=Limits(straggler_factor=0.0, straggler_seconds=0.0))
    assert [worker for worker, _ in workers.tasks] == ["cpu-1", "cpu-2", "cpu-1"]
    assert workers.stopped == [("cpu-2", workers.tasks[1][1].attempt)]
    assert workers.killed == []


@pytest.mark.parametrize("grace", [0.0, 60.0])
def test_a_loser_is_told_and_ended_only_when_it_does_not_leave_its_task(run, monkeypatch, grace):
    """Its worker is at a long batch; meanwhile the others do what is left."""
    monkeypatch.setattr("jinx_pipeline.engines.task_giver._GRACE_SECONDS", grace)
    told = []

    def script(workers, news):
        if not workers.tasks:
            return ready_when_started(workers, news)
        started = ready_when_started(workers, [])
        if grace and workers.stopped and len(told) == 0:
            told.append(workers.stopped[0])
            started.append(Stopped(*workers.stopped[0]))
        return [*started, *(event for event in news if event.attempt != workers.tasks[1][1].attempt)]

    workers = Scripted(script)
    run(workers, 8, 8, limits=Limits(straggler_factor=0.0, straggler_seconds=0.0))
    slow, request = workers.tasks[1]
    assert (slow, request.attempt) in workers.stopped
    assert (slow in workers.killed) == (not grace)
    assert {(request.work, request.task.block) for _, request in workers.tasks} == {
        (f"{n}.0", b) for n in (0, 1) for b in range(8)
    }


def test_a_worker_has_its_next_task_before_it_has_ended_one(run):
    depths = []

    def script(workers, news):
        news = ready_when_started(workers, news)
        if not workers.tasks:
            return news
        depths.append(len(news))
        # What comes second stays with the worker.
        answered = {event.worker: event for event in reversed(news)}
        workers.news = [event for event in news if answered[event.worker] is not event]
        return list(answered.values())

    workers = Scripted(script, ahead=True)
    run(workers, 40, count=2)
    assert max(depths) == 4
    assert depths[-1] <= 2  # the last tasks wait behind no other
    assert sorted(request.task.block for _, request in workers.tasks) == list(range(40))


def test_only_the_task_that_a_worker_is_at_is_blamed_for_its_death(run):
    died = []

    def script(workers, news):
        news = ready_when_started(workers, news)
        if len([event for event in news if isinstance(event, Finished)]) == 2 and not died:
            died.extend(event.attempt for event in news)
            workers.ready = len(workers.started)
            return [Died("cpu-1", Cause.DIED, "killed by SIGKILL")]
        return news

    workers = Scripted(script, ahead=True)
    # One strike more would give up the rows of either task.
    run(workers, 6, count=1, limits=Limits(strikes=2), stop_after_bad=0)
    again = [request.task for _, request in workers.tasks if request.attempt not in died]
    assert {(item.block, item.rows) for item in again} == {(block, 10) for block in range(6)}


def test_a_task_behind_a_long_one_goes_to_whoever_is_idle(run, monkeypatch):
    monkeypatch.setattr("jinx_pipeline.engines.task_giver._RECALL_SECONDS", 0.0)

    def script(workers, news):
        news = ready_when_started(workers, news)
        if not workers.tasks:
            return news
        slow = workers.tasks[0][0]
        if len({item.task.block for worker, item in workers.tasks if worker != slow}) < 9:
            workers.news = [event for event in news if event.worker == slow]
            return [event for event in news if event.worker != slow]
        told = {attempt for _, attempt in workers.stopped}
        return [Stopped(event.worker, event.attempt) if event.attempt in told else event for event in news]

    workers = Scripted(script, ahead=True)
    run(workers, 10, count=2)
    assert len(workers.stopped) == 1
    assert len(workers.tasks) == 11
    assert workers.killed == []


@pytest.mark.parametrize("room", [1, 2])
def test_idle_workers_make_room_for_a_pool_that_cannot_start(run, monkeypatch, room):
    """Workers of the first stage hold all there is, and pause because nothing takes what they have made."""
    monkeypatch.setattr("jinx_pipeline.engines.driver._STARVED_SECONDS", 0.0)
    monkeypatch.setattr("jinx_pipeline.engines.driver._MAKE_ROOM_SECONDS", 0.0)
    live = []

    def script(workers, news):
        live[:] = [worker for worker in live if worker not in workers.killed]
        waiting = [worker for worker in workers.started if worker not in workers.killed and worker not in live]
        begun = waiting[: room - len(live)]
        live.extend(begun)
        return [*map(Ready, begun), *news]

    workers = Scripted(script, passes_on=True)
    run(workers, 9, count=2, pools=("cpu", "gpu"), limits=Limits(queue=3))
    assert any(worker.startswith("cpu") for worker in workers.killed)


@pytest.mark.timeout(60)
def test_workers_that_fail_to_start_do_not_stop_those_that_work(run, monkeypatch):
    monkeypatch.setattr("jinx_pipeline.engines.driver._RESTART_SECONDS", 0.0)

    held = []

    def script(workers, news):
        if not workers.tasks:
            return [Ready("cpu-1")]
        held.extend(news)
        if len(workers.started) < 8:
            return [Died(workers.started[-1], Cause.DIED, "ended with code 1")]
        return [held.pop()]

    workers = Scripted(script)
    run(workers, 3, count=2)
    assert {worker for worker, _ in workers.tasks} == {"cpu-1"}
    assert len(workers.started) >= 8


def test_a_task_that_may_begin_again_but_has_no_worker_is_waited_for(run):
    def script(workers, news):
        if len(workers.started) == 1:
            return [Died("cpu-1", Cause.NODE, "its node was lost")] if workers.tasks else [Ready("cpu-1")]
        time.sleep(0.002)
        return [Ready("cpu-2"), *news] if len(workers.patience) == 6 else news

    workers = Scripted(script)
    run(workers, 1, count=1, limits=Limits(backoff_seconds=0.001))
    assert all(seconds > 0 for seconds in workers.patience)


def test_a_slow_disk_is_waited_for_during_a_part_of_the_time_alone(run, monkeypatch):
    syncs = []
    monkeypatch.setattr(Ledger, "sync", lambda _: (time.sleep(0.12), syncs.append(time.monotonic())))

    def script(workers, news):
        time.sleep(0.01)
        return ready_when_started(workers, news)

    run(Scripted(script), 40, count=1)
    # One for each of the 40 receipts would take ten times as long as all else.
    assert len(syncs) < 10


def test_receipts_are_on_the_disk_before_they_are_told(run, monkeypatch):
    order = []
    sync = RunLog.sync
    monkeypatch.setattr(RunLog, "sync", lambda self: (order.append("sync"), sync(self))[1])

    def told(kind, facts):
        if kind == "block":
            order.append("told")

    run(Scripted(ready_when_started), 4, observer=Observer(told))
    assert order.count("told") == 4
    assert all(order[at - 1] in {"sync", "told"} for at, item in enumerate(order) if item == "told")
    assert order[order.index("told") - 1] == "sync"


def test_many_small_blocks_share_a_sync(run, monkeypatch):
    order, synced = [], []
    sync = Ledger.sync
    monkeypatch.setattr(Ledger, "sync", lambda self: (synced.append(len(order)), sync(self))[1])
    told = Observer(lambda kind, facts: order.append(facts["block"]) if kind == "block" else None)
    begun = time.monotonic()
    run(Scripted(ready_when_started), 300, observer=told)
    seconds = time.monotonic() - begun
    assert order == sorted(order)
    assert len(order) == 300
    # One for each tenth of a second, and those at both ends.
    assert len(set(synced)) <= seconds / 0.1 + 3


def test_a_receipt_costs_no_look_at_all_workers(run):
    looks = []

    class Watched(dict):
        def __iter__(self):
            looks.append("iter")
            return super().__iter__()

        def items(self):
            looks.append("items")
            return super().items()

        def values(self):
            looks.append("values")
            return super().values()

    workers = Scripted(ready_when_started)
    run(workers, 400, count=40, worker_pool=WorkerPool(workers, assignments=Watched()))
    assert len(workers.tasks) == 400
    # To make room, once a second.
    assert len(looks) < 40


def test_workers_that_never_become_ready_stop_the_run(run):
    def script(workers, news):
        return [Died(workers.started[-1], Cause.DIED, "ended with code 1")]

    with pytest.raises(StoppedError, match="before their first task"):
        run(Scripted(script), 3, count=1)


def test_a_run_that_hears_nothing_says_what_it_waits_for(run, monkeypatch):
    monkeypatch.setattr("jinx_pipeline.engines.driver._QUIET_SECONDS", 0.0)
    told = []
    late = iter([True, False, False])

    def script(workers, news):
        return [] if next(late, False) else ready_when_started(workers, news)

    run(Scripted(script), 1, count=1, observer=Observer(lambda kind, facts: told.append((kind, facts))))
    assert told[0] == ("waiting", {"seconds": 0.0, "starting": ["cpu-1"], "working": {}, "operators": {}})


def test_a_run_that_waits_for_an_operator_names_it_and_its_block(run, monkeypatch, capsys):
    monkeypatch.setattr("jinx_pipeline.engines.driver._QUIET_SECONDS", 0.0)
    late = iter([True, True])

    def script(workers, news):
        if workers.tasks and next(late, False):
            workers.news = news
            return []
        return ready_when_started(workers, news)

    with io.StringIO() as log:
        run(Scripted(script), 1, count=1, observer=Observer(Progress("plain", 1, log).event))
    assert "waiting for slow_filter at block 0\n" in capsys.readouterr().err


def test_a_service_that_never_answers_ends_the_run_with_its_operator(run):
    def script(workers, news):
        return [
            Failed(event.worker, event.attempt, Cause.THROTTLED, "asks: 429 insufficient_quota")
            if isinstance(event, Finished)
            else event
            for event in ready_when_started(workers, news)
        ]

    with pytest.raises(StoppedError, match=r"\(asks: 429 insufficient_quota\).*the run is resumed"):
        run(Scripted(script), 1, count=1, limits=Limits(throttles=2, backoff_seconds=0.0))


def test_workers_lost_with_their_nodes_while_they_start_do_not_stop_the_run(run):
    def script(workers, news):
        if len(workers.started) < 10:
            return [Died(workers.started[-1], Cause.NODE, "its node was lost")]
        return [Ready(workers.started[-1])] if not workers.tasks else news

    workers = Scripted(script)
    run(workers, 1, count=1)
    assert len(workers.started) == 10


def test_workers_that_nodes_short_of_memory_cannot_start_stop_the_run_late(run, monkeypatch):
    monkeypatch.setattr("jinx_pipeline.engines.driver._RESTART_SECONDS", 0.0)

    def script(workers, news):
        return [Died(workers.started[-1], Cause.NODE_MEMORY, "1 worker was killed")]

    workers = Scripted(script)
    with pytest.raises(StoppedError, match="workers end before their first task"):
        run(workers, 1, count=1)
    assert len(workers.started) == 12


def test_a_driver_that_is_cancelled_keeps_what_is_committed_and_can_go_on(ledger):
    """Between two steps the caller decides; the second driver does what the first has left."""

    def one_at_a_time(workers, news):
        ready = [Ready(name) for name in workers.started[getattr(workers, "ready", 0) :]]
        workers.ready = len(workers.started)
        workers.news = news[1:]
        return [*ready, *news[:1]]

    def driver_with(workers):
        made = Driver(graph_of(1, ["cpu"]), InFile(), WorkerPool(workers), {"cpu": 2}, ledger)
        begin(made, 0, 6, ["cpu"])
        return made

    workers = Scripted(one_at_a_time)
    first = driver_with(workers)
    steps = 0
    while len(done(ledger, "0.0", 6)) < 3:
        first.step(0.0)
        steps += 1
    first.cancel()
    assert not first.finished
    assert steps < 20
    committed = len(done(ledger, "0.0", 6))
    assert set(workers.killed) <= set(workers.started)
    again = Scripted(one_at_a_time)
    second = driver_with(again)
    second.run()
    assert second.finished
    assert len(again.tasks) == 6 - committed
