"""Samples with media, the same in every environment."""

import random
from collections.abc import Iterator
from typing import Any

IMAGE_BYTES = 47_000


def media_rows(count: int) -> Iterator[dict[str, Any]]:
    """Samples of 48 kB like those of a vision-language dataset: an image that does not compress, and its messages."""
    draw = random.Random(1)
    noise = draw.randbytes(16 << 20)
    words = [f"word{i}" for i in range(500)]
    for i in range(count):
        start = draw.randrange(len(noise) - IMAGE_BYTES)
        text = " ".join(draw.choices(words, k=60))
        yield {
            "id": f"sample-{i:08}",
            "image": b"\xff\xd8\xff" + i.to_bytes(8, "big") + noise[start : start + IMAGE_BYTES],
            "messages": [{"role": "user", "content": text}, {"role": "assistant", "content": text[::-1]}],
            "score": draw.random(),
        }
