"""Web-like texts for measuring: about 1.09 kB each, with planted noise and duplicates; the same for a seed."""

import random

WORDS = 20_000
NOISE = 0.17
NEAR = 0.08
EXACT = 0.05


def vocabulary(rng: random.Random) -> list[str]:
    """Made-up words of 2 to 11 letters."""
    return ["".join(rng.choices("etaoinshrdlucmfwypvbgk", k=rng.randint(2, 11))) for _ in range(WORDS)]


def recipe_texts(count: int, seed: int = 11) -> list[str]:
    """`count` texts: sentences and paragraphs; noise in 17 %, 8 % near and 5 % exact copies of earlier ones."""
    rng = random.Random(seed)
    words = vocabulary(rng)
    # A few words are most of a text.
    weights = [1 / (rank + 3) for rank in range(WORDS)]
    texts: list[str] = []
    for _ in range(count):
        chance = rng.random()
        if texts and chance < EXACT:
            texts.append(rng.choice(texts))
        elif texts and chance < EXACT + NEAR:
            changed = rng.choice(texts).split(" ")
            for _ in range(1 + len(changed) // 60):
                changed[rng.randrange(len(changed))] = rng.choice(words)
            texts.append(" ".join(changed))
        else:
            text = _prose(rng.choices(words, weights, k=rng.randint(60, 215)), rng)
            texts.append(_noisy(text, rng) if rng.random() < NOISE else text)
    return texts


def _prose(words: list[str], rng: random.Random) -> str:
    parts: list[str] = []
    at = 0
    while at < len(words):
        length = rng.randint(5, 18)
        sentence = " ".join(words[at : at + length]).capitalize()
        parts.append(sentence + rng.choice((". ", ". ", ", ", "? ", ".\n", ".\n\n")))
        at += length
    return "".join(parts)


def _noisy(text: str, rng: random.Random) -> str:
    noise = rng.choice(
        (
            "~!@#$%^&*() " * 12,
            "click here now " * 25,
            "\u3000\u00a0\t " * 20,
            "1234567890 " * 20,
            "看看这个网站 ★★★ " * 10,
            "=" * 200,
        )
    )
    at = rng.randrange(len(text))
    return text[:at] + noise + text[at:]
