"""The ledger over the run log: what was committed stays, once."""

import pytest

from jinx_pipeline.model.receipt import BadRow, OperatorFigures, PortPart, Receipt
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.run_log import RunLog
from jinx_pipeline.runlog.work_dir import WorkDir
from jinx_pipeline.schedule.task import Task


@pytest.fixture
def directory(tmp_path):
    with WorkDir(tmp_path / "work") as work_dir:
        with work_dir.new_run() as directory:
            RunLog.create(directory.log, directory.run, {})
        yield directory


def claimed(directory):
    ledger = Ledger(directory)
    ledger.claim()
    return ledger


def test_a_divided_block_counts_when_all_its_pieces_are_there(directory):
    with claimed(directory) as ledger:
        ledger.commit(Task("n", 0, 50, 50), 4, Receipt("c", 5))
        assert ledger.committed("n", 0, 100) is None
        ledger.commit(Task("n", 0, 0, 50), 5, Receipt("b", 40))
        assert ledger.committed("n", 0, 100) == {"out": 45}
        assert ledger.committed("n", 0, 99) is None
        ledger.forget("n", 0)
        assert ledger.pieces("n", 0) == []
        ledger.commit(Task("n", 0, 0, 100), 6, Receipt("d", 45))
    again = Ledger(directory)
    assert again.next_attempt == 7
    assert again.parts("n", 0) == ["d"]
    assert again.committed("n", 0, 100) == {"out": 45}
    assert again.nodes() == ["n"]


def test_each_port_has_parts_of_its_own(directory):
    with claimed(directory) as ledger:
        ledger.commit(Task("n", 0, 5, 5), 1, Receipt(None, 0, ports={"dropped": PortPart("b.dropped", 5)}))
        ledger.commit(Task("n", 0, 0, 5), 2, Receipt("a", 2, ports={"dropped": PortPart("a.dropped", 3)}))
        for name in ("a", "a.dropped", "b.dropped", "c.dropped"):
            (directory.parts / name).write_bytes(b"")
        ledger.sweep()
    again = Ledger(directory)
    assert again.committed("n", 0, 10) == {"out": 2, "dropped": 8}
    assert (again.parts("n", 0), again.parts("n", 0, "dropped")) == (["a"], ["a.dropped", "b.dropped"])
    assert sorted(path.name for path in directory.parts.iterdir()) == ["a", "a.dropped", "b.dropped"]


def test_receipts_are_read_in_the_order_of_blocks_without_those_that_were_forgotten(directory):
    def receipt(block, rows):
        return Receipt(
            None, 0, bad=[BadRow(block, "op", "no")], figures=[OperatorFigures("op", 0, rows, 0, 1.0, 1.0, 9)]
        )

    with claimed(directory) as ledger:
        for attempt, block in enumerate((2, 0, 1)):
            ledger.commit(Task("n", block, 0, 10), attempt, receipt(block, 10 * block))
        ledger.forget("n", 1)
        ledger.commit(Task("n", 1, 0, 10), 7, receipt(1, 11))
    for again in (ledger, Ledger(directory)):
        assert [item.figures[0].rows_in for item in again.receipts()] == [0, 11, 20]
        assert [bad.row for bad in again.bad_rows()] == [0, 1, 2]
        assert [bad.row for bad in again.bad_rows_of("n", 1)] == [1]
        assert again.bad_count == 3


def test_what_was_not_committed_is_swept(directory):
    with claimed(directory) as ledger:
        for name in ("kept.jinx", "kept.binx", "kept.jinx.signatures", "left.jinx", "left.binx"):
            (directory.parts / name).write_bytes(b"")
        (directory.parts / "folder").mkdir()
        ledger.commit(Task("n", 0, 0, 1), 0, Receipt("kept.jinx", 1))
        ledger.sweep()
        assert {path.name for path in directory.parts.iterdir()} == {"kept.jinx", "kept.binx", "kept.jinx.signatures"}


def test_the_rows_of_a_lane_follow_all_rows_of_the_lane_before(directory):
    with claimed(directory) as ledger:
        second = Receipt("b", 4, lanes=[PortPart("b.lane1", 2)])
        ledger.commit(Task("n", 0, 5, 5), 1, second)
        ledger.commit(Task("n", 0, 0, 4), 2, Receipt("a", 3, 99, lanes=[PortPart("a.lane1", 1, "end", 7)]))
        ledger.give_up(Task("n", 0, 4, 1), BadRow(4, "", "killed"))
        ledger.commit(Task("n", 1, 0, 10), 3, Receipt(None, 0, lanes=[PortPart("c.lane1", 1)]))
    assert second.rows_by_port == {"out": 6}
    for again in (ledger, Ledger(directory)):
        assert again.parts("n", 0) == ["a", "b", "a.lane1", "b.lane1"]
        assert [[part.rows for part in lane] for lane in again.lanes("n", 0)] == [[3, 4], [1, 2]]
        assert again.lanes("n", 0)[0][0].bytes == 99
        assert again.lanes("n", 1) == [[], [PortPart("c.lane1", 1)]]
        assert again.committed("n", 0, 10) == {"out": 10}


def test_the_parts_of_all_lanes_are_kept(directory):
    with claimed(directory) as ledger:
        for name in ("a.jinx", "a.lane1.jinx", "a.lane1.binx", "a.lane1.jinx.signatures", "b.lane1.jinx"):
            (directory.parts / name).write_bytes(b"")
        ledger.commit(Task("n", 0, 0, 1), 0, Receipt("a.jinx", 1, lanes=[PortPart("a.lane1.jinx", 1)]))
        assert not ledger.has_lost_parts("n", [0])
        ledger.sweep()
        left = {path.name for path in directory.parts.iterdir()}
        assert left == {"a.jinx", "a.lane1.jinx", "a.lane1.binx", "a.lane1.jinx.signatures"}
        (directory.parts / "a.lane1.jinx").unlink()
        assert ledger.has_lost_parts("n", [0])
