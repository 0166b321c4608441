"""Errors: of a row, of the machine, of the run; whatever they say, the run ends and can be resumed."""

import json
import os

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.engines.driver import StoppedError
from jinx_pipeline.engines.worker_backend import Finished
from jinx_pipeline.model.receipt import Receipt
from pipeline.made import log_of

pytestmark = pytest.mark.filterwarnings("ignore::jinx_pipeline.BadRowsWarning")


def write(path, rows):
    with jinx.Writer(path) as writer:
        writer.write_many({"n": n, "g": f"g{n // 10}", "text": f"t{n}"} for n in range(rows))
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write(tmp_path_factory.mktemp("data") / "in.jinx", 100)


@pytest.mark.parametrize("block_rows", [1, 20])
@pytest.mark.parametrize("name", ["surrogate", "mute", "leaving", "notes", "cancelled", "import", "space"])
def test_one_row_costs_that_row_whatever_it_raises(data, tmp_path, name, block_rows):
    def change(sample):
        import asyncio
        import errno

        if sample["n"] == 50:
            if name == "cancelled":
                raise asyncio.CancelledError("by a timeout")
            if name == "notes":
                error = ValueError("a note is no text")
                error.__notes__ = 5
                raise error
            if name == "surrogate":
                raise ValueError("bad text: \udce9t\udce9")
            if name == "import":
                raise ImportError("no codec for this one image")
            if name == "space":
                raise OSError(errno.ENOSPC, "No space left on device", "scratch")

            class MuteError(Exception):
                def __str__(self):
                    raise SystemExit if name == "leaving" else RuntimeError("no message")

            raise MuteError
        return sample

    flow = Dataset.load(data).process(change)
    for _ in range(2):
        done = flow.export(tmp_path / "out.jinx", workers=1, block_rows=block_rows, max_bad_rows=1)
        assert done.rows_out == 99
        [bad] = done.bad_rows
        assert (bad.row, bad.operator) == (50, "change")
    record = json.loads((tmp_path / "out.jinx.work" / "quarantine.jsonl").read_text())
    said = {"surrogate": r"\udce9t", "cancelled": "by a timeout", "import": "codec", "space": "No space"}
    assert said.get(name, "ValueError" if name == "notes" else "MuteError") in record["error"]


@pytest.mark.parametrize("first", [0, 3])
def test_an_operator_that_closes_files_of_its_worker_is_named(data, tmp_path, first):
    def change(sample):
        import os

        if sample["n"] == 50:
            os.closerange(first, 256)
        return sample

    flow = Dataset.load(data).process([change, jp.ops.TextLengthFilter(min_len=1)])
    done = flow.export(tmp_path / "out.jinx", workers=1, block_rows=20)
    assert done.rows_out == 99
    assert [(bad.row, bad.operator, bad.error) for bad in done.bad_rows] == [
        (50, "change", "the worker died: the pipes to the driver were closed")
    ]


@pytest.mark.parametrize("block_rows", [1, 20])
def test_what_concerns_all_rows_stops_the_run_and_leaves_out_none(data, tmp_path, block_rows):
    def change(sample):
        import no_such_package

        return no_such_package.change(sample)

    with pytest.raises(StoppedError, match="No module named 'no_such_package'"):
        Dataset.load(data).process(change).export(tmp_path / "out.jinx", workers=1, block_rows=block_rows)
    assert not (tmp_path / "out.jinx").exists()


def test_a_model_that_is_missing_stops_the_run_until_it_is_there(data, tmp_path):
    model = tmp_path / "model.txt"

    class Labelled(jp.Mapper):
        name = "labelled"
        writes = ("label",)
        reads = ("n",)

        def process(self, batch, ctx):
            def load(path, device):
                with open(path) as file:  # noqa: PTH123 - as a user writes it
                    return file.read()

            return {"label": [ctx.model(str(model), load)] * len(batch)}

    flow = Dataset.load(data).process([Labelled()])
    with pytest.raises(StoppedError, match=r"FileNotFoundError: .*; \S*model\.txt cannot be loaded"):
        flow.export(tmp_path / "out.jinx", workers=1)
    assert not (tmp_path / "out.jinx").exists()
    model.write_text("yes")
    done = flow.export(tmp_path / "out.jinx", workers=1)
    assert (done.rows_out, done.bad_rows) == (100, [])


def test_an_operator_that_forks_and_returns_in_the_child(data, tmp_path):
    def change(sample):
        import os

        if sample["n"] == 50:
            os.fork()
        return {**sample, "m": sample["n"]}

    done = Dataset.load(data).process(change).export(tmp_path / "out.jinx", workers=2, block_rows=10)
    assert [sample["m"] for sample in jinx.open(tmp_path / "out.jinx")] == list(range(100))
    assert done.bad_rows == []


