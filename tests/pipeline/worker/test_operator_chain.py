"""What an error of an operator means for its task."""

import math
from io import BytesIO
from typing import ClassVar

import numpy as np
import pytest
from PIL import Image

import jinx_pipeline as jp
from jinx_pipeline.model.error_text import message_of
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.sample_source import MadeSamples
from jinx_pipeline.plan.stage import Stage
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.worker.operator_chain import Chain, ThrottledError, raise_if_not_of_rows


class OwnError(Exception):
    def __init__(self, retry_after):
        super().__init__("later")
        self.retry_after = retry_after


@pytest.mark.parametrize(
    ("asked", "given"), [(7, 7), (0.0, 0.5), (-1, 0.5), (math.inf, 600), (math.nan, 5), (1e9, 600)]
)
def test_a_service_is_waited_for_within_bounds(asked, given):
    with pytest.raises(ThrottledError) as caught:
        raise_if_not_of_rows(OwnError(asked))
    assert caught.value.seconds == given


def test_other_errors_are_of_rows():
    raise_if_not_of_rows(OwnError("soon"))
    raise_if_not_of_rows(ValueError("bad"))


def test_a_worker_that_ray_ends_does_not_try_other_rows():
    ended, own = SystemExit(1), SystemExit(1)
    ended.ray_terminate_msg = "The process receives a SIGTERM."
    with pytest.raises(SystemExit):
        raise_if_not_of_rows(ended)
    raise_if_not_of_rows(own)


def made_chain():
    stage = Stage([], [], Roles(), "rows")
    return Chain(stage, Context(), lambda position: (position, "")), Batch([{"n": n} for n in range(8)])


def test_rows_that_were_done_when_a_service_asks_to_wait_stay_done():
    chain, batch = made_chain()
    refused, seen = [], []

    def ask(part):
        numbers = part.column("n")
        if len(numbers) > 2:
            refused.append(len(numbers))
            raise OwnError(0.0)
        seen.extend(numbers)
        return numbers

    assert [made for _, made in chain.attempt("asks", batch, ask)] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert (refused, seen, chain.bad) == ([8, 4, 4], list(range(8)), [])


def test_a_batch_on_which_the_result_depends_is_asked_for_again_as_a_whole():
    chain, batch = made_chain()
    tries = iter([True, False])

    def ask(part):
        if next(tries):
            raise OwnError(0.0)
        return len(part)

    assert [made for _, made in chain.attempt("asks", batch, ask, is_divided=False)] == [8]


def test_a_service_that_asks_for_more_time_than_a_worker_waits_is_told_to_the_driver():
    chain, batch = made_chain()

    def ask(_):
        raise OwnError(61)

    with pytest.raises(ThrottledError) as caught:
        chain.attempt("asks", batch, ask)
    assert (caught.value.seconds, caught.value.what, chain.bad) == (61, "asks: OwnError: later", [])


class PanicException(BaseException):
    """As Rust's, which is no Exception."""


def test_an_error_that_is_no_exception_costs_its_row_alone_and_is_told():
    chain, batch = made_chain()

    def panic(part):
        if 3 in part.column("n"):
            raise PanicException("index out of bounds")
        return part.column("n")

    assert [made for _, made in chain.attempt("panics", batch, panic)] == [[0, 1], [2], [4, 5, 6, 7]]
    assert [(bad.row, bad.operator, bad.error) for bad in chain.bad] == [
        (3, "panics", "PanicException: index out of bounds")
    ]


def test_a_message_that_exits_is_not_told():
    class ExitingError(Exception):
        def __str__(self):
            raise SystemExit(0)

    assert message_of(ExitingError()) == "ExitingError: <no message: str() raised SystemExit>"


def test_each_operator_begins_in_the_working_directory_of_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "known.jsonl").write_text('{"text": "a text that is known"}\n')
    (tmp_path / "mine.py").write_text("import os\n\n\ndef wander(sample):\n    os.chdir('/')\n    return sample\n")
    (tmp_path / "in.jsonl").write_text("".join(f'{{"id": {n}, "text": "text {n}"}}\n' for n in range(8)))
    wander = {"python_file_mapper": {"file_path": "mine.py", "function_name": "wander"}}
    flow = jp.Dataset.load("in.jsonl").process(
        [wander, {"decontaminate_deduplicator": {"evaluation_paths": ["known.jsonl"]}}, wander]
    )
    done = flow.export("out.jinx", workers=1, block_rows=2)
    assert (done.rows_out, done.bad_rows) == (8, [])


