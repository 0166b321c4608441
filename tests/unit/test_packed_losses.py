"""Samples that do not fit into their packs are told: by one warning, unless the loader was asked to leave them out."""

import warnings

import numpy as np
import pytest

import jinx

torch = pytest.importorskip("torch")

from jinx.torch import PackedDataLoader, PackedDataset, PackedStream  # noqa: E402

# More workers than this machine may have cores.
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")
COUNT = 12
HOW = [{"num_workers": 0}, {"num_workers": 3}, {"num_workers": 3, "workers": "processes"}]


def too_long(sample):
    """Half of the samples have more tokens than they were planned; they are alone in their packs."""
    return {"input_ids": [1] * (8 if sample["id"] % 2 else 12)}


def with_images(sample):
    return {**too_long(sample), "images": [b"picture"]}


def fitting(sample):
    return {"input_ids": [1] * 8}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    path = tmp_path_factory.mktemp("losses") / "data.jinx"
    with jinx.Writer(path, indexed=["num_tokens"]) as writer:
        writer.write_many({"id": i, "num_tokens": 8} for i in range(COUNT))
    return jinx.open(path)


def told(found, what: str = "lost their end") -> list[str]:
    return [str(one.message) for one in found if what in str(one.message)]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize(
    ("encode", "counts"),
    [(too_long, "0 samples were left out and 6 lost their end"), (with_images, "6 samples were left out and 0 lost")],
)
def test_one_warning_at_the_end_of_each_epoch(dataset, how, encode, counts):
    loader = PackedDataLoader(dataset, {"max_length": 8}, encode=encode, **how)
    for epoch in range(2):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            list(loader)
        (message,) = told(found)
        assert message.startswith(f"epoch {epoch}, rank 0: {counts}")
    assert loader.stats().truncated + loader.stats().dropped == 12


def test_one_warning_of_all_ranks(dataset):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        loaders = [
            PackedDataLoader(dataset, {"max_length": 8}, encode=too_long, num_workers=0, rank=rank, world_size=2)
            for rank in range(2)
        ]
        for loader in loaders:
            list(loader)
    (message,) = told(found)
    lost = [loader.stats().truncated for loader in loaders]
    assert f"rank 0: 0 samples were left out and {lost[0]} lost their end" in message
    assert sum(lost) == 6


def test_a_loop_that_is_left_is_told_too(dataset):
    plan = jinx.pack(dataset, 8, strategy="next_fit", seed=None)
    loader = PackedDataLoader(dataset, plan, balance=None, encode=too_long, num_workers=0)
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    with pytest.warns(UserWarning, match="epoch 0, rank 0: 0 samples were left out and 2 lost their end"):
        batches.close()


@pytest.mark.parametrize("options", [{"oversize": "truncate"}, {"oversize": "drop"}, {"encode": fitting}])
def test_no_warning_where_nothing_was_lost_or_the_loss_was_asked_for(dataset, options):
    given = {"encode": too_long, **options}
    assert len(list(PackedDataLoader(dataset, {"max_length": 8}, num_workers=0, **given))) == COUNT
    packs = PackedDataset(dataset, {"max_length": 8}, **given)
    assert len([packs[i] for i in range(COUNT)]) == COUNT
    assert list(PackedStream(dataset, 8, **given))


def test_packs_by_number_warn_once_in_an_epoch(dataset):
    packs = PackedDataset(dataset, jinx.pack(dataset, 8, strategy="next_fit", seed=None), encode=too_long)
    for epoch in range(2):
        packs.set_epoch(epoch)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for pack in range(COUNT):
                packs[pack]
        (message,) = told(found, "lost its end")
        assert message.startswith(f"epoch {epoch}: a sample lost its end, because it is longer than it was planned; of")


@pytest.mark.parametrize(("worker", "warns"), [(0, True), (1, False)])
def test_of_several_workers_the_first_one_warns(dataset, worker, warns):
    """Warnings are errors here, in forked workers too."""

    def long_in_one_worker(sample):
        return {"input_ids": [1] * (12 if sample["id"] % 2 == worker else 8)}

    packs = PackedDataset(dataset, jinx.pack(dataset, 8, strategy="next_fit", seed=None), encode=long_in_one_worker)
    loader = torch.utils.data.DataLoader(
        packs, 1, collate_fn=packs.collate, num_workers=2, multiprocessing_context="fork"
    )
    if not warns:
        assert len(list(loader)) == COUNT
        return
    with pytest.raises(UserWarning, match="epoch 0: a sample lost its end, because it is longer than it was planned"):
        list(loader)


