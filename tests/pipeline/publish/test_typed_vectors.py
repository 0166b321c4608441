"""Vectors that operators add to a view are arrays of float32, with the values of the rows."""

import numpy as np
import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.publish.typed_vectors import with_typed_vectors
from pipeline.operators.tiny_models import save_encoder

WORDS = ("cat", "dog", "a", "the", "mat", "sits", "red", "thing")
COUNT = 40


def dataset_of(values, path):
    with jinx.Writer(path) as writer:
        writer.write_many({"n": n, "v": value} for n, value in enumerate(values))
    return jinx.open(path)


@pytest.mark.timeout(400)  # two runs, whose workers import torch
def test_a_view_has_an_array_and_other_outputs_have_lists(tmp_path):
    save_encoder(tmp_path / "model")
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"text": " ".join(WORDS[: i % 7 + 1]), "n": i} for i in range(COUNT))
    flow = Dataset.load(tmp_path / "in.jinx").process(
        [
            jp.create("text_embedding_mapper", hf_model=str(tmp_path / "model")),
            jp.create("text_length_filter", min_len=6),
        ]
    )
    flow.export(tmp_path / "rows.jinx", kind="jinx", workers=1, block_rows=7)
    flow.export(tmp_path / "view.jinx", kind="view", workers=1, block_rows=7)
    rows, view = jinx.open(tmp_path / "rows.jinx"), jinx.open(tmp_path / "view.jinx")
    assert 0 < len(view) < COUNT
    vectors = view.column("text_embedding")
    assert vectors.dtype == np.float32
    assert vectors.tolist() == rows.column("text_embedding") == [sample["text_embedding"].tolist() for sample in view]
    assert view.column("n").tolist() == rows.column("n").tolist()
    assert set(view.column_names) == set(rows.column_names)
    assert view.nearest(vectors[3], "text_embedding", 1).scores[0] == pytest.approx(1)
    assert not list(tmp_path.glob(".vectors*"))
    assert jinx.verify(tmp_path / "view.jinx") == []


def typed(values, path):
    dataset = dataset_of(values, path)
    with with_typed_vectors(dataset, ["v", "none"], path.parent) as view:
        view.select_columns(["v"]).save(path.parent / "view.jinx")
    return jinx.open(path.parent / "view.jinx")


def test_missing_vectors_are_missing(tmp_path):
    # More than the first block, and none in it.
    values = [None] * 70 + [[0.5, float("nan"), -0.0], None, [1.0, float("inf"), 2.0**-149]] * 40
    view = typed(values, tmp_path / "in.jinx")
    column = view.column("v")
    assert column.dtype == np.float32
    assert [None if value is None else value.tolist() for value in (sample["v"] for sample in view)] == [
        value if value is None else pytest.approx(value, nan_ok=True, abs=0) for value in values
    ]


@pytest.mark.parametrize(
    "values",
    [
        [[0.5, 1.5], [0.5]],
        [[0.5, 1.5], [0.1, 0.5]],  # float32 does not hold 0.1
        [[0.5, 1e300]],
        [[1, 2], [3, 4]],
        [[[0.5]], [[0.25]]],
        [[0.5, None]],
        [[], []],
        ["text", "other"],
        [None, None],
        [[0.5]] * 100 + [[0.5, 0.5]],
    ],
)
def test_other_values_stay_as_they_are(tmp_path, values):
    view = typed(values, tmp_path / "in.jinx")
    assert [sample["v"] for sample in view] == values