def test_a_second_answer_to_a_task_is_ignored(data, tmp_path, monkeypatch):
    """Of a copy of a worker, say; the first one counts."""
    from jinx_pipeline.engines.local.worker_processes import LocalWorkers

    real = LocalWorkers.events

    def twice(self, timeout):
        found = real(self, timeout)
        return [
            *found,
            *(Finished(item.worker, item.attempt, Receipt(None, 0)) for item in found if type(item) is Finished),
        ]

    monkeypatch.setattr(LocalWorkers, "events", twice)
    Dataset.load(data).process(lambda sample: sample).export(tmp_path / "out.jinx", workers=1, block_rows=10)
    assert len(jinx.open(tmp_path / "out.jinx")) == 100
    events = (tmp_path / "out.jinx.work" / "events.jsonl").read_text().splitlines()
    kinds = [json.loads(line)["kind"] for line in events]
    assert kinds.count("ignored") == kinds.count("block") + kinds.count("task") == 11


def test_a_bad_group_is_not_called_a_row_of_the_input(data, tmp_path):
    def change(sample):
        if sample["g"][0] == "g5":
            raise ValueError("group g5 is bad")
        return sample

    flow = Dataset.load(data).process([jp.create("key_value_grouper", group_by_keys=["g"]), change])
    done = flow.export(tmp_path / "out.jinx", workers=1, block_rows=4)
    [bad] = done.bad_rows
    assert (bad.row, bad.counted, bad.source) == (5, "group", "")
    assert bad.place == "group 5 of the output of the step before"


def test_an_operator_that_fails_on_every_row_does_not_flood_the_run_log(tmp_path):
    data = write(tmp_path / "in.jinx", 4000)

    def change(sample):
        raise ValueError("x" * 1500)

    with pytest.raises(StoppedError, match="rows were left out"):
        Dataset.load(data).process(change).export(tmp_path / "out.jinx", workers=1, block_rows=2000, stop_after_bad=100)
    assert log_of(tmp_path / "out.jinx.work").stat().st_size < 2000 * 500


@pytest.mark.parametrize(("rows", "line"), [(4, 3 << 20), (100, 1_000_000), (100, 1000)])
def test_the_last_that_workers_print_is_kept_up_to_a_limit(tmp_path, rows, line):
    def change(sample):
        print(f"{sample['n']} begins\n{'x' * line}\n{sample['n']} ends")  # noqa: T201 - what an operator prints
        return sample

    data = write(tmp_path / "in.jinx", rows)
    Dataset.load(data).process(change).export(tmp_path / "out.jinx", workers=1, block_rows=10)
    log = (tmp_path / "out.jinx.work" / "workers.log").read_text()
    assert min(10_000_000, rows * line) < len(log) < 21_000_000
    assert f"{rows - 1} begins\n" in log
    assert f"{rows - 1} ends" in log
    is_short = rows * line < 20_000_000
    assert log.startswith("0 begins\n") == is_short
    assert ("before this were removed" in log.splitlines()[0]) != is_short


def test_an_output_whose_name_is_not_utf8_is_named(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"text": "x"}\n')
    name = os.fsdecode(os.fsencode(tmp_path) + b"/out\xe9.jinx")
    with pytest.raises(TypeError, match=r"path is str, not '.*, which holds a surrogate that UTF-8 cannot encode"):
        jp.Dataset.load(tmp_path / "in.jsonl").export(name)


def test_hidden_files_are_not_suggested(tmp_path):
    (tmp_path / ".dataset.jinx.pipeline").touch()
    with pytest.raises(FileNotFoundError, match=r"no such file$"):
        jinx.open(tmp_path / "dataset.jinx")


@pytest.mark.parametrize("name", ["out.jinx", "out"])
def test_a_value_that_cannot_be_stored_is_named_by_its_column(data, tmp_path, name):
    def stranger(sample):
        if sample["n"] == 17:
            sample["x"] = {1, 2}
        return sample

    done = Dataset.load(data).process(stranger).export(tmp_path / name, workers=1, max_bad_rows=1)
    ((row, error),) = [(bad.row, bad.error) for bad in done.bad_rows]
    assert (row, error.split(";")[0]) == (17, "InvalidError: column 'x': a value of type set cannot be stored")


def test_statistics_that_are_none_are_not_replaced(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        values = ({"mine": 1}, None, "words", {"text_len": 0}, [1])
        writer.write_many({"text": "abc", "n": n, "__dj__stats__": value} for n, value in enumerate(values))
    flow = Dataset.load(tmp_path / "in.jinx").process(jp.create("text_length_filter", min_len=1))
    done = flow.export(tmp_path / "out.jinx", keep_stats=True, workers=1, max_bad_rows=2)
    assert [bad.row for bad in done.bad_rows] == [2, 4]
    assert "__dj__stats__ is a str; it holds the statistics of filters by name" in done.bad_rows[0].error
    assert [(row["n"], row["__dj__stats__"]) for row in jinx.open(tmp_path / "out.jinx")] == [
        (0, {"mine": 1, "text_len": 3}),
        (1, {"text_len": 3}),
        (3, {"text_len": 3}),
    ]
