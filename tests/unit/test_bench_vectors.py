"""The benchmark of typed columns and vectors measures every target, and its page names it."""

import numpy as np
import pytest

from bench.vectors import columns, dedup, indexed, peers, search
from bench.vectors.page import TARGETS


def test_every_target_is_measured(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")

    def told(module, *arguments):
        if "faiss" not in module:
            return {"failed": "not installed: here"}
        vectors, queries = (np.load(path).astype(np.float32) for path in arguments[:2])
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return {"wall": 1.0, "cpu": 1.0, "positions": np.argsort(-(queries @ vectors.T))[:, : arguments[2]].tolist()}

    monkeypatch.setattr(peers, "measured", told)
    records = columns.run(tmp_path, 2000, rounds=1)
    records += search.run(tmp_path, 300, 16, 4, rounds=1)
    records += dedup.run(tmp_path / "vectors.npy", rounds=1)
    found = {(record["case"], record["contestant"]) for record in records if "failed" not in record}
    for target in TARGETS:
        assert {(target.case, name) for name in ("jinx", *target.others)} <= found
    assert [record["agreement"] for record in records if "agreement" in record] == [1.0]


def test_an_index_is_measured_next_to_faiss(tmp_path, monkeypatch):
    def told(module, *arguments):
        assert module == "bench.vectors.faiss_ivf"
        vectors, asked, exact = (np.load(path) for path in arguments[:3])
        assert vectors.shape == (2000, 16)
        assert asked.shape == (5, 16)
        assert exact.shape == (5, indexed.K)
        return {"wall": 1.0, "cpu": 1.0, "made": {"wall": 2.0, "cpu": 2.0}, "recall": 0.97, "probes": 4}

    monkeypatch.setattr(peers, "measured", told)
    records = indexed.run(tmp_path, 2000, 16, 5, rounds=2)
    found = {(record["case"], record["contestant"]) for record in records}
    contestants = {(indexed.SEARCH, name) for name in (indexed.JINX, indexed.EXACT, indexed.FAISS)}
    assert found == contestants | {(indexed.MAKE, name) for name in (indexed.JINX, indexed.FAISS)}
    said = "\n".join(indexed.told(records))
    assert "faiss, IVF flat: 97.0% of the exact neighbours, 4 lists." in said
    assert "The index of 45 lists says" in said
