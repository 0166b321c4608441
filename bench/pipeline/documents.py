"""Synthetic documents of 1.1 kB: 17 % noise that filters drop, 5 % exact and 8 % near duplicates."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

_VOCABULARY = 20_000
_NEAR, _EXACT, _NOISE = 0.08, 0.05, 0.17
# Only so many texts are repeated, so that the generator stays small.
_ORIGINALS = 50_000
_ODD_SPACES = 0.1
_LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))
_FREQUENCY = np.array([8, 2, 3, 4, 12, 2, 2, 6, 7, 1, 1, 4, 2, 7, 8, 2, 1, 6, 6, 9, 3, 1, 2, 1, 2, 1], dtype=float)


def documents(count: int, seed: int = 0) -> Iterator[str]:
    """The texts, in order."""
    dice = np.random.default_rng(seed)
    words = _vocabulary(dice)
    chance = 1 / np.arange(1, _VOCABULARY + 1) ** 0.9
    edges = np.cumsum(chance / chance.sum())
    earlier: list[str] = []
    for kind in dice.random(count):
        if earlier and kind < _EXACT:
            yield earlier[int(dice.integers(len(earlier)))]
            continue
        if earlier and kind < _EXACT + _NEAR:
            yield _edited(earlier[int(dice.integers(len(earlier)))], words, dice)
            continue
        text = _text(words[np.searchsorted(edges, dice.random(int(dice.integers(120, 260))))], dice)
        if kind > 1 - _NOISE:
            yield _spoilt(text, dice)
            continue
        if len(earlier) < _ORIGINALS:
            earlier.append(text)
        yield text


def write(path: Path, count: int, seed: int = 0) -> None:
    """The texts as JSON lines with an id."""
    with path.open("w", encoding="utf-8") as file:
        for number, text in enumerate(documents(count, seed)):
            file.write(json.dumps({"id": number, "text": text}) + "\n")


def _vocabulary(dice: np.random.Generator) -> np.ndarray:
    lengths = dice.poisson(3.6, _VOCABULARY) + 1
    letters = dice.choice(_LETTERS, int(lengths.sum()), p=_FREQUENCY / _FREQUENCY.sum())
    ends = np.cumsum(lengths)
    return np.array(["".join(letters[end - length : end]) for end, length in zip(ends, lengths, strict=True)])


def _text(words: np.ndarray, dice: np.random.Generator) -> str:
    """Sentences of 12 words, paragraphs of 5 sentences, and here and there white space that is to be normalised."""
    sentences = [" ".join(words[start : start + 12]).capitalize() + "." for start in range(0, len(words), 12)]
    space = "\u00a0 " if dice.random() < _ODD_SPACES else " "
    return "\n".join(space.join(sentences[start : start + 5]) for start in range(0, len(sentences), 5))


def _edited(text: str, words: np.ndarray, dice: np.random.Generator) -> str:
    """Two words of it replaced."""
    parts = text.split(" ")
    for place in dice.integers(0, len(parts), 2):
        parts[place] = str(words[int(dice.integers(len(words)))])
    return " ".join(parts)


def _spoilt(text: str, dice: np.random.Generator) -> str:
    """One of five kinds of noise: too short, symbols, a repeated character, repeated words, few words."""
    kind = int(dice.integers(5))
    if kind == 0:
        return text[: int(dice.integers(1, 40))]
    if kind == 1:
        return "".join(dice.choice(list("#*|=-_~^<>[]{}0123456789 "), len(text)))
    if kind == 2:  # noqa: PLR2004 - the third kind
        return text[:100] + "a" * len(text)
    if kind == 3:  # noqa: PLR2004
        return (text[:60] + " ") * (len(text) // 60)
    return "".join(text.split())
