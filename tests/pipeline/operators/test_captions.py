"""Operators that caption images and frames give what transformers generates with the same model."""

from io import BytesIO

import pytest
from PIL import Image

import jinx_pipeline as jp
from jinx_pipeline.operators.video.frames import sampled_frames, upright
from jinx_pipeline.sample.media import Media
from pipeline.operators.images import encoded, photo
from pipeline.operators.tiny_models import save_blip_captioner

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
# Importing the libraries takes longer than the tests.
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(240)]

IMAGES = [encoded(photo(40, 30, seed)) for seed in range(3)]
TOKEN, END = "<__dj__image>", "<|__dj__eoc|>"


@pytest.fixture(scope="module")
def blip(tmp_path_factory) -> str:
    """The directory of a tiny model."""
    return save_blip_captioner(tmp_path_factory.mktemp("blip"))


def captioned(path, image, count=1, prompt=None):
    """The captions of a direct call of transformers."""
    model = transformers.BlipForConditionalGeneration.from_pretrained(path).eval()
    processor = transformers.BlipProcessor.from_pretrained(path)
    inputs = processor(images=image, text=prompt, return_tensors="pt")
    ids = model.generate(**inputs, max_new_tokens=6, num_beams=count, num_return_sequences=count, do_sample=False)
    return [text.strip() for text in processor.batch_decode(ids, skip_special_tokens=True)]


def opened(data):
    return Image.open(BytesIO(data)).convert("RGB")


def made(name, samples, path, **parameters):
    operator = jp.create(name, hf_img2seq=path, max_new_tokens=6, **parameters)
    return [sample["text"] for sample in operator(samples)]


@pytest.mark.parametrize("prompt", [None, "a photo of"])
def test_captions_take_the_places_of_words(blip, prompt):
    samples = [
        {"text": f"{TOKEN} one {END} {TOKEN} two", "images": IMAGES[:2]},
        {"text": "a text without a token", "images": IMAGES[2:]},
        {"text": "no image", "images": []},
    ]
    first, second, third = (captioned(blip, opened(data), prompt=prompt)[0] for data in IMAGES)
    expected = [f"{TOKEN} {first} {END} {TOKEN} {second} {END}", f"{TOKEN} {third} {END}"]
    options = {"prompt": prompt, "keep_original_sample": False}
    assert made("image_captioning_mapper", samples, blip, **options) == expected


def test_candidates(blip):
    samples = [{"text": f"{TOKEN} a red cat", "images": IMAGES[:1]}]
    texts = [f"{TOKEN} {text} {END}" for text in captioned(blip, opened(IMAGES[0]), count=3)]
    options = {"caption_num": 3, "keep_original_sample": True}
    every = made("image_captioning_mapper", samples, blip, keep_candidate_mode="all", **options)
    assert every == [samples[0]["text"], *texts]
    for mode in ("random_any", "similar_one_simhash"):
        one = made("image_captioning_mapper", samples, blip, keep_candidate_mode=mode, **options)
        assert one[0] == samples[0]["text"]
        assert one[1] in texts


def test_a_text_that_stands_for_more_images(blip):
    with pytest.raises(ValueError, match="stands for 2 images; the sample has 1"):
        made("image_captioning_mapper", [{"text": TOKEN * 2, "images": IMAGES[:1]}], blip)


def test_captions_of_frames(blip):
    pytest.importorskip("av")
    videos = pytest.importorskip("make_media.videos")
    data = videos.GOOD["h264"]()
    shown = [upright(frame) for frame in sampled_frames(Media(data, jp.Roles()), "test", "uniform", 2)]
    expected = ". ".join(captioned(blip, frame.convert("RGB"))[0] for frame in shown)
    options = {"frame_sampling_method": "uniform", "frame_num": 2, "keep_original_sample": False}
    found = made("video_captioning_from_frames_mapper", [{"text": "x", "videos": [data]}], blip, **options)
    assert found == [f"<__dj__video> {expected} {END}"]