def test_an_operator_may_remove_its_working_directory(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    chain, batch = made_chain()

    def remove(part):
        (tmp_path / "gone").rmdir()
        return len(part)

    assert chain.call_with_waits("removes", batch, remove) == 8
    assert chain.call_with_waits("counts", batch, len) == 8


class Tagging(jp.Mapper):
    """Adds a tag to each list, image and array in place."""

    def __init__(self, tag):
        self.tag = tag

    def process(self, batch, ctx):
        for value in batch.column("m"):
            value["tags"].append(self.tag)
        for sample in batch.samples():
            sample["own"]["tags"].append(self.tag)
        for images in batch.media("images"):
            images[0].image().putpixel((0, 0), self.tag)
        return {"seen": [images[0].image().getpixel((0, 0)) for images in batch.media("images")]}


class Making(jp.Mapper):
    """Makes values that can be edited, and decodes the images."""

    def process(self, batch, ctx):
        assert all(images[0].image() for images in batch.media("images"))
        return {"own": [{"tags": [], "array": np.zeros(1)} for _ in range(len(batch))]}


@pytest.mark.parametrize("lanes", [((0, 2, 3), (0, 1, 3), (0,)), ((0,), (0, 1, 2), (0, 1))])
def test_branches_do_not_share_values_that_are_edited_in_place(lanes):
    """Each lane has the rows that it has if it runs alone."""
    image = BytesIO()
    Image.new("L", (1, 1)).save(image, "PNG")
    operators = [Making(), Tagging(1), Tagging(2), Tagging(3)]
    stage = Stage(operators, [0, 1, 2, 3], Roles(), "rows", lanes=lanes)

    def rows(stage):
        """The rows of each lane, read once all lanes have ended."""
        source = MadeSamples([{"n": n, "m": {"tags": []}, "images": [image.getvalue()]} for n in range(3)])
        ended = list(Chain(stage, Context(), lambda position: (position, "")).run(Batch(source)))
        lanes = [[batch for number, batch in ended if number == lane] for lane in range(len(stage.paths))]
        return [[str(sample) for batch in batches for sample in batch.to_samples()] for batches in lanes]

    alone = [rows(stage.of_lane(lane))[0] for lane in range(3)]
    assert rows(stage) == alone
    assert any("'tags': [1" in row for row in alone[1])


class Counting(jp.Mapper):
    """Counts up in place, and fails on one sample."""

    def process(self, batch, ctx):
        for value in batch.column("m"):
            value["n"] += 1
        for sample in batch.samples():
            sample["own"]["n"] += 1
        if 2 in batch.column("id"):
            raise ValueError("not this one")
        return {"m": batch.column("m"), "own": batch.column("own")}


def test_values_edited_before_an_error_are_as_before_for_the_next_attempt():
    stage = Stage([Counting()], [0], Roles(), "rows", ports=("failed",))
    chain = Chain(stage, Context(), lambda position: (position, ""))
    source = MadeSamples([{"id": number, "m": {"n": 0}} for number in range(8)])
    batch = Batch(source).with_columns({"own": [{"n": 0} for _ in range(8)]})

    rows = [sample for _, part in chain.run(batch) for sample in part.to_samples()]

    assert rows == [{"id": number, "m": {"n": 1}, "own": {"n": 1}} for number in range(8) if number != 2]
    failed = [sample for part in chain.port_batches["failed"] for sample in part.to_samples()]
    assert failed == [{"id": 2, "m": {"n": 0}, "own": {"n": 0}}]


class Lengths(jp.Filter):
    """Measures with a value that is shared."""

    stats: ClassVar = {"length": "int64"}
    made = 0

    def compute_stats(self, batch, ctx):
        return {name: batch.shared("lengths", lambda: self.lengths(batch)) for name in self.stats}

    def lengths(self, batch):
        Lengths.made += 1
        return [len(text) for text in batch.column("text")]

    def keep(self, stats):
        return [True] * len(next(iter(stats.values())))


class OtherLengths(Lengths):
    stats: ClassVar = {"other_length": "int64"}


def test_operators_of_others_share_values():
    stage = Stage([Lengths(), OtherLengths()], [0, 1], Roles(), "rows")
    chain = Chain(stage, Context(), lambda position: (position, ""))
    parts = list(chain.run(Batch([{"text": "a" * n} for n in range(8)])))
    assert sum(len(part) for _, part in parts) == 8
    assert Lengths.made == 1
