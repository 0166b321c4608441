"""The ledger over the run log: what was committed stays, once."""

import pytest

from jinx_pipeline.model.receipt import BadRow, OperatorFigures, Receipt
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
        ledger.commit(Task("n", 0, 0, 50), 3, Receipt("a", 40))
        assert ledger.done(["n"], {0: 100}) == {}
        assert ledger.pieces("n", 0) == []
        ledger.commit(Task("n", 0, 50, 50), 4, Receipt("c", 5))
        ledger.commit(Task("n", 0, 0, 50), 5, Receipt("b", 40))
        assert ledger.done(["n"], {0: 100}) == {("n", 0): 45}
    again = Ledger(directory)
    assert again.next_attempt == 6
    assert again.parts("n", 0) == ["b", "c"]
    with again:
        again.claim()
        assert again.done(["n"], {0: 100}) == {("n", 0): 45}


def test_a_later_node_of_a_chain_reads_what_came_out_before(directory):
    with claimed(directory) as ledger:
        ledger.commit(Task("a", 0, 0, 10), 0, Receipt("a0", 6))
        ledger.commit(Task("b", 0, 0, 6), 1, Receipt(None, 0))
        ledger.commit(Task("a", 1, 0, 5), 2, Receipt("a1", 5))
        ledger.commit(Task("b", 1, 0, 4), 3, Receipt("b1", 4))
        assert ledger.done(["a", "b"], {0: 10, 1: 10}) == {("a", 0): 6, ("b", 0): 0}
        assert ledger.parts("b", 1) == []


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
        assert [one.figures[0].rows_in for one in again.receipts()] == [0, 11, 20]
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
