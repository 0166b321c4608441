"""Operators with models, on tiny ones with random weights."""

import numpy as np
import pytest
from PIL import Image

import jinx_pipeline as jp
from pipeline.operators.tiny_models import save_clip

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
# Importing the libraries takes longer than the tests.
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def clip(tmp_path_factory) -> str:
    """The directory of a CLIP model with random weights and its processor."""
    return save_clip(tmp_path_factory.mktemp("clip"))


def image(path, seed: int) -> str:
    pixels = np.random.default_rng(seed).integers(0, 256, (20, 24, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return str(path)


@pytest.fixture
def samples(tmp_path):
    one, other = image(tmp_path / "1.png", 1), image(tmp_path / "2.png", 2)
    return [
        {"text": "<__dj__image> a red thing <|__dj__eoc|> <__dj__image> a blue thing", "images": [one, other]},
        {"text": "a red thing", "images": [one]},
        {"text": "<__dj__image><__dj__image> a photo", "images": [one, other]},
        {"text": "no image", "images": []},
    ]


def scores(samples, clip, **parameters) -> list[list[float]]:
    operator = jp.create("image_text_similarity_filter", hf_clip=clip, **parameters)
    marked = operator(samples, keep_stats=True, drop=False)
    return [sample["__dj__stats__"]["image_text_similarity"] for sample in marked]


def test_scores_of_chunks_with_their_images(samples, clip):
    found = scores(samples, clip)
    assert [len(item) for item in found] == [2, 1, 1, 0]
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-5)
    assert all(-1 <= score <= 1 for item in found for score in item)
    alone = [scores([{**samples[2], "text": "a photo", "images": [path]}], clip)[0][0] for path in samples[2]["images"]]
    assert found[2][0] == pytest.approx(sum(alone) / 2, abs=1e-5)
    assert scores(samples, clip, reduce_mode="max")[2][0] == pytest.approx(max(alone), abs=1e-5)


def test_flips_are_other_images(samples, clip):
    assert scores(samples, clip, horizontal_flip=True)[1] != scores(samples, clip)[1]


def test_a_filter_keeps_what_is_similar(samples, clip):
    found = scores(samples, clip)
    bound = found[1][0] - 1e-4
    kept = jp.create("image_text_similarity_filter", hf_clip=clip, min_score=bound)(samples)
    assert samples[1] in kept
    assert samples[3] in kept  # a sample without images stays


def test_a_model_is_loaded_once(samples, clip, monkeypatch):
    ctx = jp.Context(seed=3)
    operator = jp.create("image_text_similarity_filter", hf_clip=clip)
    operator(samples, ctx=ctx)
    monkeypatch.setattr(transformers.CLIPModel, "from_pretrained", None)
    operator(samples, ctx=ctx)


def test_operators_with_one_model_embed_a_text_once(samples, clip, monkeypatch):
    from jinx_pipeline.models.clip import load_clip

    ctx = jp.Context(seed=3)
    operators = [
        jp.create("image_text_similarity_filter", hf_clip=clip, min_score=-1.0, reduce_mode=mode)
        for mode in ("avg", "max", "min")
    ]
    network = ctx.model(operators[0].hf_clip, load_clip).network
    whole, counts = network.get_text_features, []

    def counted(**inputs):
        counts.append(len(inputs["input_ids"]))
        return whole(**inputs)

    monkeypatch.setattr(network, "get_text_features", counted)
    # Texts that no other test has: the model is that of the process.
    new = [{**sample, "text": sample["text"].replace(" thing", " cat on a mat")} for sample in samples[:2]]
    jp.FusedOp(operators=operators)(new, ctx=ctx)
    assert sum(counts) == 2  # of three chunks, two are alike


def test_a_text_that_stands_for_more_images(samples, clip):
    with pytest.raises(ValueError, match="stands for 2 images; the sample has 1"):
        scores([{**samples[2], "images": samples[2]["images"][:1]}], clip)
