"""Two ranks with the trainers people use: `make test-trainers` installs and runs them."""

from importlib.util import find_spec

import pytest

from trainers.running import COUNT, run


@pytest.mark.parametrize(
    ("way", "package"), [("accelerate", "accelerate"), ("lightning", "lightning"), ("hf_trainer", "accelerate")]
)
def test_every_rank_gets_its_own_share(numbers, tmp_path, way, package):
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed; run: make test-trainers")
    one, two = run(way, numbers, tmp_path / "out")
    assert sorted({*one, *two}) == list(range(COUNT))
    assert abs(len(one) - len(two)) <= 3  # of the last batch, which some trainers fill up and others do not
    assert len(one) + len(two) <= COUNT + 3


def test_sft_trains_on_conversations(numbers, tmp_path):
    if find_spec("trl") is None:
        pytest.skip("trl is not installed; run: make test-trainers")
    assert run("trl", numbers, tmp_path / "out") == [[3, 1], [3, 1]]
