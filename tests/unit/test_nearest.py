"""`Dataset.nearest` against a comparison of all pairs in float64."""

from pathlib import Path

import numpy as np
import pytest

import jinx
from jinx._vectors import vectors as module
from jinx._vectors.scores import exact_scores

COUNT, WIDTH = 300, 12


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(COUNT, WIDTH))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> jinx.Dataset:
    path = tmp_path_factory.mktemp("nearest") / "base.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many({"n": i} for i in range(COUNT))
    return jinx.open(path)


def saved(base: jinx.Dataset, path: Path, array: object) -> jinx.Dataset:
    base.with_columns({"emb": array}).save(path)
    return jinx.open(path)


def expected(array: np.ndarray, query: np.ndarray, metric: str) -> tuple[np.ndarray, np.ndarray]:
    scores = exact_scores(array, query, metric)
    order = np.lexsort((np.arange(len(array)), -scores))
    return order, scores[order] * (-1 if metric == "l2" else 1)


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8"])
@pytest.mark.parametrize("block", [1, 7, 1000])
def test_the_nearest_are_exact(base, vectors, tmp_path, monkeypatch, *, metric, dtype, block):
    array = (vectors * 9).astype(dtype)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 8 * WIDTH * block)
    view = saved(base, tmp_path / "v.jinx", array)
    queries = vectors[:4]
    found = view.nearest(queries, "emb", k=9, metric=metric)
    assert found.positions.shape == found.scores.shape == (4, 9)
    for i, query in enumerate(queries):
        positions, scores = expected(array, query, metric)
        assert found.positions[i].tolist() == positions[:9].tolist()
        assert found.scores[i].tolist() == scores[:9].tolist()
        one = view.nearest(query, "emb", k=9, metric=metric)
        assert one.positions.tolist() == found.positions[i].tolist()


def test_equal_vectors_come_by_position(base, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_BYTES", 8 * WIDTH * 13)
    array = np.tile(np.random.default_rng(1).normal(size=WIDTH).astype(np.float32), (COUNT, 1))
    found = saved(base, tmp_path / "v.jinx", array).nearest(array[0], "emb", k=20)
    assert found.positions.tolist() == list(range(20))
    assert len(set(found.scores.tolist())) == 1


def test_views_and_conditions(base, vectors, tmp_path):
    view = saved(base, tmp_path / "v.jinx", vectors.astype(np.float32))
    order = [9, 4, 4, 200, 17, 3]
    part = view.select(order)
    assert part.nearest(vectors[4], "emb", k=2).positions.tolist() == [1, 2]
    assert part.nearest(vectors[4], "emb", k=2, where="n != 4").positions.tolist() != [1, 2]
    for where in ("n >= 100", np.arange(COUNT) >= 100, lambda sample: sample["n"] >= 100):
        found = view.nearest(vectors[5], "emb", k=3, where=where)
        assert (
            found.positions.tolist()
            == [i for i in expected(vectors.astype(np.float32), vectors[5], "cosine")[0] if i >= 100][:3]
        )
    assert part.nearest(vectors[4], "emb", k=50).positions.shape == (6,)
    assert len(view.nearest(vectors[4], "emb", where="n < 0").positions) == 0


def test_vectors_that_are_near_to_nothing(base, tmp_path):
    array = np.ma.MaskedArray(np.ones((COUNT, 3), dtype=np.float32))
    array[::2] = np.ma.masked
    array[1] = np.nan
    array[3] = 0
    view = saved(base, tmp_path / "v.jinx", array)
    found = view.nearest([1, 1, 1], "emb", k=COUNT)
    assert found.positions.tolist() == [*range(5, COUNT, 2), 3]
    assert found.scores[-1] == 0


def test_numbers_beyond_float32(base, tmp_path):
    array = np.full((COUNT, 2), 1e100)
    array[7] = [1e101, 0]
    assert saved(base, tmp_path / "v.jinx", array).nearest([1, 0], "emb", k=1).positions.tolist() == [7]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_directions_of_tiny_vectors(base, vectors, tmp_path, dtype):
    array = vectors.astype(dtype)
    array[::3] *= 1e-30
    view = saved(base, tmp_path / "v.jinx", array)
    for query in (3, 4):
        positions, scores = expected(array, vectors[query], "cosine")
        found = view.nearest(vectors[query], "emb", k=7)
        assert found.positions.tolist() == positions[:7].tolist()
        assert found.scores.tolist() == scores[:7].tolist()


def test_lists_and_columns_in_memory(base, vectors):
    for column in (vectors.tolist(), list(vectors), vectors):
        view = base.with_columns({"emb": column})
        assert view.nearest(vectors[8], "emb", k=1).positions.tolist() == [8]


def test_what_is_refused(base, vectors):
    view = base.with_columns({"emb": vectors, "ragged": [[1.0], [1.0, 2.0]] * (COUNT // 2)})
    with pytest.raises(ValueError, match="metric='hamming'"):
        view.nearest(vectors[0], "emb", metric="hamming")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="vectors of 12 numbers"):
        view.nearest([1, 2], "emb")
    with pytest.raises(ValueError, match="k=0 is not at least 1"):
        view.nearest(vectors[0], "emb", k=0)
    for wrong in (1.5, "3", True):
        with pytest.raises(TypeError, match="not int"):
            view.nearest(vectors[0], "emb", k=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not finite"):
        view.nearest([np.nan] * WIDTH, "emb")
    with pytest.raises(ValueError, match="boolean mask"):
        view.nearest(vectors[0], "emb", where=[1, 2])
    with pytest.raises(TypeError, match="one length"):
        view.nearest([1.0], "ragged")
    with pytest.raises(TypeError, match="numbers and not vectors"):
        base.with_columns({"q": np.arange(COUNT)}).nearest([1.0], "q")
    with pytest.raises(KeyError, match="emd"):
        view.nearest(vectors[0], "emd")


@pytest.mark.parametrize("where", [None, "n > 900"])
def test_nothing_is_near_where_no_sample_has_a_vector(base, vectors, tmp_path, where):
    jinx.convert(base.with_columns({"emb": vectors}), tmp_path / "copy.jinx")
    stored = jinx.open(tmp_path / "copy.jinx")
    for none in (stored.filter("n > 900"), stored[:0], base.with_columns({"emb": [None] * COUNT})):
        found = none.nearest(vectors[0], "emb", k=3, where=where)
        assert found.positions.shape == found.scores.shape == (0,)
        assert none.nearest(vectors[:2], "emb").positions.shape == (2, 0)
