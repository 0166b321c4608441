"""The order of columns in a sample does not depend on the block, or part of one, that the sample was in."""

import json

import pytest

import jinx
from jinx_pipeline.dataset import Dataset
from pipeline.made import digest


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
    return sample


@pytest.fixture
def data(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"n": n, "a": f"a{n}", "b": n / 2, "c": {"d": [str(n), "é"]}} for n in range(24))
    return tmp_path / "in.jinx"


FILES = ("out.jinx", "out.jsonl", "out.parquet")
CASES = [("out", [change]), *((name, steps) for name in FILES for steps in ([change], [change, "shuffle"]))]


@pytest.mark.parametrize(("name", "steps"), CASES)
def test_samples_have_the_same_bytes_for_any_block_size(data, tmp_path, name, steps):
    digests = set()
    for block_rows in (1, 3, 24):
        out = tmp_path / str(block_rows) / name
        out.parent.mkdir()
        Dataset.load(data).process(steps).export(out, workers=1, block_rows=block_rows)
        if name == "out":  # one shard for some blocks, several for others
            digests.add(json.dumps([dict(sample) for sample in jinx.open(out)]))
        else:
            digests.add(digest(out))
    assert len(digests) == 1
