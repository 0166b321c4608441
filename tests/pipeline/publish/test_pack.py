"""The output as workers write it: the same bytes however blocks were divided, and none of it by the driver."""

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.publish.shards import SMALLEST_SHARD, groups_of
from pipeline.made import digest, loaded_operators, write_input

pytestmark = pytest.mark.filterwarnings("ignore::jinx_pipeline.BadRowsWarning")

OUTPUTS = {"out": None, "out.jinx": None, "v.jinx": "view", "out.jsonl": None, "out.parquet": None}


@pytest.mark.parametrize(
    ("sizes", "shard_size", "groups"),
    [
        ([], 10, []),
        ([3, 3, 3, 3], 10, [[0, 1, 2], [3]]),
        ([20, 3, 20, 3], 10, [[0], [1], [2], [3]]),
        ([SMALLEST_SHARD, SMALLEST_SHARD], None, [[0], [1]]),
        ([1, SMALLEST_SHARD, 1, 1], None, [[0, 1], [2, 3]]),
    ],
)
def test_parts_that_fill_a_shard_are_shards_and_others_are_joined(sizes, shard_size, groups):
    assert [list(group) for group in groups_of(sizes, shard_size)] == groups


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_input(tmp_path_factory.mktemp("data") / "in.jinx")


def export(data, out, kind, workers, **bad):
    files = (str(loaded_operators()),)
    flow = Dataset.load(data).process(jp.create("fragile_mapper", **bad))
    size = 110_000 if out.suffix == "" else None
    flow.export(out, kind=kind, workers=workers, block_rows=100, custom_operators=files, shard_size=size)
    return digest(out)


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_bytes_are_the_same_with_two_workers_and_a_divided_block(data, tmp_path, name):
    """The row that kills its worker divides its block; the one that raises does not."""
    (tmp_path / "calm").mkdir()
    (tmp_path / "divided").mkdir()
    calm = export(data, tmp_path / "calm" / name, OUTPUTS[name], 1, raises=(123,))
    assert export(data, tmp_path / "divided" / name, OUTPUTS[name], 2, kills=(123,)) == calm
    assert not list((tmp_path / "divided").glob(".*"))


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_driver_copies_no_sample(data, tmp_path, monkeypatch, name):
    def copy(self, dataset, positions=None, **_):
        assert positions == []  # what an input says of its columns

    def refused(*_, **__):
        raise AssertionError("samples are written in the driver")

    monkeypatch.setattr(jinx.Writer, "copy", copy)
    for owner, method in [(jinx.Writer, "write"), (jinx.Writer, "write_many"), (jinx, "convert")]:
        monkeypatch.setattr(owner, method, refused)
    export(data, tmp_path / name, OUTPUTS[name], 1)


def test_the_parts_of_a_directory_are_gone_when_it_is_there(data, tmp_path):
    export(data, tmp_path / "out", None, 1)
    (parts,) = (tmp_path / "out.work" / "runs").glob("*/parts")
    assert list(parts.iterdir()) == []


def test_a_damaged_part_is_named_with_what_helps(data, tmp_path):
    flow = Dataset.load(data).process(lambda sample: sample)
    flow.export(tmp_path / "out.jinx", workers=1, block_rows=10)
    part = next((tmp_path / "out.jinx.work").rglob("*-b000001-*.jinx"))
    part.write_bytes(b"")
    (tmp_path / "out.jinx").unlink()
    with pytest.raises(ValueError, match=r"is not the part that this run has written; .*--restart --overwrite"):
        flow.export(tmp_path / "out.jinx", workers=1, block_rows=10)


def test_an_output_that_cannot_be_written_stops_the_run_at_once(tmp_path):
    """The rows have numbers and strings in one column, which Parquet does not take."""
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"x": value} for value in (1, "a"))
    with pytest.raises(jp.run.StoppedError, match="worker"):
        Dataset.load(tmp_path / "in.jinx").export(tmp_path / "out.parquet", workers=1)
    assert not (tmp_path / "out.parquet").exists()
