"""MinHash next to an exact search of all pairs: what it finds is what the theory of bands says."""

import random
from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest

import jinx_pipeline as jp
from jinx_pipeline.dedup.near import best_bands
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context

Pair = tuple[int, int]


def made_documents(count: int = 2500, seed: int = 9) -> list[str]:
    """Documents of 40 to 200 words; two of three are copies of earlier ones with some words changed."""
    rng = random.Random(seed)
    words = [f"w{number}" for number in range(5000)]
    documents: list[list[str]] = []
    for _ in range(count):
        if len(documents) > 20 and rng.random() < 2 / 3:
            copy = list(rng.choice(documents))
            for _ in range(rng.randrange(1 + len(copy) // 8)):
                copy[rng.randrange(len(copy))] = rng.choice(words)
            documents.append(copy)
        else:
            documents.append(rng.choices(words, k=rng.randint(40, 200)))
    return [" ".join(document) for document in documents]


def similarities(documents: list[str], window: int) -> dict[Pair, float]:
    """The Jaccard similarity of every pair that shares a shingle."""
    sets: list[set[tuple[str, ...]]] = []
    having: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, text in enumerate(documents):
        words = text.split()
        sets.append({tuple(words[place : place + window]) for place in range(len(words) - window + 1)})
        for shingle in sets[-1]:
            having[shingle].append(at)
    shared: Counter[Pair] = Counter()
    for positions in having.values():
        shared.update(combinations(positions, 2))
    return {pair: both / (len(sets[pair[0]]) + len(sets[pair[1]]) - both) for pair, both in shared.items()}


def pairs_of_bands(documents: list[str], operator: jp.Operator) -> set[Pair]:
    """The pairs that share a band."""
    table = operator.signatures(Batch([{"text": text} for text in documents]), Context())  # pyright: ignore[reportAttributeAccessIssue]
    found: set[Pair] = set()
    for name in table.column_names:
        having: dict[int, list[int]] = defaultdict(list)
        for at, key in enumerate(table.column(name).to_pylist()):
            having[key].append(at)
        for positions in having.values():
            found.update(combinations(positions, 2))
    return found


def survivors(pairs: set[Pair], count: int) -> list[int]:
    """The first of each group of connected documents."""
    parents = list(range(count))

    def root(at: int) -> int:
        while parents[at] != at:
            at = parents[at]
        return at

    for pair, other in pairs:
        low, high = sorted((root(pair), root(other)))
        parents[high] = low
    return [at for at in range(count) if root(at) == at]


@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.9])
def test_found_pairs_are_as_many_as_the_theory_says(threshold):
    documents = made_documents()
    operator = jp.create("document_minhash_deduplicator", jaccard_threshold=threshold)
    exact = similarities(documents, 5)
    found = pairs_of_bands(documents, operator)
    bands, rows = best_bands(threshold, 256)
    chances = {pair: 1 - (1 - score**rows) ** bands for pair, score in exact.items()}
    # Of each tenth of the similarities, and of all: within four standard deviations.
    for low in np.arange(0, 1.1, 0.1):
        inside = [pair for pair, score in exact.items() if low <= score < low + 0.1 or low > 1]
        expected = sum(chances[pair] for pair in inside)
        spread = sum(chances[pair] * (1 - chances[pair]) for pair in inside) ** 0.5
        assert abs(sum(pair in found for pair in inside) - expected) <= 4 * spread + 1, low
    # What shares no shingle at all shares no band.
    assert not found - exact.keys()
    # Survivors are those of the connected pairs, and differ from the exact ones by no more than pairs that fell on the
    # other side of the threshold can explain.
    kept = [sample["id"] for sample in operator([{"id": at, "text": text} for at, text in enumerate(documents)])]
    assert kept == survivors(found, len(documents))
    wanted = {pair for pair, score in exact.items() if score >= threshold}
    assert len(set(kept) ^ set(survivors(wanted, len(documents)))) <= len(wanted ^ found)
    assert 0.9 < len(kept) / len(survivors(wanted, len(documents))) < 1.1
