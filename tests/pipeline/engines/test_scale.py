"""What the driver side does for a block does not grow with the blocks, the workers or the parts: work is counted."""

import pickle
import sys
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

import jinx
import jinx_pipeline as jp
from bench.pipeline.scale.driver_side import drive, make_parts, resume
from bench.pipeline.scale.growth import complaint
from bench.pipeline.scale.simulation import SimulatedWorkers, Size, opened_run
from bench.pipeline.scale.slices import slices
from jinx_pipeline.engines.local.worker_processes import LocalWorkers

SIZES = [Size(100, 20), Size(800, 160)]
# A loop over all workers, or over an eighth of all blocks, has more rounds.
LINES = 50


@dataclass
class Count:
    """Lines of Python that ran, each round of a loop counted."""

    lines: int = 0


@contextmanager
def counted_lines():
    """Count what this thread runs; a loop over all workers for each receipt shows here, however fast it is."""
    count = Count()

    def trace(frame, event, argument):
        if event == "line":
            count.lines += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield count
    finally:
        sys.settrace(before)


def lines_per_receipt(folder, size, nodes):
    with opened_run(folder) as run:
        driver = run.driver(size, SimulatedWorkers(), nodes=nodes)
        with counted_lines() as count:
            driver.run()
        assert driver.finished
    return count.lines / (size.blocks * nodes)


@pytest.mark.parametrize("nodes", [1, 2])
def test_the_work_for_a_receipt_does_not_grow_with_blocks_and_workers(tmp_path, nodes):
    small, large = (lines_per_receipt(tmp_path / str(size.blocks), size, nodes) for size in SIZES)

    assert large < small + LINES


def test_the_work_for_a_committed_block_of_a_resume_does_not_grow(tmp_path):
    costs = []
    for size in SIZES:
        folder = tmp_path / str(size.blocks)
        drive(folder, size)
        make_parts(folder)
        with counted_lines() as count:
            resume(folder, size, started=0.0)
        costs.append(count.lines / size.blocks)

    small, large = costs
    assert large < small + LINES


def test_a_block_opens_the_parts_that_hold_its_rows(tmp_path):
    costs = [slices(tmp_path / str(size.blocks), size) for size in SIZES]

    for cost in costs:
        for order in ("dedup", "shuffle"):
            assert cost[order]["opens"] == cost[order]["holding"]
            assert cost[order]["opens_too_many"] == 0
        assert cost["dedup"]["opens"] <= 3


def test_a_task_after_a_global_operator_is_as_small_with_many_parts_as_with_few(tmp_path, monkeypatch):
    with jinx.Writer(tmp_path / "in") as writer:
        writer.write_many({"id": n, "text": f"text {n % 70} {'abc ' * 15}"} for n in range(120))
    submit, bytes_of_tasks = LocalWorkers.submit, []

    def counted(workers, worker, request):
        bytes_of_tasks.append(len(pickle.dumps(request)))
        submit(workers, worker, request)

    monkeypatch.setattr(LocalWorkers, "submit", counted)
    flow = jp.Dataset.load(tmp_path / "in").process([jp.create("document_deduplicator"), jp.ops.WordsNumFilter()])
    largest = []
    for rows in (60, 3):
        bytes_of_tasks.clear()
        flow.export(tmp_path / f"out-{rows:02}", workers=1, block_rows=rows, reorder=False)
        largest.append(max(bytes_of_tasks))

    assert largest[1] <= largest[0] + 8, largest  # numbers may have another digit


def test_the_benchmark_fails_where_a_cost_of_a_block_grows():
    size = {
        "blocks": 100,
        "drive": {"cpu": 1.0, "receipts": 100, "log_bytes": 100, "memory": 100, "request_bytes": 100},
        "resume": {"cpu": 1.0, "committed": 100, "memory": 100},
        "slices": {name: {"slice_seconds": 1.0, "opens": 2, "holding": 2} for name in ("dedup", "shuffle")},
    }
    linear = {**size, "drive": {**size["drive"], "cpu": 8.0, "receipts": 800, "log_bytes": 800}}
    quadratic = {**linear, "drive": {**linear["drive"], "cpu": 64.0}}

    assert complaint({"small": size, "large": linear}) is None
    assert complaint({"small": size, "large": quadratic}) == (
        "grows too fast from 100 to 100 blocks: CPU time of a receipt in the driver x8.0 (bound x1.7)"
    )
