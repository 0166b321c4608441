"""A model that keeps samples apart has the same loss and gradients on packs as on samples alone."""

import numpy as np
import pytest

import chat
import jinx

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")
pytest.importorskip("PIL.Image")

import train_vlm  # noqa: E402
from jinx.torch import PackedDataLoader, token_loss  # noqa: E402

VOCABULARY = len(chat.SPECIAL) + len(chat.WORDS)
IMAGE = chat.SPECIAL.index("<image>")
COUNT, LENGTH, WORLD, ACCUMULATION = 20, 120, 3, 2


@pytest.fixture(scope="module", params=[0, 2], ids=["text", "images"])
def dataset(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("loss")
    chat.write_tokenizer(folder / "tokenizer")
    chat.write_chat(folder / "chat.jinx", COUNT, images=request.param)
    rule = f"fixed:{train_vlm.IMAGE_TOKENS}" if request.param else None
    out = folder / "tokens.jinx"
    jinx.annotate(folder / "chat.jinx", out, tokenizer=folder / "tokenizer", image_rule=rule, tokens=True)
    return jinx.open(out)


@pytest.fixture
def model():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # so small a model only waits for more
    torch.manual_seed(0)
    yield train_vlm.TinyVlm(VOCABULARY, IMAGE).double()
    torch.set_num_threads(threads)


def pixels(data: bytes):
    return train_vlm.pixels(data).double()


def gradients(model):
    found = torch.cat([p.grad.flatten() if p.grad is not None else torch.zeros(p.numel()) for p in model.parameters()])
    model.zero_grad()
    return found


def alone(model, dataset, positions):
    """The mean loss over all labels of samples that the model sees one by one."""
    labels = sum(int(dataset[i]["num_label_tokens"]) for i in positions)
    total = 0.0
    for i in positions:
        sample = dataset[i]
        ids = torch.from_numpy(sample["input_ids"].astype(np.int64))[None]
        size = ids.shape[1]
        images = [pixels(image) for image in sample.get("images", [])]
        logits = model(
            {
                "input_ids": ids,
                "position_ids": torch.arange(size)[None],
                "attention_mask": torch.ones(1, 1, size, size, dtype=torch.bool).tril(),
                "images": images,
                "image_sequence_ids": torch.ones(len(images)),
            }
        )
        target = torch.from_numpy(np.where(sample["label_mask"], sample["input_ids"].astype(np.int64), -100))[None]
        # Next-token loss written out, so that it is not the code under test.
        picked = logits[0, :-1].log_softmax(-1).gather(-1, target[0, 1:, None].clamp(min=0))[:, 0]
        loss = -(picked * (target[0, 1:] != -100)).sum() / labels
        loss.backward()
        total += loss.item()
    return total, gradients(model)


@pytest.mark.parametrize("padding_free", [False, True])
def test_the_loss_on_packs_is_that_on_samples(dataset, model, padding_free):
    options = {"max_length": LENGTH, "seed": 2}
    ranks = [
        PackedDataLoader(
            dataset,
            options,
            rank=rank,
            world_size=WORLD,
            accumulation=ACCUMULATION,
            num_workers=0,
            attention_mask="block",
            padding_free=padding_free,
            image_fn=pixels,
            filler_image=torch.zeros(train_vlm.IMAGE_SIDE, train_vlm.IMAGE_SIDE, 3, dtype=torch.float64),
        )
        for rank in range(WORLD)
    ]
    batches = [list(loader) for loader in ranks]
    assert sum(loader.stats().fillers for loader in ranks) > 0
    assert sorted(i for rank in batches for batch in rank for i in batch["sample_ids"].tolist()) == list(range(COUNT))
    for step in range(len(ranks[0]) // ACCUMULATION):
        mine = [batch for rank in batches for batch in rank[step * ACCUMULATION : (step + 1) * ACCUMULATION]]
        packed = 0.0
        for batch in mine:
            loss = token_loss(model(batch).double(), batch["labels"], batch["num_label_tokens_step"])
            assert torch.isfinite(loss)
            loss.backward()
            packed += loss.item()
        steps = gradients(model)
        positions = [i for batch in mine for i in batch["sample_ids"].tolist()]
        expected, slopes = alone(model, dataset, positions)
        assert packed == pytest.approx(expected, abs=1e-5)
        assert torch.allclose(steps, slopes, atol=1e-5)


def test_images_are_told_apart(dataset, model):
    """Another image changes the loss: the equality above is not that of a model that ignores them."""
    if "images" not in dataset.column_names:
        pytest.skip("text")
    losses = []
    for shade in (None, 0):
        loader = PackedDataLoader(
            dataset,
            {"max_length": LENGTH},
            num_workers=0,
            attention_mask="block",
            image_fn=pixels if shade is None else lambda data: torch.zeros_like(pixels(data)),
        )
        batch = next(iter(loader))
        losses.append(token_loss(model(batch), batch["labels"], batch["num_label_tokens"]).item())
    assert losses[0] != pytest.approx(losses[1], abs=1e-6)