def test_a_stream_warns_at_its_end(dataset):
    for encode, counts in (
        (too_long, "0 samples were left out and 6 lost"),
        (with_images, "6 samples were left out and 0"),
    ):
        stream = PackedStream(dataset, 8, encode=encode)
        with pytest.warns(UserWarning, match=rf"this stream, first worker: {counts}"):
            list(stream)
    stream = PackedStream(dataset, 20, encode=lambda s: {"input_ids": [1], "images": [b"x"] * 3}, max_images=2)
    with pytest.warns(UserWarning, match="12 samples were left out and 0 lost their end"):
        assert list(stream) == []


def test_samples_without_tokens_are_counted(dataset):
    def some_empty(sample):
        return {"input_ids": [1] * (sample["id"] % 3)}

    stream = PackedStream(dataset, 8, encode=some_empty)
    given = sorted(int(i) for batch in stream for i in batch["sample_ids"])
    assert (given, stream.tally.samples, stream.tally.empty) == ([i for i in range(COUNT) if i % 3], 8, 4)
    loader = PackedDataLoader(dataset, jinx.pack(np.full(COUNT, 4), 8), encode=some_empty, num_workers=0)
    assert sorted(int(i) for batch in loader for i in batch["sample_ids"]) == list(range(COUNT))
    assert (loader.stats().samples, loader.stats().empty) == (12, 4)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("given", [True, False])
def test_what_the_plan_cuts_is_no_loss(tmp_path, how, given):
    with jinx.Writer(tmp_path / "long.jinx", indexed=["num_tokens"]) as writer:
        writer.write_many({"id": i, "num_tokens": 12 if i % 2 else 5} for i in range(COUNT))
    long = jinx.open(tmp_path / "long.jinx")
    plan = jinx.pack(long, 8, oversize="truncate") if given else {"max_length": 8, "oversize": "truncate"}

    def as_planned(sample):
        return {"input_ids": [1] * sample["num_tokens"]}

    loader = PackedDataLoader(long, plan, encode=as_planned, **how)
    assert len(list(loader)) == COUNT
    assert (loader.stats().truncated, loader.stats().dropped) == (6, 0)
    packs = PackedDataset(long, plan, encode=as_planned)
    assert {len(packs[i]["input_ids"]) for i in range(COUNT)} == {5, 8}
    # What is longer than it was planned is a loss as before.
    short = PackedDataLoader(long, plan, encode=lambda _: {"input_ids": [1] * 10}, num_workers=0)
    with pytest.warns(UserWarning, match="0 samples were left out and 6 lost their end"):
        list(short)


def plan_losses(found) -> list[str]:
    return [str(one.message) for one in found if "the plan leaves out" in str(one.message)]


@pytest.mark.parametrize("how", HOW)
def test_what_its_own_plan_leaves_out_is_told_once_an_epoch(dataset, how):
    for max_length, options in ((4, {}), (4, {"oversize": "truncate"})):
        loader = PackedDataLoader(dataset, {"max_length": max_length}, encode=fitting, **options, **how)
        assert len(loader) == 0
        for epoch in range(2):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                assert list(loader) == []
            (message,) = plan_losses(found)
            assert message.startswith(f"epoch {epoch}: the plan leaves out 12 of 12 samples")
            assert "max_length=4" in message


def test_losses_of_the_plan_and_of_the_packs_are_one_warning(tmp_path):
    with jinx.Writer(tmp_path / "some.jinx", indexed=["num_tokens"]) as writer:
        writer.write_many({"id": i, "num_tokens": 8 if i else 90} for i in range(5))
    some = jinx.open(tmp_path / "some.jinx")
    loader = PackedDataLoader(some, {"max_length": 8}, encode=lambda _: {"input_ids": [1] * 9}, num_workers=0)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert len(list(loader)) == 4
    assert plan_losses(found) == told(found) != []
    assert "leaves out 1 of 5 samples" in str(found[0].message)
    with pytest.warns(UserWarning, match="the plan leaves out 1 of 5 samples"):
        PackedDataset(some, {"max_length": 8}, encode=fitting)


def test_losses_that_were_asked_for_and_other_ranks_are_silent(dataset):
    for plan in ({"max_length": 4, "oversize": "drop"}, jinx.pack(dataset, 4)):
        assert list(PackedDataLoader(dataset, plan, encode=fitting, num_workers=0)) == []
        assert len(PackedDataset(dataset, plan, encode=fitting)) == 0
    assert list(PackedDataLoader(dataset, {"max_length": 4}, encode=fitting, num_workers=0, rank=1, world_size=2)) == []
