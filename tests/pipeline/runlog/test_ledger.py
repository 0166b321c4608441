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
