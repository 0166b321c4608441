"""The run log: what was written stays, of one driver at a time."""

import json
import os

import pytest
from tests.pipeline.store.faults import FaultLog

from jinx_pipeline.model.receipt import BadRow, Receipt
from jinx_pipeline.runlog.records import VERSION, Committed, Partitions
from jinx_pipeline.runlog.run_log import LostEpochError, RunLog, RunLogError
from jinx_pipeline.store.local_log import LocalLog

OPEN = []


@pytest.fixture(autouse=True)
def closed():
    yield
    while OPEN:
        OPEN.pop().close()


class Applied:
    """A log with the nodes of the records that counted, in order."""

    def __init__(self, path, driver=None):
        self.nodes = []
        self.log = RunLog(LocalLog(path), lambda record, place: self.nodes.append(record.node))
        OPEN.append(self.log)
        if driver is not None:
            self.log.claim(driver)

    def add(self, node, *, sync=True):
        self.log.append(Partitions(node, 1, 100))
        if sync:
            self.log.sync()


def nodes_in(path):
    return Applied(path).nodes


@pytest.fixture
def path(tmp_path):
    RunLog.create(LocalLog(tmp_path / "log.jsonl"), "r", {"rows": 1})
    return tmp_path / "log.jsonl"


def test_a_record_reads_back_as_it_was_written(path):
    with RunLog(LocalLog(path), lambda *_: None) as log:
        log.claim("a")
        receipt = Receipt(
            "part", 3, bad=[BadRow(1, "op", "\udcff is no text")], traces=[{"id": "\ud800", "n": 1 << 70}]
        )
        record = Committed("0.0", 1, 0, 4, 2, receipt)
        place = log.append(record)
        log.append(Partitions("0.0", 2, 100))
        assert list(log.records_at([place])) == [record]
    found = []
    RunLog(LocalLog(path), lambda record, place: found.append(record))
    applied = found[0]
    assert (applied.node, applied.block, applied.rows, applied.receipt.part) == ("0.0", 1, 4, "part")
    assert (applied.receipt.rows_out, len(applied.receipt.bad), applied.epoch) == (3, 1, 1)


def test_people_can_read_it(path):
    Applied(path, "a").add("0.0")
    records = list(map(json.loads, path.read_text().splitlines()))
    assert [record["kind"] for record in records] == ["header", "epoch", "partitions"]
    assert records[1:] == [
        {"kind": "epoch", "driver": "a", "epoch": 1},
        {"kind": "partitions", "node": "0.0", "count": 1, "keys_at_once": 100, "epoch": 1},
    ]
    assert (records[0]["run"], records[0]["plan"], records[0]["version"]) == ("r", {"rows": 1}, VERSION)


def test_a_line_that_a_crash_cut_short_is_dropped(path):
    Applied(path, "a").add("one")
    whole = path.read_bytes()
    record = whole.splitlines(keepends=True)[-1]
    for cut in range(1, len(record)):
        path.write_bytes(whole + record[:cut])
        assert nodes_in(path) == ["one"]
        Applied(path, "b").add("two")
        assert nodes_in(path) == ["one", "two"]


def test_a_log_that_is_cut_anywhere_holds_a_prefix_or_is_refused(path):
    first = Applied(path, "a")
    for node in "bcd":
        first.add(node)
    whole = path.read_bytes()
    header = len(whole.splitlines(keepends=True)[0])
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        if size < header - 1:
            with pytest.raises(RunLogError, match="line 1: damaged"):
                RunLog(LocalLog(path), lambda *_: None)
        else:
            assert "bcd".startswith("".join(nodes_in(path)))


def test_what_was_not_on_the_disk_when_the_machine_ended_is_dropped(path):
    """The page with one record was not written, and the one after it was."""
    Applied(path, "a").add("one")
    whole = path.read_bytes()
    path.write_bytes(whole + b"\0" * 40 + b'"}\n' + whole)
    assert nodes_in(path) == ["one"]
    Applied(path, "b").add("two")
    assert path.read_bytes().startswith(whole + b'{"kind":"epoch"')


