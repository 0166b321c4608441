"""Images that models make are those of the libraries for the same model."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

import jinx_pipeline as jp
from pipeline.operators.images import encoded, photo
from pipeline.operators.tiny_models import save_blip_captioner, save_diffusion, save_vit

IMAGES = [encoded(photo(width, height, width)) for width, height in ((40, 30), (64, 64), (30, 80))]
# Importing the libraries takes longer than the tests.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def opened(data):
    return Image.open(BytesIO(data))


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("diffusers", reason="diffusers is not installed")
    return save_diffusion(tmp_path_factory.mktemp("diffusion"))


def variants(samples, path, **parameters):
    operator = jp.create("image_diffusion_mapper", hf_diffusion=path, resolution=16, strength=0.3, **parameters)
    return operator(samples, ctx=jp.Context(seed=3))


@pytest.mark.torch
def test_variants_are_those_of_diffusers(pipeline):
    import diffusers
    import torch

    from jinx_pipeline.operators.api.context import Context

    samples = [{"images": IMAGES[:2], "caption": ["a red cat", None]}, {"images": [], "caption": "x"}]
    found = variants(samples, pipeline, caption_key="caption", aug_num=2, guidance_scale=2.0)
    assert [len(sample["images"]) for sample in found] == [2, 2, 2, 0]
    assert found[0] == samples[0]
    assert found[-1] == samples[1]
    made = diffusers.StableDiffusionImg2ImgPipeline.from_pretrained(pipeline, local_files_only=True)
    made.set_progress_bar_config(disable=True)
    for number, sample in enumerate(found[1:3]):
        rng = Context(seed=3).rng("0", f"image_diffusion_mapper {number}")
        for data, original, caption in zip(sample["images"], IMAGES, ["a red cat", ""], strict=False):
            image = opened(original).convert("RGB")
            generator = torch.Generator("cpu").manual_seed(int(rng.integers(1 << 31)))
            options = {"strength": 0.3, "guidance_scale": 2.0, "generator": generator}
            square = image.resize((16, 16), Image.Resampling.BILINEAR)
            expected = made(prompt=[caption], image=square, **options).images[0]
            expected = expected.resize(image.size, Image.Resampling.BILINEAR)
            assert opened(data).size == image.size
            assert np.abs(np.asarray(opened(data), int) - np.asarray(expected, int)).max() <= 1
    assert found[1]["images"][0] != found[2]["images"][0]
    assert found == variants(samples, pipeline, caption_key="caption", aug_num=2, guidance_scale=2.0)


@pytest.mark.torch
def test_a_captioner_makes_missing_captions(pipeline, tmp_path):
    blip = save_blip_captioner(tmp_path)
    operator = {"hf_img2seq": blip, "keep_original_sample": False}
    (found,) = variants([{"images": IMAGES[2:]}], pipeline, **operator)
    assert opened(found["images"][0]).size == (30, 80)


@pytest.mark.torch
def test_captions_that_fit_no_image_are_an_error(pipeline):
    with pytest.raises(ValueError, match="has 1 captions, and the sample 2 images"):
        variants([{"images": IMAGES[:2], "caption": ["a"]}], pipeline, caption_key="caption")


@pytest.mark.torch
def test_a_model_that_is_no_pipeline_is_refused(pipeline, tmp_path):
    vit = save_vit(tmp_path, ["a", "b"])
    with pytest.raises(jp.ParameterError, match="is not a pipeline of diffusers"):
        jp.create("image_diffusion_mapper", hf_diffusion=vit, caption_key="text")


def save_onnx(file, *, size="n"):
    """Save a model of the shape of U2-Net: the mask is a mixture of the colours."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    weights = np.float32([0.9, -0.4, 0.3]).reshape(1, 3, 1, 1)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Conv", ["x", "w"], ["c"]), onnx.helper.make_node("Sigmoid", ["c"], ["y"])],
        "u2net",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [size, 3, 32, 24])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [size, 1, 32, 24])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    file.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(file))
    return file


def expected_mask(data):
    image = opened(data).convert("RGB")
    small = np.asarray(image.resize((24, 32), Image.Resampling.LANCZOS), np.float32)
    scaled = (small / small.max() - np.float32([0.485, 0.456, 0.406])) / np.float32([0.229, 0.224, 0.225])
    found = 1 / (1 + np.exp(-(scaled @ np.float32([0.9, -0.4, 0.3]))))
    stretched = ((found - found.min()) / (found.max() - found.min()) * 255).astype(np.uint8)
    return np.asarray(Image.fromarray(stretched).resize(image.size, Image.Resampling.LANCZOS), int)


@pytest.mark.parametrize("size", ["n", 1])
@pytest.mark.parametrize("named", ["file", "directory"])
def test_a_model_cuts_out_the_foreground(tmp_path, size, named):
    file = save_onnx(tmp_path / "models" / "u2net.onnx", size=size)
    operator = jp.create("image_remove_background_mapper", model=str(file if named == "file" else file.parent))
    samples = [{"images": IMAGES[:2]}, {"images": []}, {"images": IMAGES[2:]}]
    found = operator(samples)
    for sample, made in zip(samples, found, strict=True):
        for original, data in zip(sample["images"], made["images"], strict=True):
            cut = np.asarray(opened(data), int)
            assert np.abs(cut[..., 3] - expected_mask(original)).max() <= 1
            whole = cut[..., 3] == 255
            assert np.array_equal(cut[whole][:, :3], np.asarray(opened(original).convert("RGB"))[whole])
    assert [file.is_there for file in operator.needed_files] == [True]


def test_a_background_of_one_colour(tmp_path):
    pytest.importorskip("cv2")
    image = Image.new("RGB", (40, 40), "white")
    image.paste((200, 0, 0), (12, 12, 28, 28))
    parameters = {"bgcolor": [0, 0, 255, 255], "save_dir": str(tmp_path)}
    (found,) = jp.create("image_remove_background_mapper", **parameters)([{"images": [encoded(image)]}])
    made = Image.open(found["images"][0])
    assert made.getpixel((2, 2)) == (0, 0, 255, 255)
    red, green, blue, alpha = made.getpixel((20, 20))
    assert (red > 150, green < 60, blue < 60, alpha) == (True, True, True, 255)


def test_images_too_small_or_of_one_colour_stay(tmp_path):
    pytest.importorskip("cv2")
    images = [encoded(Image.new("RGB", size, "green")) for size in ((2, 9), (16, 16))]
    (found,) = jp.create("image_remove_background_mapper")([{"images": images}])
    assert [opened(data).size for data in found["images"]] == [(2, 9), (16, 16)]


def test_a_directory_without_one_model_is_refused(tmp_path):
    save_onnx(tmp_path / "one.onnx")
    save_onnx(tmp_path / "two.onnx")
    with pytest.raises(jp.ParameterError, match="several files in the format ONNX"):
        jp.create("image_remove_background_mapper", model=str(tmp_path))
    (tmp_path / "empty").mkdir()
    with pytest.raises(jp.ParameterError, match="has no file in the format ONNX"):
        jp.create("image_remove_background_mapper", model=str(tmp_path / "empty"))
    (tmp_path / "damaged.onnx").write_bytes(b"no model")
    operator = jp.create("image_remove_background_mapper", model=str(tmp_path / "damaged.onnx"))
    with pytest.raises(ValueError, match="is not a model that ONNX Runtime can load"):
        operator([{"images": IMAGES[:1]}])
    with pytest.raises(jp.ParameterError, match="red, green, blue and alpha"):
        jp.create("image_remove_background_mapper", bgcolor=[1, 2, 3])
