"""Operators over a column of vectors."""

import numpy as np
import pytest

import jinx_pipeline as jp
from jinx._vectors.directions import unit
from jinx_pipeline.operators.vector.semantic_deduplicator import first_similar
from jinx_pipeline.operators.vector.spherical_kmeans import clusters
from jinx_pipeline.operators.vector.stored_vectors import StoredVectors

CENTRES = np.eye(5, 16)


def around(count: int, noise: float, seed: int = 1) -> np.ndarray:
    """Vectors near five directions."""
    random = np.random.default_rng(seed)
    return CENTRES[np.arange(count) % 5] + random.normal(scale=noise, size=(count, 16))


def samples(vectors: np.ndarray) -> list[dict[str, object]]:
    return [{"id": i, "emb": vector} for i, vector in enumerate(vectors)]


def ids(found: list[dict[str, object]]) -> list[object]:
    return [sample["id"] for sample in found]


def test_clusters_are_the_directions():
    found = clusters(around(400, 0.05), 5, seed=3)
    assert len(found) == 400
    assert (found == clusters(around(400, 0.05), 5, seed=3)).all()
    # Five first centres need not be in five clusters, but vectors of one direction stay together.
    for direction in range(5):
        assert len(set(found[direction::5].tolist())) <= 3
    assert clusters(around(3, 0.1), 0).max() <= 2
    assert clusters(np.zeros((0, 4), np.float32), 0).tolist() == []


@pytest.mark.parametrize("threshold", [0.5, 0.9, 0.99])
def test_first_similar_is_the_greedy_choice(threshold, monkeypatch):
    monkeypatch.setattr("jinx_pipeline.operators.vector.semantic_deduplicator._BLOCK_ROWS", 7)
    vectors = unit(around(60, 0.2))
    kept: list[int] = []
    expected: list[int] = []
    for i, vector in enumerate(vectors):
        first = next((j for j in kept if vector @ vectors[j] >= threshold), -1)
        expected.append(first)
        if first < 0:
            kept.append(i)
    assert first_similar(vectors, threshold).tolist() == expected


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_semantic_duplicates_name_what_they_repeat(dtype):
    given = samples(around(50, 0.001).astype(dtype))
    given.insert(3, {"id": "none", "emb": None})
    operator = jp.create("semantic_deduplicator", threshold=0.9, clusters=1)
    assert ids(operator(given)) == [0, 1, 2, "none", 3, 4]
    marked = operator(given, drop=False)
    assert [sample["__dj__duplicate_of"] for sample in marked[:6]] == [None] * 6
    assert [sample["__dj__duplicate_of"] for sample in marked[6:9]] == [0, 1, 2]
    # More clusters find only duplicates that one cluster finds, too.
    assert set(ids(operator(given))) <= set(ids(jp.create("semantic_deduplicator", threshold=0.9, clusters=4)(given)))


def test_no_vectors_at_all():
    given = [{"emb": None}, {"emb": [float("nan")]}]
    assert len(jp.create("semantic_deduplicator")(given)) == 2
    assert jp.create("diversity_selector", select_num=1)(given) == []
    assert jp.create("cluster_balanced_selector", select_num=1)(given) == []


def test_vectors_of_several_lengths_are_refused():
    with pytest.raises(Exception, match="one length"):
        jp.create("semantic_deduplicator")([{"emb": [1.0]}, {"emb": [1.0, 2.0]}])


def test_a_balanced_selection():
    vectors = np.concatenate([np.repeat(CENTRES[:1], 90, axis=0), CENTRES[1:]])
    found = jp.create("cluster_balanced_selector", select_num=10, clusters=94)(samples(vectors))
    assert set(range(90, 94)) <= set(ids(found))
    assert len(found) == 10
    assert ids(found) == sorted(ids(found))


def test_a_diverse_selection():
    found = jp.create("diversity_selector", select_num=5)(samples(around(100, 0.01)))
    assert len({number % 5 for number in ids(found)}) == 5
    assert len(jp.create("diversity_selector", select_ratio=0.5)(samples(around(7, 0.1)))) == 3
    assert len(jp.create("diversity_selector", select_num=99)(samples(around(7, 0.1)))) == 7


