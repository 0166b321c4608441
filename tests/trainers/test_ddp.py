"""Two ranks with plain PyTorch: each gets its own share, and both end together."""

import pytest

from trainers.running import COUNT, run

pytestmark = pytest.mark.timeout(300)  # ends hangs; two ranks import torch at once, which takes a busy machine minutes


@pytest.mark.parametrize("way", ["ddp", "shard"])
def test_every_rank_gets_its_own_share(numbers, tmp_path, way):
    one, two = run(way, numbers, tmp_path / "out")
    assert len(one) == len(two) == (COUNT + 1) // 2
    # One sample comes twice, so that both ranks have equally many.
    assert sorted({*one, *two}) == list(range(COUNT))
