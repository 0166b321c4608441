"""Three distributions of sample sizes, made on the spot: what instruction data for vision-language models looks like.

Their means are those of the study that the targets come from: 671, 682 and 540 tokens, 1.33, 1.23 and 0.86 images.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
MAX_LENGTH = 4096
TILE_TOKENS = 64


def llava(random: np.random.Generator, count: int) -> tuple[Ints, Ints]:
    """Conversations about 1 to 4 images of 2 to 13 tiles each, with text of a lognormal length."""
    images = random.choice([1, 2, 3, 4], count, p=[0.795, 0.115, 0.05, 0.04])
    tiles = np.zeros(count, dtype=np.int64)
    for number in range(1, 5):
        of_one = 2 + (12 * random.random(count) ** 1.4).astype(np.int64)
        tiles += np.where(images >= number, of_one, 0)
    text = random.lognormal(4.38, 0.8, count).astype(np.int64) + 8
    return text + tiles * TILE_TOKENS, images


def sft_mix(random: np.random.Generator, count: int) -> tuple[Ints, Ints]:
    """55 % short questions about an image, 25 % text chats, 12 % with 2 to 6 images, 8 % long documents."""
    kinds = ("question", "chat", "several", "document")
    kind = random.choice(kinds, count, p=[0.55, 0.25, 0.12, 0.08])
    cases = [kind == name for name in kinds]
    images = np.select(cases, [1, 0, random.integers(2, 7, count), random.integers(1, 5, count)])
    # Mean and spread of the logarithm of the text's length.
    spreads = {"question": (3.6, 0.5), "chat": (6.03, 0.9), "several": (4.6, 0.6), "document": (7.73, 0.35)}
    text = np.select(cases, [random.lognormal(*spreads[name], count) for name in kinds]).astype(np.int64)
    tiles = images * np.where(kind == "question", random.integers(2, 7, count), random.integers(2, 6, count))
    return text + 8 + tiles * TILE_TOKENS, images


def heavy_tail(random: np.random.Generator, count: int) -> tuple[Ints, Ints]:
    """Text of a Pareto length, images by Zipf's law."""
    images = np.minimum(random.zipf(2.27, count) - 1, 8)
    text = 16 + (284 * random.pareto(1.75, count)).astype(np.int64)
    return text + images * random.integers(2, 6, count) * TILE_TOKENS, images


DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int], tuple[Ints, Ints]]] = {
    "llava": llava,
    "sft_mix": sft_mix,
    "heavy_tail": heavy_tail,
}


def sizes(name: str, count: int = 200_000, seed: int = 0) -> dict[str, npt.NDArray[np.uint32]]:
    """Tokens and images of samples, none longer than `MAX_LENGTH`, as uint32 of shape (count,)."""
    tokens, images = DISTRIBUTIONS[name](np.random.default_rng(seed), count)
    return {
        "num_tokens": np.clip(tokens, 16, MAX_LENGTH).astype(np.uint32),
        "num_images": images.astype(np.uint32),
    }
