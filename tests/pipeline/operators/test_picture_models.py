"""Operators that run a model on images or frames give what transformers gives for the same model."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

import jinx_pipeline as jp
from jinx_pipeline.models import clip as clip_module
from jinx_pipeline.operators.api.context import forget_models
from jinx_pipeline.operators.video.frames import sampled_frames, upright
from jinx_pipeline.sample.media import Media
from pipeline.operators.images import encoded, photo
from pipeline.operators.tiny_models import aesthetics_class, save_aesthetics, save_clip, save_vit

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
# Importing the libraries takes longer than the tests.
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(240)]

IMAGES = [encoded(photo(40 + 8 * seed, 30, seed)) for seed in range(4)]


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, str]:
    """The directories of tiny models."""
    folder = tmp_path_factory.mktemp("models")
    return {
        "clip": save_clip(folder / "clip"),
        "nsfw": save_vit(folder / "nsfw", ["NSFW", "normal"]),
        "watermark": save_vit(folder / "watermark", ["LABEL_0", "LABEL_1"], seed=1),
        "aesthetics": save_aesthetics(folder / "aesthetics"),
    }


def measured(name, samples, **parameters):
    operator = jp.create(name, **parameters)
    (stat,) = operator.stats
    return [sample["__dj__stats__"][stat] for sample in operator(samples, keep_stats=True, drop=False)]


def pictures(samples):
    return [[Image.open(BytesIO(data)).convert("RGB") for data in one["images"]] for one in samples]


def frames(data, count=3):
    found = sampled_frames(Media(data, jp.Roles()), "test", "uniform", count)
    return [upright(frame).convert("RGB") for frame in found]


def clip_scores(path, text, images):
    """The cosines of a direct call of transformers; the model normalizes both embeddings."""
    model = transformers.CLIPModel.from_pretrained(path).eval()
    processor = transformers.CLIPProcessor.from_pretrained(path)
    inputs = processor(text=[text], images=images, return_tensors="pt", padding=True, truncation=True)
    with torch.no_grad():
        found = model(**inputs)
    return (found.text_embeds @ found.image_embeds.T)[0].tolist()


def class_scores(path, images, number):
    model = transformers.AutoModelForImageClassification.from_pretrained(path).eval()
    inputs = transformers.AutoImageProcessor.from_pretrained(path)(images=images, return_tensors="pt")
    with torch.no_grad():
        return model(**inputs).logits.softmax(dim=-1)[:, number].tolist()


SAMPLES = [
    {"text": "a red thing", "images": IMAGES[:2]},
    {"text": "", "images": []},
    {"text": "a blue cat sits on the mat", "images": IMAGES[2:3]},
    {"text": "a dog", "images": [IMAGES[3], IMAGES[0], IMAGES[1]]},
]


def test_image_text_similarity(models):
    found = measured("image_text_similarity_filter", SAMPLES, hf_clip=models["clip"], reduce_mode="max")
    images = pictures(SAMPLES)
    for sample, shown, scores in zip(SAMPLES, images, found, strict=True):
        expected = [max(clip_scores(models["clip"], sample["text"], shown))] if shown else []
        assert scores == pytest.approx(expected, abs=1e-5)


def test_image_pairs(models):
    samples = [{"images": IMAGES[:2]}, {"images": []}, {"images": IMAGES[2:]}]
    found = measured("image_pair_similarity_filter", samples, hf_clip=models["clip"])
    model = transformers.CLIPModel.from_pretrained(models["clip"]).eval()
    processor = transformers.CLIPImageProcessor.from_pretrained(models["clip"])
    for shown, scores in zip(pictures(samples), found, strict=True):
        if not shown:
            assert scores == []
            continue
        with torch.no_grad():
            features = model.get_image_features(**processor(images=shown, return_tensors="pt")).pooler_output
        assert scores == pytest.approx([torch.cosine_similarity(*features, dim=0).item()], abs=1e-5)
    with pytest.raises(ValueError, match="the sample has 3 images, not two"):
        measured("image_pair_similarity_filter", [{"images": IMAGES[:3]}], hf_clip=models["clip"])


def test_text_pairs(models):
    samples = [
        {"text": "a red thing", "other": "a blue thing"},
        {"text": "a cat", "other": None},
        {"text": "the cat sits on the mat", "other": "a photo of the dog on a red mat"},
    ]
    found = measured("text_pair_similarity_filter", samples, hf_clip=models["clip"], text_key_second="other")
    model = transformers.CLIPModel.from_pretrained(models["clip"]).eval()
    tokenizer = transformers.CLIPTokenizer.from_pretrained(models["clip"])
    for sample, scores in zip(samples, found, strict=True):
        if sample["other"] is None:
            assert scores == []
            continue
        with torch.no_grad():
            inputs = tokenizer([sample["text"], sample["other"]], return_tensors="pt", padding=True)
            features = model.get_text_features(**inputs).pooler_output
        assert scores == pytest.approx([torch.cosine_similarity(*features, dim=0).item()], abs=1e-5)


@pytest.mark.parametrize(("name", "model", "number"), [("nsfw", "nsfw", 0), ("watermark", "watermark", 1)])
def test_classes_of_images(models, name, model, number):
    found = measured(f"image_{name}_filter", SAMPLES, **{f"hf_{name}_model": models[model]})
    for shown, scores in zip(pictures(SAMPLES), found, strict=True):
        assert scores == pytest.approx(class_scores(models[model], shown, number) if shown else [], abs=1e-5)


@pytest.mark.parametrize("kind", ["AestheticsPredictorV1", "AestheticsPredictorV2Linear", "AestheticsPredictorV2ReLU"])
def test_aesthetics_of_images(tmp_path, kind):
    path = save_aesthetics(tmp_path, kind)
    found = measured("image_aesthetics_filter", SAMPLES, hf_scorer_model=path)
    predictor = aesthetics_class(kind).from_pretrained(path).eval()
    processor = transformers.CLIPImageProcessor.from_pretrained(path)
    for shown, scores in zip(pictures(SAMPLES), found, strict=True):
        expected = []
        if shown:
            with torch.no_grad():
                expected = predictor.score(**processor(images=shown, return_tensors="pt")).flatten() / 10
        assert scores == pytest.approx([float(one) for one in expected], abs=1e-5)


def test_frames_of_videos(models):
    pytest.importorskip("av")
    videos = pytest.importorskip("make_media.videos")
    data = videos.GOOD["h264"]()
    shown = frames(data)
    sample = [{"text": "a red thing", "videos": [data]}, {"text": "a dog", "videos": []}]
    options = {"frame_sampling_method": "uniform", "frame_num": 3}

    found = measured("video_frames_text_similarity_filter", sample, hf_clip=models["clip"], **options)
    scores = clip_scores(models["clip"], "a red thing", shown)
    assert found == [pytest.approx([sum(scores) / 3], abs=1e-5), []]

    found = measured("video_nsfw_filter", sample, hf_nsfw_model=models["nsfw"], reduce_mode="max", **options)
    assert found == [pytest.approx([max(class_scores(models["nsfw"], shown, 0))], abs=1e-5), []]

    found = measured("video_watermark_filter", sample, hf_watermark_model=models["watermark"], **options)
    assert found == [pytest.approx([np.mean(class_scores(models["watermark"], shown, 1))], abs=1e-5), []]

    found = measured("video_aesthetics_filter", sample, hf_scorer_model=models["aesthetics"], reduce_mode="min")
    predictor = aesthetics_class("AestheticsPredictorV2Linear").from_pretrained(models["aesthetics"]).eval()
    processor = transformers.CLIPImageProcessor.from_pretrained(models["aesthetics"])
    with torch.no_grad():
        lowest = predictor.score(**processor(images=shown, return_tensors="pt")).min().item() / 10
    assert found == [pytest.approx([lowest], abs=1e-5), []]


def test_tags(models):
    tags = ["cat", "dog", "red thing", "mat"]
    options = {"hf_clip": models["clip"], "tags": tags}
    samples = [{"images": IMAGES[:2], "__dj__meta__": {"kept": 1}}, {"images": []}]
    found = jp.create("image_tagging_mapper", min_score=0.0, max_tags=2, **options)(samples)
    expected = []
    for image in pictures(samples)[0]:
        scores = {tag: clip_scores(models["clip"], f"a photo of {tag}", [image])[0] for tag in tags}
        best = sorted(tags, key=lambda tag: -scores[tag])[:2]
        expected.append([tag for tag in best if scores[tag] >= 0])
    assert found[0]["__dj__meta__"] == {"kept": 1, "image_tags": expected}
    assert found[1]["__dj__meta__"] == {"image_tags": []}
    with pytest.raises(jp.ParameterError, match="prompt has "):
        jp.create("image_tagging_mapper", prompt="a {tag}", **options)


def test_tags_of_videos(models):
    pytest.importorskip("av")
    videos = pytest.importorskip("make_media.videos")
    data = videos.GOOD["h264"]()
    tags = ["cat", "dog", "red thing"]
    options = {"hf_clip": models["clip"], "tags": tags, "frame_sampling_method": "uniform"}
    found = jp.create("video_tagging_from_frames_mapper", min_score=-1.0, **options)([{"videos": [data]}])
    scores = {tag: max(clip_scores(models["clip"], f"a photo of {tag}", frames(data))) for tag in tags}
    expected = sorted(tags, key=lambda tag: -scores[tag])
    assert found[0]["__dj__meta__"]["video_frame_tags"] == [expected]


def test_embeddings_of_images(models):
    samples = [{"images": IMAGES[:2]}, {"images": []}]
    found = jp.create("image_embedding_mapper", hf_clip=models["clip"])(samples)
    model = transformers.CLIPModel.from_pretrained(models["clip"]).eval()
    processor = transformers.CLIPImageProcessor.from_pretrained(models["clip"])
    with torch.no_grad():
        features = model.get_image_features(**processor(images=pictures(samples)[0], return_tensors="pt")).pooler_output
    expected = torch.nn.functional.normalize(features, dim=-1).numpy()
    assert np.allclose(found[0]["image_embeddings"], expected, atol=1e-5)
    assert found[1]["image_embeddings"] == []


def test_filters_keep_by_their_bounds(models):
    kept = jp.create("image_watermark_filter", hf_watermark_model=models["watermark"], prob_threshold=0.0)
    assert kept([{"images": IMAGES[:1]}]) == []
    everything = jp.create("image_nsfw_filter", hf_nsfw_model=models["nsfw"], max_score=1.0, any_or_all="all")
    assert everything(SAMPLES) == SAMPLES


def test_operators_with_one_model_embed_an_image_once(models, monkeypatch):
    """Also if they name the model in different ways."""
    forget_models()
    calls = []
    load = clip_module.load_pretrained

    def counting(*args):
        loaded = load(*args)
        features = loaded.network.get_image_features
        loaded.network.get_image_features = lambda pixel_values: (
            calls.append(len(pixel_values)) or features(pixel_values=pixel_values)
        )
        return loaded

    monkeypatch.setattr(clip_module, "load_pretrained", counting)
    of_path = jp.create("image_pair_similarity_filter", hf_clip=models["clip"], min_score=-1.0)
    of_model = jp.Model(path=models["clip"], max_items=3, name="clip")
    fused = jp.FusedOp(
        operators=[of_path, *[jp.create("image_text_similarity_filter", hf_clip=of_model, min_score=-1.0)] * 4]
    )
    samples = [{"text": "a cat", "images": IMAGES[:2]}, {"text": "a dog", "images": IMAGES[2:]}]
    assert fused(samples) == samples
    assert sum(calls) == 4
    forget_models()


def test_a_run_leaves_out_only_a_broken_image(models):
    rows = [{"id": number, "images": [data]} for number, data in enumerate([*IMAGES, b"not an image"])]
    operator = jp.create("image_nsfw_filter", hf_nsfw_model=models["nsfw"], max_score=1.0)
    with pytest.warns(jp.BadRowsWarning, match="1"):
        kept = jp.Dataset.load(rows).process(operator).run(workers=1)
    assert [sample["id"] for sample in kept] == [0, 1, 2, 3]
