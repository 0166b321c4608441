"""Operators over vectors as steps of recipes: the same as on a list of samples, however work is divided."""

import numpy as np
import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.dataset import Dataset

COUNT = 90


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "base.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many({"n": i} for i in range(COUNT))
    random = np.random.default_rng(4)
    vectors = np.eye(6, 12)[np.arange(COUNT) % 6] + random.normal(scale=0.2, size=(COUNT, 12))
    masked = np.ma.MaskedArray(vectors.astype(np.float16))
    masked[7] = np.ma.masked
    view = path.with_name("in.jinx")
    jinx.open(path).with_columns({"emb": masked}).save(view)
    return view


def exported(data, place, *operators, **options):
    dataset = Dataset.load(data)
    dataset.process(list(operators)).export(place, **options)
    return [sample.to_dict() for sample in jinx.open(place)]


def numbers(samples):
    return [sample["n"] for sample in samples]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("semantic_deduplicator", {"threshold": 0.8, "clusters": 3}),
        ("cluster_balanced_selector", {"select_num": 20, "clusters": 6}),
        ("diversity_selector", {"select_num": 12}),
        ("nearest_filter", {"examples": np.eye(2, 12).tolist(), "min_similarity": 0.7}),
    ],
)
def test_a_run_keeps_what_the_operator_keeps(data, tmp_path, name, options):
    expected = jp.create(name, **options)([sample.to_dict() for sample in jinx.open(data)])
    for workers, rows in ((1, 1000), (2, 17)):
        operator = jp.create(name, **options)
        found = exported(data, tmp_path / f"out{rows}.jinx", operator, workers=workers, block_rows=rows)
        assert numbers(found) == numbers(expected)


def test_clusters_are_a_column_of_a_view(data, tmp_path):
    given = [sample.to_dict() for sample in jinx.open(data)]
    expected = jp.create("kmeans_mapper", clusters=6)(given)
    for workers, rows in ((1, 1000), (2, 17)):
        place = tmp_path / f"view{rows}.jinx"
        operator = jp.create("kmeans_mapper", clusters=6)
        found = exported(data, place, operator, workers=workers, block_rows=rows, kind="view")
        assert [(s["n"], s["cluster"]) for s in found] == [(s["n"], s["cluster"]) for s in expected]
        assert [s["cluster_similarity"] for s in found] == [s["cluster_similarity"] for s in expected]
        assert found[7]["cluster"] is None
        assert set(jinx.open(place).info().own_columns) >= {"cluster", "cluster_similarity"}
