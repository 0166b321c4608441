"""Values, and the order of columns in a sample, do not depend on the block, or part of one, that the sample was in."""

import json
from itertools import count

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.dataset import Dataset
from pipeline.made import digest

ROWS = 24
OUTPUTS = {"out.jinx": None, "out": None, "out.jsonl": None, "out.parquet": None, "view.jinx": "view"}
GLOBAL = {
    "none": [],
    "shuffle": ["shuffle"],
    "sort": [jp.create("sort", by="-n")],
    "dedup": [jp.create("document_deduplicator")],
}


def change(sample):
    """Changes, removes and adds columns of some rows only."""
    if sample["n"] % 5 == 0:
        sample["a"] = f"changed {sample['n']}"
    if sample["n"] % 7 == 3:
        del sample["b"]
    if sample["n"] % 4 == 1:
        sample["z"] = sample["n"]
    if sample["n"] % 4 == 2:
        sample["y"] = None
    if sample["n"] == 3:
        sample["c"] = {"d": ["the only one"]}
    return sample


def see(sample):
    """Adds the order of the columns that it is given."""
    return {**sample, "seen": list(sample)}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "in.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many(
            # One text is another's, so that a row whose column `c` alone was changed goes.
            {"n": n, "text": f"text {0 if n == 3 else n}", "a": f"a{n}", "b": n / 2, "c": {"d": [str(n), "é"]}}
            for n in range(ROWS)
        )
    return path


@pytest.fixture
def exported(data, tmp_path):
    """What an output holds."""
    folders = map(str, count())

    def export(name, steps, **options):
        folder = tmp_path / next(folders)
        folder.mkdir()
        flow = Dataset.load(data).process(steps)
        assert not flow.export(folder / name, kind=OUTPUTS[name], **{"workers": 1, **options}).bad_rows
        if name == "out":  # one shard for some blocks, several for others
            return json.dumps([dict(sample) for sample in jinx.open(folder / name)])
        # A view names its base by its place.
        return digest(folder / name) if name != "view.jinx" else _rows_and_columns(folder / name)

    return export


def _rows_and_columns(path):
    view = jinx.open(path)
    return json.dumps([view.info().own_columns, [dict(sample) for sample in view]])


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("global_operator", GLOBAL)
def test_samples_have_the_same_bytes_for_any_block_size(exported, name, global_operator):
    steps = [change, *GLOBAL[global_operator]]
    assert len({exported(name, steps, block_rows=rows) for rows in (5, ROWS)}) == 1


@pytest.mark.parametrize("name", OUTPUTS)
def test_samples_have_the_same_bytes_for_any_number_of_workers(exported, name):
    steps = [change, "shuffle"]
    assert len({exported(name, steps, block_rows=5, workers=workers) for workers in (1, 2)}) == 1


@pytest.mark.parametrize("name", ["out.jinx", "out", "view.jinx"])
def test_functions_after_a_global_operator_see_the_same_order(exported, name):
    steps = [change, "shuffle", see, "whitespace_normalization_mapper", "shuffle"]
    assert len({exported(name, steps, block_rows=rows) for rows in (5, ROWS)}) == 1


@pytest.mark.parametrize("name", ["out.jinx", "out", "out.jsonl"])
def test_groups_have_the_same_columns(exported, name):
    steps = [change, jp.create("key_value_grouper", group_by_keys=["b"]), "shuffle"]
    assert len({exported(name, steps, block_rows=rows) for rows in (5, ROWS)}) == 1