def test_a_record_that_could_not_be_synced_is_not_said_to_be_on_the_disk(path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    with Applied(path, "a").log as log:
        log.append(Partitions("one", 1, 100))
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", full)
            with pytest.raises(OSError, match="No space"):
                log.sync()
        calls = []
        monkeypatch.setattr(os, "fdatasync", calls.append)
        log.sync()
        assert not calls  # the system would say that all is well


@pytest.mark.parametrize(
    "line", [b'{"kind":"no\n', b'{"kind":"other","epoch":1}\n', b'{"kind":"partitions"}\n', b"\xff\n"]
)
def test_damage_in_the_middle_is_an_error(path, line):
    Applied(path, "a").add("one")
    path.write_bytes(
        path.read_bytes() + line + b'{"kind":"partitions","node":"b","count":1,"keys_at_once":1,"epoch":1}\n'
    )
    with pytest.raises(RunLogError, match=r"line 4: damaged; restore the file, or start over with restart=True"):
        RunLog(LocalLog(path), lambda *_: None)


def test_a_record_of_an_epoch_that_was_not_claimed_is_an_error(path):
    Applied(path, "a").add("one")
    path.write_bytes(path.read_bytes().replace(b'"driver":"a","epoch":1', b'"driver":"a","epoch":0'))
    with pytest.raises(RunLogError, match="line 3: of epoch 1, which no driver has claimed"):
        RunLog(LocalLog(path), lambda *_: None)


def test_a_log_of_another_version_is_refused_with_both_versions(path):
    path.write_text(path.read_text().replace(f'"version":{VERSION}', '"version":7'))
    match = rf"is of version 7, and this program reads version {VERSION}; resume with .*, or start over with restart"
    with pytest.raises(RunLogError, match=match):
        RunLog(LocalLog(path), lambda *_: None)


def test_a_plan_that_was_edited_is_refused(path):
    path.write_text(path.read_text().replace('"rows":1', '"rows":2'))
    with pytest.raises(RunLogError, match="line 1: not the plan that was written"):
        RunLog(LocalLog(path), lambda *_: None)


def test_a_log_is_claimed_before_anything_is_written(path):
    with pytest.raises(RuntimeError, match="was not claimed"):
        RunLog(LocalLog(path), lambda *_: None).append(Partitions("a", 1, 100))


def test_a_driver_sees_that_another_one_has_taken_over(path):
    """On disks whose locks do not hold from one machine to another."""
    first = Applied(path, "a")
    first.add("one")
    second = Applied(path, "b")
    assert second.nodes == ["one"]
    first.log.append(Partitions("late", 1, 100))
    with pytest.raises(LostEpochError, match="another process has taken over this run"):
        first.log.sync()
    second.add("two")
    assert nodes_in(path) == ["one", "two"]


def test_of_drivers_that_begin_at_the_same_moment_one_goes_on(path, monkeypatch):
    """The second one claims the epoch that the first one has, of which it could not see the record yet."""
    first, second = Applied(path), Applied(path)
    catch_up = RunLog._catch_up

    def claimed_by_another(self):
        catch_up(self)
        if self is second.log and first.log.epoch == 0:
            first.log.claim("a")

    monkeypatch.setattr(RunLog, "_catch_up", claimed_by_another)
    with pytest.raises(LostEpochError):
        second.log.claim("b")
    first.add("one")
    assert nodes_in(path) == ["one"]
    assert [line["driver"] for line in map(json.loads, path.read_text().splitlines()) if line["kind"] == "epoch"] == [
        "a",
        "b",
    ]


def test_records_of_several_drivers_that_are_mixed_count_once(path):
    drivers = []
    expected = []
    for number in range(4):
        drivers.append(Applied(path, f"d{number}"))
        for at, driver in enumerate(drivers):
            for turn in range(3):
                node = f"{number}.{at}.{turn}"
                driver.add(node, sync=False)
                if at == number:
                    expected.append(node)
    assert nodes_in(path) == expected
    drivers[-1].log.sync()
    for stale in drivers[:-1]:
        with pytest.raises(LostEpochError):
            stale.log.sync()


def test_a_driver_sees_that_its_log_was_removed(path):
    first = Applied(path, "a")
    path.unlink()
    with pytest.raises(LostEpochError):
        first.log.refuse_lost_epoch()


@pytest.mark.parametrize("how", ["before", "after", "half"])
def test_a_disk_that_fails_at_any_call_loses_no_record_that_was_synced(tmp_path, how):
    """Whatever a driver was told to be on the disk is there for the next one, and nothing that is damaged."""
    number, outcomes = 0, set()
    while True:
        path = tmp_path / f"{number}.jsonl"
        RunLog.create(LocalLog(path), "r", {})
        faulty = FaultLog(LocalLog(path), number, how)
        added, synced = [], 0
        try:
            with RunLog(faulty, lambda *_: None) as log:
                log.claim("a")
                for node in "abc":
                    added.append(node)
                    log.append(Partitions(node, 1, 100))
                    log.sync()
                    synced = len(added)
        except OSError:
            outcomes.add(synced)
        left = Applied(path, "b")
        assert left.nodes == added[: len(left.nodes)]
        assert len(left.nodes) >= synced
        left.add("d")
        assert nodes_in(path) == [*left.nodes, "d"]
        if not faulty.has_failed:
            break
        number += 1
    assert outcomes >= {0, 1, 2}
