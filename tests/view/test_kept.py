"""Selections as bits, compared with plain lists of numbers."""

import random

import numpy as np
import pytest

from jinx._viewer.kept import Keeping

BLOCK = 1 << 16


@pytest.mark.parametrize("samples", [0, 1, 7, 8, 9, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 1.0])
def test_what_was_added_is_kept(samples: int, share: float) -> None:
    chance = random.Random(samples)
    numbers = [i for i in range(samples) if chance.random() < share]
    keeping = Keeping(samples)
    # In pieces that share bytes.
    for start in range(0, len(numbers), 1001):
        keeping.add(np.array(numbers[start : start + 1001], dtype=np.uint32))
    kept = keeping.kept()
    assert len(kept) == len(numbers)
    assert kept.numbers(0, samples).tolist() == numbers
    for start in {0, 1, len(numbers) // 2, max(0, len(numbers) - 3), len(numbers), len(numbers) + 9}:
        assert kept.numbers(start, start + 60).tolist() == numbers[start : start + 60]
    for place in range(0, len(numbers), max(1, len(numbers) // 50)):
        assert kept.place_of(numbers[place]) == place
    for sample in (-1, samples, samples + 8, 10**18):
        assert kept.place_of(sample) is None


def test_what_is_added_later_does_not_change_what_was_shown() -> None:
    keeping = Keeping(20)
    keeping.add(np.array([3, 4]))
    first = keeping.kept()
    keeping.add(np.array([5, 19]))
    assert first.numbers(0, 20).tolist() == [3, 4]
    assert keeping.kept().numbers(0, 20).tolist() == [3, 4, 5, 19]
    assert keeping.kept().to_bytes() == (1 << 3 | 1 << 4 | 1 << 5 | 1 << 19).to_bytes(3, "little")
