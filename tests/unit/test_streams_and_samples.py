"""`jinx.torch.PackedStream` and `jinx.torch.ElasticLoader`: packs without lengths, and samples without packs."""

import numpy as np
import pytest

import chat
import jinx

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")
pytest.importorskip("PIL.Image")

from jinx.torch import ElasticLoader, PackedStream  # noqa: E402

COUNT = 120


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    chat.write_tokenizer(folder / "tokenizer")
    chat.write_chat(folder / "chat.jinx", COUNT, images=2)
    out = folder / "tokens.jinx"
    jinx.annotate(folder / "chat.jinx", out, tokenizer=folder / "tokenizer", image_rule="fixed:4", tokens=True)
    return jinx.open(out)


@pytest.mark.parametrize("window", [1, 16, 1000])
def test_a_stream_is_packed_as_it_comes(dataset, window):
    stream = PackedStream(dataset, 64, max_images=3, window=window, image_fn=len)
    batches = list(stream)
    assert sorted(i for batch in batches for i in batch["sample_ids"].tolist()) == list(range(COUNT))
    for batch in batches:
        assert batch["num_tokens"] <= 64
        assert len(batch["images"]) <= 3
        assert all(isinstance(image, int) for image in batch["images"])
    assert (stream.tally.packs, stream.tally.samples) == (len(batches), COUNT)
    if window == 1000:
        assert len(batches) <= 1.1 * -(-int(dataset["num_tokens"].sum()) // 64) + 4


def test_a_stream_is_divided_among_ranks_and_workers(dataset):
    seen = []
    for rank in range(2):
        stream = PackedStream(dataset, 64, window=32, rank=rank, world_size=2)
        loader = torch.utils.data.DataLoader(stream, batch_size=None, num_workers=2)
        seen += [i for batch in loader for i in batch["sample_ids"].tolist()]
    assert sorted(seen) == list(range(COUNT))


def test_a_stream_of_dicts(tmp_path):
    tokenizer = chat.write_tokenizer(tmp_path / "tokenizer")
    rows = [{"messages": chat.conversation(i)} for i in range(30)] + [{"messages": []}]
    stream = PackedStream(lambda: iter(rows), 64, columns=["messages"], window=8, tokenizer=tokenizer)
    first = sorted(i for batch in stream for i in batch["sample_ids"].tolist())
    assert first == list(range(31))
    assert sorted(i for batch in stream for i in batch["sample_ids"].tolist()) == first


def test_bad_samples_of_a_stream():
    def encode(sample):
        if sample == 5:
            raise ValueError("five")
        return {"input_ids": [1] * sample}

    with pytest.raises(jinx.InvalidError, match="sample 5: five"):
        list(PackedStream(range(9), 6, encode=encode, window=2))
    stream = PackedStream(range(9), 6, encode=encode, window=3, on_error="skip", oversize="drop")
    assert sorted(i for batch in stream for i in batch["sample_ids"].tolist()) == [1, 2, 3, 4, 6]
    assert (stream.tally.skipped, stream.tally.dropped) == (1, 2)
    with pytest.raises(ValueError, match="image_fn"):
        PackedStream([], 6, encode=encode, decode=True)


def elastic(dataset, world, **options):
    return [ElasticLoader(dataset, rank=rank, world_size=world, columns=["id"], **options) for rank in range(world)]


@pytest.mark.parametrize("how", [{"num_workers": 0}, {"num_workers": 2}, {"num_workers": 2, "workers": "processes"}])
def test_samples_are_shuffled_and_divided(dataset, how):
    batches = [[batch["id"].tolist() for batch in one] for one in elastic(dataset, 3, batch_size=4, **how)]
    assert len({len(one) for one in batches}) == 1
    seen = [i for one in batches for batch in one for i in batch]
    assert sorted(seen) == list(range(COUNT))
    assert seen != sorted(seen)


def test_samples_resume_under_another_world(dataset):
    seen, states = [], []
    for loader in elastic(dataset, 2, batch_size=5, num_workers=0):
        iterator = iter(loader)
        seen += [i for _ in range(3) for i in next(iterator)["id"].tolist()]
        states.append(loader.state_dict())
    assert states[0] == states[1]
    for loader in elastic(dataset, 3, batch_size=10, num_workers=1):
        loader.load_state_dict(states[0])
        seen += [i for batch in loader for i in batch["id"].tolist()]
    assert sorted(seen) == list(range(COUNT))


@pytest.mark.parametrize("world", [1, 2, 3])
@pytest.mark.parametrize("trained", [0, 2, 6])
def test_the_padded_end_is_the_same_for_any_world_and_after_a_resumption(dataset, world, trained):
    def together(loaders):
        return [sorted(i for part in step for i in part["id"].tolist()) for step in zip(*loaders, strict=True)]

    [whole] = elastic(dataset, 1, batch_size=18, num_workers=0)
    expected = [batch["id"].tolist() for batch in whole]
    assert len(expected) == 7
    assert expected[-1][12:] == expected[0][:6]  # the first samples again
    iterator = iter(whole := elastic(dataset, 1, batch_size=18, num_workers=0)[0])
    for _ in range(trained):
        next(iterator)
    resumed = elastic(dataset, world, batch_size=18 // world, num_workers=0)
    for loader in resumed:
        loader.load_state_dict(whole.state_dict())
    assert together(resumed) == [sorted(batch) for batch in expected[trained:]]


def test_the_end_of_an_epoch(dataset):
    padded = [[len(batch["id"]) for batch in one] for one in elastic(dataset, 7, batch_size=1, num_workers=0)]
    assert {sum(one) for one in padded} == {-(-COUNT // 7)}
    dropped = [list(one) for one in elastic(dataset, 7, batch_size=1, num_workers=0, remainder="drop")]
    assert {len(one) for one in dropped} == {COUNT // 7}
    ordered = ElasticLoader(dataset, 50, shuffle=False, num_workers=0, columns="id", remainder="drop")
    assert [batch["id"].tolist() for batch in ordered] == [list(range(50)), list(range(50, 100))]
    assert ordered.epoch == 1


def test_batches_of_equal_numbers_of_tokens(dataset):
    seen = []
    for loader in elastic(dataset, 2, tokens_per_batch=100, num_workers=0, remainder="drop"):
        for batch in loader:
            ids = batch["id"].tolist()
            assert int(dataset["num_tokens"][ids].sum()) <= 100
            seen += ids
    assert len(seen) == len(set(seen)) > COUNT - 20
    with pytest.raises(jinx.LimitError):
        ElasticLoader(dataset, tokens_per_batch=10)
    with pytest.raises(ValueError, match="exclude"):
        ElasticLoader(dataset, 3, tokens_per_batch=10)


def test_samples_without_tokens_are_told(tmp_path):
    jinx.convert(({"id": i, "num_tokens": 0 if i % 4 else 5} for i in range(20)), tmp_path / "a.jinx")
    with pytest.warns(UserWarning, match="15 of 20 samples have no tokens"):
        loader = ElasticLoader(jinx.open(tmp_path / "a.jinx"), tokens_per_batch=10, columns=["id"], num_workers=0)
    assert sorted(number for batch in loader for number in batch["id"].tolist()) == [0, 4, 8, 12, 16]


def test_samples_that_cannot_be_read_are_left_out(dataset):
    def numbers(samples):
        return [sample["id"] for sample in samples]

    def refuse(sample):
        if sample["id"] == 3:
            raise ValueError("three")
        return sample

    loader = ElasticLoader(dataset.with_transform(refuse), 1, collate_fn=numbers, num_workers=0, on_error="skip")
    assert sorted(np.concatenate(list(loader)).tolist()) == [i for i in range(COUNT) if i != 3]
    assert [str(error) for error in loader.skipped] == ["three"]
