"""The first of two similar images is that of the plain pipeline; the second one follows it where the prompts agree."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

import jinx_pipeline as jp
from pipeline.operators.tiny_models import save_diffusion
from pipeline.operators.tiny_video_models import save_sdxl

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")
diffusers = pytest.importorskip("diffusers", reason="diffusers is not installed")
# Importing the libraries takes longer than the tests.
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(240)]

OPTIONS = {"text_key": "first", "text_key_second": "second", "num_inference_steps": 4, "resolution": 32}


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    return save_sdxl(tmp_path_factory.mktemp("sdxl"))


def pixels(data):
    return np.asarray(Image.open(BytesIO(data)).convert("RGB"), int)


def pairs(path, samples, **parameters):
    found = jp.create("sdxl_prompt2prompt_mapper", hf_diffusion=path, **OPTIONS, **parameters)(
        samples, ctx=jp.Context(seed=3)
    )
    return [sample.get("images") for sample in found]


def plain(path, prompts, guidance_scale):
    made = diffusers.StableDiffusionXLPipeline.from_pretrained(path, local_files_only=True)
    made.set_progress_bar_config(disable=True)
    seed = int(jp.Context(seed=3).rng("0", "sdxl_prompt2prompt_mapper").integers(1 << 31))
    size = 32 // made.vae_scale_factor
    noise = torch.randn((1, 4, size, size), generator=torch.Generator().manual_seed(seed))
    options = {"num_inference_steps": 4, "guidance_scale": guidance_scale, "height": 32, "width": 32}
    return [
        np.asarray(image, int) for image in made(prompt=prompts, latents=noise.repeat(2, 1, 1, 1), **options).images
    ]


@pytest.mark.parametrize("guidance_scale", [5.0, 0.0])
def test_the_second_image_follows_the_first(pipeline, guidance_scale):
    prompts = ["a photo of a red cat", "a photo of a blue dog"]
    sample = {"first": prompts[0], "second": prompts[1]}
    ((first, second),) = pairs(pipeline, [sample], guidance_scale=guidance_scale)
    alone = plain(pipeline, prompts, guidance_scale)
    assert np.abs(pixels(first) - alone[0]).max() <= 2
    if guidance_scale > 1:  # without guidance, what random prompts say hardly shows
        assert np.abs(pixels(second) - alone[1]).max() > 2
    ((same, again),) = pairs(pipeline, [{**sample, "second": prompts[0]}], guidance_scale=guidance_scale)
    assert np.abs(pixels(same) - pixels(again)).max() <= 1
    assert pairs(pipeline, [sample], guidance_scale=guidance_scale) == [[first, second]]


def test_a_sample_without_a_text_stays(pipeline):
    samples = [{"first": "a", "second": None, "images": [b"x"]}, {"first": "", "second": "b", "images": []}]
    assert pairs(pipeline, samples) == [[b"x"], []]
    with pytest.raises(TypeError, match="second is not a text"):
        pairs(pipeline, [{"first": "a", "second": 1}])


def test_senseless_parameters(pipeline, tmp_path):
    with pytest.raises(jp.ParameterError, match="no multiple of 8"):
        jp.create("sdxl_prompt2prompt_mapper", hf_diffusion=pipeline, **{**OPTIONS, "resolution": 33})
    with pytest.raises(jp.ParameterError, match="not a pipeline that makes pairs of images"):
        jp.create("sdxl_prompt2prompt_mapper", hf_diffusion=save_diffusion(tmp_path), **OPTIONS)
