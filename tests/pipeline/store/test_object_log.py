"""A log in an object store: no line is lost, twice, or between those of another process, whatever the store does."""

import random

import pytest

from jinx_pipeline.runlog.records import Partitions
from jinx_pipeline.runlog.run_log import LostEpochError, RunLog
from jinx_pipeline.store import mirror, object_log
from jinx_pipeline.store.object_log import ObjectLog
from pipeline.store.objects import Objects

URL = "s3://bucket/work/runs/r/log.jsonl"


@pytest.fixture
def objects(monkeypatch):
    made = Objects()
    for module in (mirror, object_log):
        monkeypatch.setattr(module, "object_store", lambda: made)
    monkeypatch.setattr(object_log, "_SIZE_SECONDS", 0.0)
    monkeypatch.setattr(mirror, "_FIRST_DELAY_SECONDS", 0.001)
    opened = []
    real = ObjectLog.__init__
    monkeypatch.setattr(ObjectLog, "__init__", lambda self, url: (opened.append(self), real(self, url))[1])
    yield made
    for log in opened:
        log.close()


class Driver:
    """A driver, and the nodes of the records that count for it."""

    def __init__(self, name):
        self.nodes = []
        self.log = RunLog(ObjectLog(URL), lambda record, _: self.nodes.append(record.node))
        self.log.claim(name)

    def add(self, *nodes):
        for node in nodes:
            self.log.append(Partitions(node, 1, 1))
        self.log.sync()


def counted():
    nodes = []
    RunLog(ObjectLog(URL), lambda record, _: nodes.append(record.node)).close()
    return nodes


def test_lines_come_back_in_order_with_their_places(objects):
    log = ObjectLog(URL)
    log.begin(b"first\n")
    with pytest.raises(FileExistsError):
        ObjectLog(URL).begin(b"other\n")
    assert list(log.lines()) == [b"first\n"]
    places = [log.append(b"second\n"), log.append(b"third\n")]
    log.sync()
    log.sync()
    places.append(log.append(b"fourth\n"))
    log.sync()
    assert len(objects.data) == 3
    other = ObjectLog(URL)
    assert list(other.lines(6)) == [b"second\n", b"third\n", b"fourth\n"]
    assert list(other.lines_at(places[::-1])) == [b"fourth\n", b"third\n", b"second\n"]
    assert other.size() == log.size() == 6 + 7 + 6 + 7


def test_many_lines_are_in_objects_of_a_limited_size(objects, monkeypatch):
    monkeypatch.setattr(object_log, "_OBJECT_BYTES", 10)
    log = ObjectLog(URL)
    log.begin(b"0\n")
    list(log.lines())
    lines = [b"1\n", b"22222\n", b"333\n", b"more than an object\n", b"4\n", b"5\n"]
    places = [log.append(line) for line in lines]
    log.sync()
    assert [found.data for _, found in sorted(objects.data.items())] == [
        b"0\n",
        b"1\n22222\n",
        b"333\n",
        b"more than an object\n",
        b"4\n5\n",
    ]
    assert list(log.lines_at(places)) == list(ObjectLog(URL).lines_at(places)) == lines
    # An object of another process between ours is noticed, and the lines after it are not in the log.
    objects.put_if_absent(f"{URL}/{6:010}", b"other\n")
    for line in lines:
        log.append(line)
    with pytest.raises(FileExistsError):
        log.sync()
    assert list(ObjectLog(URL).lines())[-4:] == [b"5\n", b"1\n", b"22222\n", b"other\n"]


def test_an_incomplete_line_is_shown(objects):
    """Whoever reads the log must see that it is damaged."""
    log = ObjectLog(URL)
    log.begin(b"first\n")
    assert list(log.lines()) == [b"first\n"]
    log.append(b"second\n")
    log.sync()
    last = max(objects.data)
    objects.data[last].data = objects.data[last].data[:-4]
    assert list(ObjectLog(URL).lines()) == [b"first\n", b"sec"]


def test_a_listing_that_is_old_hides_no_line(objects):
    log = ObjectLog(URL)
    log.begin(b"0\n")
    list(log.lines())
    for number in range(1, 40):
        log.append(b"%d\n" % number)
        log.sync()
    old = objects.list
    objects.list = lambda url, **more: old(url, **more)[:-7]
    assert [int(line) for line in ObjectLog(URL).lines()] == list(range(40))


def test_a_log_that_is_not_there_has_no_size(objects):
    log = ObjectLog(URL)
    log.begin(b"0\n")
    list(log.lines())
    objects.data.clear()
    # `RunDirectory.refuse_other_run` notices that, before anything is recorded.
    assert log.size() == 2
    assert ObjectLog(URL).size() is None
    with pytest.raises(FileNotFoundError):
        list(ObjectLog(URL).lines())


def test_the_first_of_two_drivers_is_refused_at_its_next_line(objects):
    RunLog.create(ObjectLog(URL), "r", {})
    first = Driver("a")
    first.add("one")
    second = Driver("b")
    assert second.nodes == ["one"]
    with pytest.raises(LostEpochError):
        first.add("two")
    second.add("three")
    assert counted() == ["one", "three"]


def test_of_drivers_that_claim_at_once_one_is_accepted(objects):
    RunLog.create(ObjectLog(URL), "r", {})
    logs = [RunLog(ObjectLog(URL), lambda *_: None) for _ in range(3)]
    refused = 0
    for number, log in enumerate(logs):
        catch_up, log._catch_up = log._catch_up, lambda: None
        try:
            log.claim(f"driver {number}")
        except LostEpochError:
            refused += 1
        log._catch_up = catch_up
    assert refused >= 2


@pytest.mark.parametrize("seed", range(60))
def test_drivers_over_a_store_that_answers_late_or_not_lose_nothing_and_have_nothing_twice(objects, monkeypatch, seed):
    """A driver believes what `sync` has returned for; the next drivers, after kills at any request, must agree."""
    dice = random.Random(seed)
    monkeypatch.setattr(mirror, "PATIENCE_SECONDS", 0.0)
    RunLog.create(ObjectLog(URL), "r", {})
    believed: list[str] = []
    for number in range(6):
        objects.faults = [lambda method, url: dice.choices([None, "fail", "lost"], [8, 1, 1])[0]]
        try:
            driver = Driver(f"driver {number}")
            assert driver.nodes[: len(believed)] == believed or set(believed) <= set(driver.nodes)
            for step in range(8):
                names = [f"{number}.{step}.{part}" for part in range(dice.randrange(1, 3))]
                driver.add(*names)
                believed += names
        except (OSError, LostEpochError):
            pass  # it ends here, in the middle of anything
    objects.faults = []
    nodes = counted()
    assert len(nodes) == len(set(nodes))
    assert [name for name in nodes if name in set(believed)] == believed


def test_a_line_without_an_end_is_written_and_waits_for_nothing(objects):
    log = ObjectLog(URL)
    log.begin(b"first\n")
    assert log.size() == 6
    log.append(b"second\nthird")
    log.sync()
    assert list(ObjectLog(URL).lines()) == [b"first\n", b"second\n", b"third"]
