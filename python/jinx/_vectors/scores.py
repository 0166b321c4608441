"""Scores of vectors, as users get them."""

from typing import Any, Literal

Metric = Literal["cosine", "dot", "l2"]
METRICS = ("cosine", "dot", "l2")


def exact_scores(vectors: Any, query: Any, metric: str) -> Any:
    """The scores of vectors in float64; for `l2` the negative distances. Equal vectors have equal scores."""
    import numpy as np

    vectors = vectors.astype(np.float64)
    if metric == "l2":
        difference = vectors - query
        return -np.sqrt((difference * difference).sum(axis=1))
    scores = (vectors * query).sum(axis=1)
    if metric == "cosine":
        lengths = np.sqrt((vectors * vectors).sum(axis=1)) * np.sqrt((query * query).sum())
        scores = np.divide(scores, lengths, out=np.zeros_like(scores), where=lengths > 0)
    return scores