def test_what_is_near_or_far(tmp_path):
    given = [*samples(around(20, 0.01)), {"id": "none", "emb": None}]
    np.save(tmp_path / "examples.npy", CENTRES[:2])
    near = jp.create("nearest_filter", examples_file=str(tmp_path / "examples.npy"), min_similarity=0.9)(given)
    assert ids(near) == [i for i in range(20) if i % 5 < 2]
    far = jp.create("nearest_filter", examples=CENTRES[:2].tolist(), max_similarity=0.5)(given)
    assert ids(far) == [i for i in range(20) if i % 5 >= 2]
    with pytest.raises(Exception, match="examples of 2"):
        jp.create("nearest_filter", examples=[[1, 0]])(given)
    with pytest.raises(jp.ParameterError, match="give examples"):
        jp.create("nearest_filter")
    with pytest.raises(jp.ParameterError, match="is not a file"):
        jp.create("nearest_filter", examples_file=str(tmp_path / "missing.npy"))(given)


def test_clusters_as_a_column():
    given = [*samples(around(100, 0.01).astype(np.float16)), {"id": "none", "emb": None}]
    found = jp.create("kmeans_mapper", clusters=25)(given)
    assert ids(found) == ids(given)
    assert found[-1]["cluster"] is None
    assert found[-1]["cluster_similarity"] is None
    clusters_of = [{sample["cluster"] for sample in found[:-1] if sample["id"] % 5 == i} for i in range(5)]
    assert not any(a & b for number, a in enumerate(clusters_of) for b in clusters_of[number + 1 :])
    assert all(0.99 < sample["cluster_similarity"] <= 1 for sample in found[:-1])
    assert found == jp.create("kmeans_mapper", clusters=25)(given)
    assert jp.create("kmeans_mapper")([{"emb": None}])[0]["cluster"] is None
    renamed = jp.create("kmeans_mapper", cluster_field="c", similarity_field="s")([{"emb": [2.0, 0.0]}])
    assert (renamed[0]["c"], renamed[0]["s"]) == (0, 1.0)


def test_a_map_of_vectors():
    pytest.importorskip("sklearn")
    given = [*samples(around(100, 0.01)), {"id": "none", "emb": None}]
    found = jp.create("vector_map_mapper", fit_samples=60, perplexity=5)(given)
    assert found[-1]["map"] is None
    places = np.array([sample["map"] for sample in found[:-1]])
    assert places.shape == (100, 2)
    assert np.isfinite(places).all()
    centres = np.array([places[i::5].mean(axis=0) for i in range(5)])
    nearest = np.linalg.norm(places[:, None] - centres, axis=2).argmin(axis=1)
    assert (nearest == np.arange(100) % 5).mean() > 0.9
    assert jp.create("vector_map_mapper")([{"emb": [1.0, 0.0]}])[0]["map"] == [0.0, 0.0]
    assert jp.create("vector_map_mapper")([{"emb": None}])[0]["map"] is None


def test_stored_vectors_are_those_that_are_present():
    stored = StoredVectors("emb")
    stored.extend([None, [1.0, 2.0]])
    stored.extend([np.array([0.5, 0.25], np.float16)])
    stored.extend([])
    stored.extend([None])
    assert stored.present.tolist() == [False, True, True, False]
    assert stored.mapped().tolist() == [[1.0, 2.0], [0.5, 0.25]]
    assert len(stored) == 4
    with pytest.raises(ValueError, match="vectors of 2 and of 3 numbers in 'emb'"):
        stored.extend([[1.0, 2.0, 3.0]])
    assert StoredVectors("emb").mapped().shape == (0, 1)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_directions_have_length_one(scale):
    vectors = np.array([[3, 4], [0, 0], [-1, 0]]) * scale
    assert np.allclose(unit(vectors), [[0.6, 0.8], [0, 0], [-1, 0]], atol=1e-6)
