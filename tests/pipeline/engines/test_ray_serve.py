"""Models behind Ray Serve: replicas that die and answers that ask to wait cost no sample."""

import json
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import jinx_pipeline as jp
from jinx_pipeline import serving
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.engines.driver import StoppedError
from jinx_pipeline.operators.api.retry_after import BusyError
from jinx_pipeline.serving import Served, requested_wait
from pipeline.made import rows_of, write_input

ray = pytest.importorskip("ray", reason="Ray is not installed: requirements/ray.txt")
serve = pytest.importorskip("ray.serve", reason="Ray Serve is not installed: requirements/ray.txt")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

OPERATORS = '''
from jinx_pipeline import Mapper, register
from jinx_pipeline.serving import served


@register("asking_mapper")
class AskingMapper(Mapper):
    """Asks an application for each sample."""

    app: str = "doubler"

    @property
    def reads(self):
        return ("n",)

    @property
    def writes(self):
        return ("answer",)

    def process(self, batch, ctx):
        return {"answer": list(ctx.model(self.app, served).map(batch.column("n")))}
'''


class TooManyError(Exception):
    """As a web framework raises it."""

    def __init__(self, seconds):
        super().__init__("too many requests")
        self.status_code = 429
        self.headers = {"Retry-After": str(seconds)}


class Doubler:
    """Doubles numbers; one of them kills the replica once, and from another on it is busy for a while."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, number):
        if number == 57 and self._first("killed"):
            os.kill(os.getpid(), signal.SIGKILL)
        if number == 88 and self._first("busy"):
            raise TooManyError(0.2)
        # The fifth time is once more than a request is repeated: the operator is called again. Four are for a worker
        # that does the slow block as well.
        if number == 188 and any(self._first(f"very busy {refusal}") for refusal in range(9)):
            raise TooManyError(1.3)
        return 2 * number

    def _first(self, name):
        path = Path(self.folder) / name
        if path.exists():
            return False
        path.touch()
        return True


@pytest.fixture(scope="module")
def operators(tmp_path_factory):
    path = tmp_path_factory.mktemp("operators") / "asking.py"
    path.write_text(OPERATORS, "utf-8")
    jp.load_file(path)
    return {"custom_operators": (str(path),), "block_rows": 40}


@pytest.fixture(scope="module")
def notes(tmp_path_factory):
    """Where the application notes what it has done; it runs while this is used."""
    folder = tmp_path_factory.mktemp("notes")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(address="local", num_cpus=3, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000)
    options = {"num_replicas": 2, "ray_actor_options": {"num_cpus": 0.1}, "health_check_period_s": 1}
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # replicas do not find this file
    serve.start(http_options={"location": "NoServer"})
    serve.run(serve.deployment(Doubler, **options).bind(str(folder)), name="doubler", route_prefix=None)
    yield folder
    serve.shutdown()
    ray.shutdown()


def test_no_sample_is_lost_where_a_replica_dies_and_others_are_busy(operators, notes, tmp_path):
    data = write_input(tmp_path / "in.jinx", rows=240)
    flow = Dataset.load(data).process(jp.create("asking_mapper"))
    result = flow.export(tmp_path / "out", engine=jp.Ray(workers=2), **operators)
    assert result.ok
    assert [row["answer"] for row in rows_of(tmp_path / "out")] == [2 * n for n in range(240)]
    assert {file.name for file in notes.iterdir()} == {
        "killed",
        "busy",
        *(f"very busy {refusal}" for refusal in range(9)),
    }
    events = [json.loads(line) for line in (tmp_path / "out.work" / "events.jsonl").read_text().splitlines()]
    assert not [event for event in events if event["kind"] in {"failed", "died"}]


def test_an_application_that_is_not_there_stops_the_run(operators, notes, tmp_path):
    data = write_input(tmp_path / "in.jinx", rows=10)
    flow = Dataset.load(data).process(jp.create("asking_mapper", app="nobody"))
    with pytest.raises(StoppedError, match=r"no application 'nobody' of Ray Serve: .*start it with `serve run`"):
        flow.export(tmp_path / "out", engine=jp.Ray(workers=1), **operators)


class Response:
    def __init__(self, error, value=None):
        self.error = error
        self.value = value

    def result(self, timeout_s):
        if self.error is not None:
            raise self.error
        return self.value

    def cancel(self):
        pass


class Handle:
    def __init__(self, error):
        self.error = error
        self.asked = 0

    def remote(self, value):
        self.asked += 1
        return Response(self.error)


def test_a_request_that_kills_every_replica_is_given_up(monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda _: None)
    handle = Handle(ray.exceptions.ActorDiedError())
    with pytest.raises(RuntimeError, match="3 replicas of one died with this request"):
        Served("one", handle)(1)
    assert handle.asked == 3


class Clock:
    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.mark.parametrize(("asked", "waits", "last"), [(60, 4, 60), ("inf", 4, 600), ("nan", 4, 5), (0, 10, 0.5)])
def test_an_application_that_stays_busy_sends_the_block_back(monkeypatch, asked, waits, last):
    clock = Clock()
    monkeypatch.setattr(serving, "time", clock)
    handle = Handle(TooManyError(asked))
    with pytest.raises(BusyError, match="one is busy") as caught:
        Served("one", handle)(1)
    assert (handle.asked, clock.now, caught.value.retry_after) == (waits + 1, waits * last, last)


def test_an_application_that_is_busy_now_and_then_answers_the_whole_block(monkeypatch):
    monkeypatch.setattr(serving, "time", Clock())
    asked = Counter()

    class Moody:
        def remote(self, value):
            asked[value] += 1
            return Response(TooManyError(60) if asked[value] == 1 else None, value)

    assert list(Served("one", Moody()).map(range(12))) == list(range(12))
    assert set(asked.values()) == {2}


def test_what_asks_to_wait():
    from ray.serve.exceptions import BackPressureError

    assert requested_wait(BackPressureError(num_queued_requests=3, max_queued_requests=3)) == 0.5
    assert requested_wait(TooManyError("soon")) == 5
    assert requested_wait(ValueError("no")) is None
