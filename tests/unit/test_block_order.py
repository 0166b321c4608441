"""`shuffle="blocks"`: the order of an epoch does not depend on ranks and workers, and is resumed exactly."""

from itertools import islice
from typing import Any

import numpy as np
import pytest

import jinx
from jinx.errors import InvalidError
from jinx.torch import ElasticLoader, Loader

COUNT = 600
SEED = 5


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> jinx.Dataset:
    path = tmp_path_factory.mktemp("blocks") / "a.jinx"
    rng = np.random.default_rng(0)
    with jinx.Writer(path) as writer:
        writer.write_many({"n": i, "image": rng.bytes(100_000)} for i in range(COUNT))  # seven blocks
    return jinx.open(path)


def numbers(loader: Any, count: int | None = None) -> list[int]:
    return [int(n) for batch in islice(loader, count) for n in batch["n"]]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_reads_blocks_in_the_same_order(dataset, workers):
    def loader(seed: int = SEED) -> Any:
        return Loader(dataset, 16, shuffle="blocks", num_workers=workers, columns=["n"], seed=seed)

    first = loader()
    epochs = [numbers(first), numbers(first)]
    assert [sorted(epoch) for epoch in epochs] == [list(range(COUNT))] * 2
    assert epochs[0] != epochs[1] != list(range(COUNT))
    assert numbers(loader()) == epochs[0] != numbers(loader(SEED + 1))
    saved = loader()
    received = numbers(saved, 7)
    again = loader()
    again.load_state_dict(saved.state_dict())
    assert received + numbers(again) == epochs[0]
    assert numbers(again) == epochs[1]
    with pytest.raises(InvalidError, match="shuffle"):
        Loader(dataset, 16, shuffle=True, columns=["n"]).load_state_dict(saved.state_dict())


def elastic(dataset: jinx.Dataset, rank: int = 0, world: int = 1, **options: Any) -> ElasticLoader:
    options = {"batch_size": 24 // world, "num_workers": 1, "seed": SEED, "columns": ["n"], **options}
    return ElasticLoader(dataset, shuffle="blocks", rank=rank, world_size=world, **options)


def of_ranks(loaders: list[ElasticLoader], count: int | None = None) -> list[set[int]]:
    """The samples of each step on all ranks together."""
    steps = zip(*(islice(loader, count) for loader in loaders), strict=True)
    return [{int(n) for batch in step for n in batch["n"]} for step in steps]


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_any_number_of_ranks_reads_the_same_order(dataset, workers):
    alone = [of_ranks([elastic(dataset)]), of_ranks([elastic(dataset)])]
    assert alone[0] == alone[1]
    assert set().union(*alone[0]) == set(range(COUNT))
    assert of_ranks([elastic(dataset, rank, 2, workers=workers) for rank in range(2)]) == alone[0]
    # Resumed by another number of ranks, and on in the next epoch.
    saved = [elastic(dataset, rank, 2) for rank in range(2)]
    begin = of_ranks(saved, 5)
    state = saved[0].state_dict()
    assert state == saved[1].state_dict()
    resumed = [elastic(dataset, rank, 3) for rank in range(3)]
    for loader in resumed:
        loader.load_state_dict(state)
    assert begin + of_ranks(resumed) == alone[0]
    first = elastic(dataset)
    assert list(first) is not None
    assert of_ranks(resumed) == of_ranks([first]) != alone[0]


def test_what_is_refused(dataset):
    state = elastic(dataset).state_dict()
    with pytest.raises(InvalidError, match="seed=5, this one has shuffle='blocks' and seed=6"):
        elastic(dataset, seed=6).load_state_dict(state)
    with pytest.raises(InvalidError, match="no blocks"):
        ElasticLoader(dataset, 24, shuffle=False, columns=["n"]).load_state_dict(state)
    with pytest.raises(ValueError, match="give True, False or 'blocks'"):
        Loader(dataset, shuffle="rows")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="excludes tokens_per_batch"):
        elastic(dataset, batch_size=None, tokens_per_batch=10)
