"""Manifests: a task opens the parts that hold its rows, and no others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jinx
from jinx.errors import MismatchError
from jinx_pipeline.operators.api.sample_source import ROW
from jinx_pipeline.plan.manifest import Manifest, write_manifest
from jinx_pipeline.plan.source import OpenSource, Source


@given(
    sizes=st.lists(st.integers(1, 20), min_size=1, max_size=12),
    data=st.data(),
)
def test_a_slice_names_the_parts_of_its_rows_and_where_they_lie(tmp_path_factory, sizes, data):
    folder = tmp_path_factory.mktemp("run")
    parts = [(folder / "parts" / f"{number}.jinx", rows) for number, rows in enumerate(sizes)]
    with (folder / "manifest.npy").open("wb") as file:
        write_manifest(file, folder, parts)
    manifest = Manifest(folder / "manifest.npy")
    assert manifest.rows == sum(sizes)
    assert manifest.paths() == [str(path) for path, _ in parts]
    rows = [(str(path), row) for path, count in parts for row in range(count)]
    positions = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=30)), dtype=np.int64)
    found = manifest.slice(positions)
    wanted = [rows[at] for at in positions]
    assert found.paths == sorted({path for path, _ in wanted}, key=[str(path) for path, _ in parts].index)
    sizes_of = {str(path): count for path, count in parts}
    held = [(path, row) for path in found.paths for row in range(sizes_of[path])]
    assert [held[at] for at in found.local(positions)] == wanted


@pytest.fixture
def source(tmp_path):
    """Twelve parts of five rows over a directory of shards, in reverse order."""
    with jinx.Writer(tmp_path / "in", shard_size=500) as writer:
        writer.write_many({"n": n, "text": f"text {n} {'x' * 40}"} for n in range(60))
    base = jinx.open(tmp_path / "in")
    assert base.info().shards > 5
    parts = []
    for number in range(12):
        rows = np.arange(5 * number, 5 * number + 5)
        path = tmp_path / f"part-{number}.jinx"
        base.select(rows).with_columns({ROW: rows, "own": (rows * 10).tolist()}).save(path)
        parts.append((path, 5))
    with (tmp_path / "manifest.npy").open("wb") as file:
        write_manifest(file, tmp_path, parts)
    np.save(tmp_path / "order.npy", np.arange(60)[::-1])
    np.save(tmp_path / "bounds.npy", np.array([0, 4, 4, 20, 60]))
    return Source((str(tmp_path / "in"),), manifest=str(tmp_path / "manifest.npy"), order=str(tmp_path / "order.npy"))


def test_a_slice_reads_what_the_whole_reads(source):
    whole = OpenSource(source)
    assert len(whole) == 60
    part = whole.slice(7, 6)
    positions = part.positions(7, 6)
    assert positions.tolist() == whole.positions(7, 6).tolist() == list(range(52, 46, -1))
    assert part.samples.values(positions, "own") == whole.samples.values(positions, "own")
    assert [dict(sample) for sample in part.samples.samples(positions)] == [
        dict(sample) for sample in whole.samples.samples(positions)
    ]
    assert part.input_rows(positions).tolist() == whole.input_rows(positions).tolist()
    assert part.ids(positions) == whole.ids(positions)
    assert len(part.source.parts) == 2


def test_groups_of_a_slice_keep_their_numbers(source, tmp_path):
    grouped = OpenSource(
        Source(source.base, manifest=source.manifest, order=source.order, bounds=str(tmp_path / "bounds.npy"))
    )
    for first, count in ((0, 4), (2, 2), (1, 1), (3, 1)):
        part = grouped.slice(first, count)
        for number in range(first, first + count):
            positions = part.group(number)
            assert positions.tolist() == grouped.group(number).tolist()
            assert part.samples.values(positions, "n") == grouped.samples.values(positions, "n")


def test_a_part_over_another_dataset_is_refused(source, tmp_path):
    with jinx.Writer(tmp_path / "in", overwrite=True) as writer:
        writer.write_many({"n": -n, "text": "other"} for n in range(60))
    with pytest.raises(MismatchError, match="not the dataset that this view was saved over"):
        _ = OpenSource(source).slice(0, 5).dataset
