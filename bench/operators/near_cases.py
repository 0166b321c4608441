"""Near-duplicates of two implementations: whether samples that only one keeps are near the limit."""

import numpy as np

from jinx_pipeline.dedup.near import best_bands


def explained(texts: list[str], differing: list[int], window: int, *, by_character: bool) -> list[int]:
    """The positions among `differing` that different hash functions, or their view of short texts, explain.

    Theirs takes all texts without a shingle for copies of one another. Of the others it explains those that pairs
    connect, one of which two signatures may or may not find.

    Args:
        texts: All documents.
        differing: Positions of those that only one keeps.
        window: Tokens of a shingle.
        by_character: The tokens are characters, not words.
    """
    tokens = [list(text.lower()) if by_character else text.lower().split() for text in texts]
    of_theirs = [
        list(text.lower()) if by_character else [word for word in text.lower().split(" ") if word] for text in texts
    ]
    numbers: dict[tuple[str, ...], int] = {}
    sets = [
        {
            numbers.setdefault(tuple(of_text[at : at + window]), len(numbers))
            for at in range(max(len(of_text) - window + 1, 1))
        }
        for of_text in tokens
    ]
    has = np.zeros((len(texts), len(numbers)), dtype=np.float32)
    for at, shingles in enumerate(sets):
        has[at, list(shingles)] = 1
    shared = has @ has.T
    sizes = has.sum(axis=1)
    similarity = shared / (sizes[:, None] + sizes[None, :] - shared)
    bands, rows = best_bands(0.7, 256)
    chance = 1 - (1 - similarity.astype(np.float64) ** rows) ** bands
    is_near, is_open = chance > 1e-4, (chance > 1e-4) & (chance < 1 - 1e-4)  # noqa: PLR2004 - once in ten thousand
    group = np.arange(len(texts))
    while True:
        least = np.where(is_near, group[None, :], len(texts)).min(axis=1)
        if (least == group).all():
            break
        group = least
    is_open_group = np.zeros(len(texts) + 1, dtype=bool)
    is_open_group[group[is_open.any(axis=1)]] = True
    return [at for at in differing if is_open_group[group[at]] or len(of_theirs[at]) < window]
