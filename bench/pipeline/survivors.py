"""Why one program keeps a document that the other leaves out: how near the nearest other document is."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_WORDS = 5


def nearest(data: Path, documents: Iterable[int], threshold: float, permutations: int) -> list[dict[str, Any]]:
    """Of each document the exact Jaccard similarity to the nearest other one, and the chance that its bands differ.

    Args:
        data: All documents.
        documents: Ids of those to explain.
        threshold: Of the deduplicator.
        permutations: The same.
    """
    from jinx_pipeline.dedup.near import best_bands

    bands, rows = best_bands(threshold, permutations)
    with data.open(encoding="utf-8") as file:
        shingles = {document["id"]: _shingles(document["text"]) for document in map(json.loads, file)}
    found: list[dict[str, Any]] = []
    for document in sorted(documents):
        own = shingles[document]
        similarity, other = max(
            (len(own & theirs) / max(len(own | theirs), 1), at) for at, theirs in shingles.items() if at != document
        )
        chance = (1 - similarity**rows) ** bands
        found.append({"id": document, "nearest": other, "similarity": similarity, "chance_of_missing": chance})
    return found


def _shingles(text: str) -> set[str]:
    """Runs of words as the recipe's deduplicator compares them, after its normalisation of white space."""
    words = text.lower().split()
    return {" ".join(words[at : at + _WORDS]) for at in range(len(words) - _WORDS + 1)}
