"""Positions of one's own in packs, and those of the Qwen-VL family in three dimensions."""

import io

import numpy as np
import pytest

import chat
import jinx
from jinx.errors import InvalidError

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")
Image = pytest.importorskip("PIL.Image")

from jinx.torch import MRope, PackedDataLoader, PackedDataset, PackedStream, TrainingSample  # noqa: E402

IMAGE = 9
# 28 pixels are one token: 2 x 2 patches of 14.
RULE = "qwen-vl:min_pixels=784"
LENGTH = 64


def png(width: int, height: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height)).save(out, "PNG")
    return out.getvalue()


def sample(ids, images) -> TrainingSample:
    ids = np.array(ids, dtype=np.int64)
    return TrainingSample(0, ids, ids, images)


def test_text_counts_in_all_dimensions():
    assert MRope(IMAGE, RULE)(sample([1, 2, 3], [])).tolist() == [[0, 1, 2]] * 3
    assert MRope(IMAGE, RULE)(sample([], [])).shape == (3, 0)


def test_an_image_counts_rows_and_columns_and_the_text_goes_on_after_the_larger():
    # Two tokens of text, an image of 2 rows and 3 columns, one token, an image of 1 x 1, one token.
    one = sample([1, 1, *[IMAGE] * 6, 1, IMAGE, 1], [png(84, 56), np.zeros((28, 28, 3))])
    assert MRope(IMAGE, RULE)(one).tolist() == [
        [0, 1, 2, 2, 2, 2, 2, 2, 5, 6, 7],
        [0, 1, 2, 2, 2, 3, 3, 3, 5, 6, 7],
        [0, 1, 2, 3, 4, 2, 3, 4, 5, 6, 7],
    ]


def test_images_may_follow_each_other():
    one = sample([IMAGE] * 3, [png(28, 56), Image.new("RGB", (28, 28))])
    assert MRope(IMAGE, RULE)(one).tolist() == [[0, 0, 2], [0, 1, 2], [0, 0, 2]]


@pytest.mark.parametrize("ids", [[1], [IMAGE], [IMAGE, 1, IMAGE], [IMAGE] * 3])
def test_other_image_tokens_than_those_of_the_images_are_refused(ids):
    with pytest.raises(ValueError, match="tokens"):
        MRope(IMAGE, RULE)(sample(ids, [png(28, 56)]))


def test_a_rule_of_another_family_is_refused():
    with pytest.raises(ValueError, match="qwen-vl"):
        MRope(IMAGE, "fixed:64")


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("positions")
    chat.write_tokenizer(folder / "tokenizer")
    chat.write_chat(folder / "chat.jinx", 30, images=2)
    how = {"tokenizer": folder / "tokenizer", "image_rule": RULE}
    jinx.annotate(folder / "chat.jinx", folder / "lengths.jinx", **how)
    dataset = jinx.open(folder / "lengths.jinx")
    token = jinx.torch.PackedDataset(dataset, {"max_length": LENGTH}, **how)._maker.encoding._encoder._image_token[1]
    return dataset, jinx.pack(dataset, LENGTH, seed=1), {**how, "position_fn": MRope(token, RULE)}


@pytest.mark.parametrize("how", [{"num_workers": 0}, {"num_workers": 2}, {"num_workers": 2, "workers": "processes"}])
def test_positions_restart_in_each_sample(packed, how):
    dataset, plan, options = packed
    images = 0
    for batch in PackedDataLoader(dataset, plan, batch_size=2, image_fn=len, **options, **how):
        positions, sequences = batch["position_ids"], batch["sequence_ids"]
        assert positions.shape == (3, *batch["input_ids"].shape)
        for number in range(1, len(batch["sample_ids"]) + 1):
            (own,) = [positions[:, r, row == number] for r, row in enumerate(sequences) if (row == number).any()]
            ids = batch["input_ids"][sequences == number].numpy()
            mine = [i for i, owner in enumerate(batch["image_sequence_ids"]) if owner == number]
            stored = dataset[int(batch["sample_ids"][number - 1])]["images"]
            assert [batch["images"][i] for i in mine] == [len(image) for image in stored]
            expected = options["position_fn"](TrainingSample(0, ids, ids, stored))
            assert own.tolist() == expected.tolist()
            images += len(mine)
    assert images


def test_filler_packs_padding_free_rows_and_packs_by_number_have_the_same_shape(packed):
    dataset, plan, options = packed
    world = len(plan) + 1
    last = PackedDataLoader(dataset, plan, rank=world - 1, world_size=world, num_workers=0, **options)
    assert [batch["position_ids"].shape for batch in last] == [(3, 1, LENGTH)]
    free = PackedDataLoader(dataset, plan, batch_size=3, padding_free=True, num_workers=0, **options)
    for batch in free:
        assert batch["position_ids"].shape == (3, 1, batch["num_tokens"])
    packs = PackedDataset(dataset, plan, **options)
    assert np.shape(packs[0]["position_ids"]) == (3, len(packs[0]["input_ids"]))
    assert packs.collate([packs[0]])["position_ids"].shape == (3, 1, LENGTH)
    stream = PackedStream(dataset, LENGTH, window=8, **options)
    assert {batch["position_ids"].shape for batch in stream} == {(3, 1, LENGTH)}


def test_one_number_for_each_token_and_shortened_samples(tmp_path):
    with jinx.Writer(tmp_path / "data.jinx", indexed=["num_tokens"]) as writer:
        writer.write({"num_tokens": 8})
    dataset = jinx.open(tmp_path / "data.jinx")
    options = {"encode": lambda _: {"input_ids": range(12)}, "num_workers": 0, "oversize": "truncate"}

    def backwards(one):
        return np.arange(len(one.input_ids))[::-1]

    (batch,) = PackedDataLoader(dataset, {"max_length": 8}, position_fn=backwards, **options)
    assert batch["position_ids"].tolist() == [[11, 10, 9, 8, 7, 6, 5, 4]]


@pytest.mark.parametrize("returned", [None, [1.5] * 12, [[1] * 11], [[[1] * 12]], "abc"])
def test_what_is_not_positions_is_an_error_with_the_sample(tmp_path, returned):
    with jinx.Writer(tmp_path / "data.jinx", indexed=["num_tokens"]) as writer:
        writer.write({"num_tokens": 12})
    dataset = jinx.open(tmp_path / "data.jinx")

    def positions(one):
        return returned if len(one.input_ids) else []

    loader = PackedDataLoader(
        dataset, {"max_length": 16}, encode=lambda _: {"input_ids": range(12)}, position_fn=positions, num_workers=0
    )
    with pytest.raises(InvalidError, match=r"sample 0: (position_fn returned|TypeError|.*axes)"):
        next(iter(loader))
