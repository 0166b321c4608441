"""Parts: the same bytes however their rows come in batches, rows that cannot be written, and memory."""

import json
from random import Random

import numpy as np
import pytest

import jinx
from jinx_pipeline import Dataset
from jinx_pipeline.operators.api.batch import REMOVED
from jinx_pipeline.operators.script.function_op import function_operator
from jinx_pipeline.plan.source import Source
from jinx_pipeline.plan.stage import Stage
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.schedule.task import Task
from jinx_pipeline.worker.held_columns import HeldColumns
from jinx_pipeline.worker.map_work import MapWork
from jinx_pipeline.worker.work import WorkerState

ROWS = 100


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "in.jinx"
    with jinx.Writer(path) as writer:
        for row in range(ROWS):
            odd = {"odd": row} if row % 2 else {}
            writer.write({"n": row, "text": f"text {row}", "image": Random(row).randbytes(300), **odd})
    return path


def edit(sample):
    row = sample["n"]
    if row % 3 == 0:
        sample["image"] = Random(-row).randbytes(2000)
    if row % 10 == 1:
        sample.pop("odd")
    if row >= 60:
        sample["late"] = [row, {"a": bytes(100)}]
    return sample


def unwritable(sample):
    if sample["n"] % 40 == 7:
        sample["bad"] = {1, 2}
    if sample["n"] % 40 == 9:
        sample["bad"] = 1 << 20_000
    return edit(sample)


def part(data, path, output, function=edit, batch_rows=ROWS):
    """What a task makes: its receipt and the bytes of its files."""
    suffix = ".jinx" if output == "view" else ""
    path.mkdir()
    stage = Stage([function_operator(function)], [0], Roles(), output=output, batch_rows=batch_rows)
    receipt = MapWork(stage).run(Source((str(data),)), Task("0", 0, 0, ROWS), path / f"part{suffix}", WorkerState())
    return receipt, {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


@pytest.mark.parametrize("output", ["rows", "view"])
def test_bytes_depend_neither_on_batches_nor_on_what_stays_in_memory(data, tmp_path, output, monkeypatch):
    receipt, files = part(data, tmp_path / "whole", output)
    assert (receipt.rows_out, receipt.bad) == (ROWS, [])
    for size in (1, 7, 64):
        assert part(data, tmp_path / f"{size}", output, batch_rows=size)[1] == files
    monkeypatch.setattr(HeldColumns.__init__, "__defaults__", (0,))
    assert part(data, tmp_path / "held", output, batch_rows=7)[1] == files


@pytest.mark.parametrize("output", ["rows", "view"])
@pytest.mark.parametrize("batch_rows", [1, 10, ROWS])
def test_only_rows_that_cannot_be_stored_are_left_out(data, tmp_path, output, batch_rows):
    receipt, files = part(data, tmp_path / "all", output, unwritable, batch_rows)
    assert [bad.row for bad in receipt.bad] == [7, 9, 47, 49, 87, 89]
    assert {bad.operator for bad in receipt.bad} == {"writing the output"}
    assert "a value of type set cannot be stored" in receipt.bad[0].error
    assert receipt.rows_out == ROWS - 6

    def without(sample):
        return None if sample["n"] % 40 in {7, 9} else edit(sample)

    assert part(data, tmp_path / "without", output, without)[1] == files


def test_nothing_is_written_if_no_row_can_be(data, tmp_path):
    def fail(sample):
        return {**sample, "bad": {1}}

    for output in ("rows", "view"):
        receipt, files = part(data, tmp_path / output, output, fail, 30)
        assert (receipt.part, receipt.rows_out, len(receipt.bad), files) == (None, 0, ROWS, {})


def test_rows_that_cannot_be_read_are_left_out(tmp_path):
    path = tmp_path / "in.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many({"n": row, "image": Random(row).randbytes(300)} for row in range(ROWS))
    sidecar = path.with_suffix(".binx")
    content = bytearray(sidecar.read_bytes())
    content[content.index(Random(42).randbytes(300)) + 5] ^= 1
    sidecar.write_bytes(content)
    for output in ("rows", "view"):
        receipt, _ = part(path, tmp_path / output, output, lambda sample: {**sample, "image": sample["image"]}, 30)
        assert ([bad.row for bad in receipt.bad], receipt.rows_out) == ([42], ROWS - 1)


def test_a_column_that_a_few_batches_add_does_not_fail_the_others(data, tmp_path):
    part(data, tmp_path / "part", "view", batch_rows=10)
    view = jinx.open(tmp_path / "part" / "part.jinx")
    assert [sample["late"] for sample in view.select([0, 99])] == [None, [99, {"a": bytes(100)}]]
    assert json.loads(view[0]["__jinx_absent__"]) == ["late", "odd"]


def test_columns_beyond_the_memory_are_held_in_a_file(tmp_path):
    held = HeldColumns(tmp_path, 100)
    each = [
        {"a": [bytes(60)], "b": [None]},
        {"a": [bytes(60), REMOVED], "b": [[1, {"c": 2.5}], np.arange(3)]},
        {"a": [object()]},
        {"a": [bytes(30)]},
    ]
    numbers = [held.add(columns) for columns in each]
    assert [held.get(number) is columns for number, columns in zip(numbers, each, strict=True)] == [
        True,
        False,
        True,
        True,
    ]
    again = held.get(numbers[1])
    assert again["a"] == [bytes(60), REMOVED]
    assert again["a"][1] is REMOVED
    assert again["b"][0] == [1, {"c": 2.5}]
    assert list(tmp_path.iterdir()) == []
    held.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["jinx", "view"])
def test_the_memory_of_a_task_does_not_grow_with_its_media(tmp_path, kind):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"n": row} for row in range(300))

    def make(sample):
        return {**sample, "image": Random(sample["n"]).randbytes(1_000_000)}

    out = tmp_path / ("out.jinx" if kind == "view" else "out")
    done = (
        Dataset.load(tmp_path / "in.jinx")
        .process(make)
        .export(out, kind=kind, workers=1, block_rows=300, batch_rows=16, memory="150MB")
    )
    assert done.rows_out == 300
    assert done.operators[0].peak_bytes < 130_000_000
    events = map(json.loads, (tmp_path / f"{out.name}.work" / "events.jsonl").read_text().splitlines())
    assert not [event for event in events if event["kind"] == "died"]


def test_functions_see_no_columns_of_the_pipeline_itself(data, tmp_path):
    def names(sample):
        return {**sample, "names": sorted(sample)}

    flow = Dataset.load(data).process([edit, "document_deduplicator", names, "naive_grouper", "naive_reverse_grouper"])
    flow.export(tmp_path / "out", workers=1, block_rows=40)
    seen = {name for sample in jinx.open(tmp_path / "out") for name in (*sample, *sample["names"])}
    assert seen == {"n", "text", "image", "odd", "late", "names"}
