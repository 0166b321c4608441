"""The area of text in videos is that of the boxes that a text detector finds."""

import numpy as np
import pytest

import jinx_pipeline as jp
from jinx_pipeline.models.text_area import text_share
from pipeline.operators.tiny_models import save_vit
from pipeline.operators.tiny_video_models import save_text_detector

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
cv2 = pytest.importorskip("cv2")
pytest.importorskip("av")
videos = pytest.importorskip("make_media.videos")
# Importing the libraries takes longer than the tests.
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(240)]


def test_boxes_of_text_are_widened_and_count_once():
    plain = np.zeros((100, 100), np.float32)
    assert text_share(plain) == 0
    one = plain.copy()
    one[40:50, 30:50] = 0.9
    more = 19 * 9 * 1.5 / (2 * (19 + 9))
    expected = (20 + 2 * more) * (10 + 2 * more) / 10_000
    assert text_share(one) == pytest.approx(expected, abs=0.006)
    two = one.copy()
    two[40:50, 53:73] = 0.9  # its widened box overlaps the first one
    assert text_share(one) < text_share(two) < 2 * text_share(one)
    faint, thin = plain.copy(), plain.copy()
    faint[40:50, 30:50] = 0.5  # above the threshold of a pixel, below that of a box
    thin[40:42, 30:50] = 0.9
    assert text_share(faint) == text_share(thin) == 0


def test_boxes_are_those_of_transformers():
    pytest.importorskip("torchvision", reason="the processor of transformers needs torchvision")
    rng = np.random.default_rng(3)
    noise = cv2.GaussianBlur(rng.random((96, 160)).astype(np.float32), (0, 0), 6)
    probabilities = (noise - noise.min()) / (noise.max() - noise.min())
    processor = transformers.PPOCRV5ServerDetImageProcessor()
    output = transformers.modeling_outputs.BaseModelOutputWithNoAttention(
        last_hidden_state=torch.from_numpy(probabilities)[None, None]
    )
    (found,) = processor.post_process_object_detection(output, target_sizes=[torch.tensor([96, 160])])
    covered = np.zeros((96, 160), np.uint8)
    for box in found["boxes"].numpy():
        cv2.fillPoly(covered, [box.astype(np.int32).reshape(-1, 2)], 1)
    assert covered.any()
    assert text_share(probabilities) == pytest.approx(covered.mean(), abs=0.02)


def test_the_share_of_frames(tmp_path):
    path = save_text_detector(tmp_path)
    media = [videos.video(frames=6, size=(96, 64)), videos.video(frames=4, size=(200, 120))]
    samples = [{"videos": media}, {"videos": []}]
    operator = jp.create("video_ocr_area_ratio_filter", model_path=path, frame_sample_num=2)
    found = [
        sample["__dj__stats__"]["video_ocr_area_ratio"] for sample in operator(samples, keep_stats=True, drop=False)
    ]
    assert found == [pytest.approx([share(path, medium) for medium in media], abs=1e-6), []]
    limit = jp.create("video_ocr_area_ratio_filter", model_path=path, frame_sample_num=2, max_area_ratio=0.0)
    assert len(limit(samples)) == (2 if min(found[0]) == 0 else 1)  # a sample without videos stays


def share(path, data):
    """The mean share of the first and the last frame."""
    from io import BytesIO

    import av
    from PIL import Image

    model = transformers.PPOCRV5ServerDetForObjectDetection.from_pretrained(path).eval()
    with av.open(BytesIO(data)) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    shares = []
    for frame in (frames[0], frames[-1]):
        ratio = min(96 / max(frame.shape[:2]), 1)
        height, width = (max(round(int(side * ratio) / 32) * 32, 32) for side in frame.shape[:2])
        scaled = np.asarray(Image.fromarray(frame).resize((width, height), Image.Resampling.BILINEAR), np.float64)
        values = (scaled / 255 - [0.4, 0.5, 0.6]) / [0.2, 0.3, 0.4]
        pixels = torch.from_numpy(values[..., ::-1].copy()).permute(2, 0, 1)[None].float()
        with torch.no_grad():
            shares.append(text_share(model(pixel_values=pixels).last_hidden_state[0, 0].numpy()))
    return float(np.mean(shares))


def test_a_model_that_detects_no_text_is_refused(tmp_path):
    with pytest.raises(jp.ParameterError, match="is not a model that detects text"):
        jp.create("video_ocr_area_ratio_filter", model_path=save_vit(tmp_path, ["a"]))
