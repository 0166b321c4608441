"""A column that a function removes from some samples: the result does not depend on how the rows were divided."""

import json
import os

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.dataset import Dataset

pytestmark = pytest.mark.filterwarnings("ignore::jinx_pipeline.BadRowsWarning")
ROWS = 200


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "in.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many({"n": n, "x": n, "text": "t", "image": bytes([n]) * 300} for n in range(ROWS))
    return path


def change(sample):
    if sample["n"] < 100 or sample["n"] % 2:
        sample = dict(sample)
        del sample["x"]
    return sample


def rows_of(path):
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_bytes().splitlines()]
    return [dict(sample) for sample in jinx.open(path)]


@pytest.mark.parametrize("block_rows", [7, 100, 200])
@pytest.mark.parametrize("more", [[], ["whitespace_normalization_mapper"], ["shuffle"]])
def test_it_is_absent_whatever_the_blocks(data, tmp_path, block_rows, more):
    def last(sample):
        assert ("x" in sample) == (not (sample["n"] < 100 or sample["n"] % 2))
        return sample

    flow = Dataset.load(data).process([change, *map(jp.create, more), last])
    expected = {n for n in range(ROWS) if n >= 100 and n % 2 == 0}
    for name in ("out.jinx", "out", "out.jsonl"):
        flow.export(tmp_path / name, workers=1, block_rows=block_rows)
        found = rows_of(tmp_path / name)
        assert len(found) == ROWS
        assert {item["n"] for item in found if "x" in item} == expected
        assert all(item["x"] == item["n"] for item in found if "x" in item)


def test_the_rows_are_the_same_for_any_blocks_and_with_a_row_that_kills(data, tmp_path):
    def deadly(sample):
        if sample["n"] == 150:
            os._exit(7)
        return change(sample)

    def failing(sample):
        if sample["n"] == 150:
            raise ValueError("bad")
        return change(sample)

    for name in ("out.jinx", "out.jsonl"):
        found = []
        for at, (function, block_rows) in enumerate([(deadly, 200), (failing, 200), (failing, 9)]):
            out = tmp_path / f"{at}{name}"
            done = Dataset.load(data).process(function).export(out, workers=1, block_rows=block_rows, max_bad_rows=1)
            assert done.rows_out == ROWS - 1
            found.append(rows_of(out))
        assert found[0] == found[1] == found[2]


def test_a_view_has_null_for_any_blocks(data, tmp_path):
    for block_rows in (7, 200):
        out = tmp_path / f"v{block_rows}.jinx"
        Dataset.load(data).process(change).export(out, kind="view", workers=1, block_rows=block_rows)
    first, second = ([dict(row) for row in jinx.open(tmp_path / f"v{rows}.jinx")] for rows in (7, 200))
    assert first == second
    assert [item["x"] for item in first[98:103]] == [None, None, 100, None, 102]


@pytest.mark.parametrize("block_rows", [50, 70, 200])
@pytest.mark.parametrize("name", ["out.jinx", "out", "out.jsonl"])
def test_a_removed_column_does_not_come_back_after_a_global_operator(tmp_path, block_rows, name):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"n": n, "email": f"{n}@example.org", "k": n} for n in range(200))

    def anonymous(sample):
        del sample["email"]
        if sample["n"] < 100:  # all rows of some blocks, none of others
            del sample["k"]
        return sample

    flow = Dataset.load(tmp_path / "in.jinx").process(
        [anonymous, jp.create("shuffle"), jp.create("sort", by="-n"), lambda sample: sample]
    )
    expected = [{"n": n, "k": n} if n >= 100 else {"n": n} for n in reversed(range(200))]
    assert not flow.export(tmp_path / name, workers=1, block_rows=block_rows).bad_rows
    assert rows_of(tmp_path / name) == expected


@pytest.mark.parametrize("block_rows", [50, 200])
def test_a_view_does_not_show_what_was_removed_from_all_rows_of_a_block(tmp_path, block_rows):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"n": n, "k": n} for n in range(200))

    def some(sample):
        if sample["n"] < 100:
            del sample["k"]
        return sample

    flow = Dataset.load(tmp_path / "in.jinx").process(some)
    flow.export(tmp_path / "out.jinx", kind="view", workers=1, block_rows=block_rows)
    assert [row["k"] for row in rows_of(tmp_path / "out.jinx")] == [None] * 100 + list(range(100, 200))
