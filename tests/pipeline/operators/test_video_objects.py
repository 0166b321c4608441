"""Objects of videos have the masks of SAM 2 from the boxes of the detector."""

from io import BytesIO

import numpy as np
import pytest

import jinx_pipeline as jp
from pipeline.operators.tiny_models import save_owlvit
from pipeline.operators.tiny_video_models import save_sam2

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
av = pytest.importorskip("av")
videos = pytest.importorskip("make_media.videos")
# Importing the libraries takes longer than the tests.
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(240)]

META, TAGS = "__dj__meta__", "video_object_segment_tags"
NONE = {"segment_data": [], "cls_id_dict": [], "object_cls_list": [], "yoloe_conf_list": []}
NAMES = ["the red cat", "a mat"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {"sam2_hf_model": save_sam2(folder / "sam2"), "yoloe_path": save_owlvit(folder / "owl")}


def frames_of(data):
    with av.open(BytesIO(data)) as container:
        return [frame.to_image() for frame in container.decode(video=0)]


def detected(path, image):
    model = transformers.OwlViTForObjectDetection.from_pretrained(path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    images = transformers.AutoImageProcessor.from_pretrained(path)
    texts = tokenizer(NAMES, padding="max_length", truncation=True, max_length=8, return_tensors="pt")
    with torch.no_grad():
        output = model(
            input_ids=texts["input_ids"],
            attention_mask=texts["attention_mask"],
            pixel_values=images(images=image, return_tensors="pt")["pixel_values"],
        )
    (found,) = images.post_process_object_detection(output, threshold=0.0, target_sizes=[image.size[::-1]])
    order = found["scores"].argsort(descending=True)
    return found["boxes"][order], found["scores"][order].tolist(), found["labels"][order].tolist()


def followed(path, frames, boxes):
    """The masks as SAM 2 gives them if it is given the whole video."""
    from PIL import Image
    from transformers.models.sam2_video.modeling_sam2_video import Sam2VideoInferenceSession

    model = transformers.Sam2VideoModel.from_pretrained(path).eval()
    scaled = [np.asarray(frame.resize((64, 64), Image.Resampling.BILINEAR)) for frame in frames]
    pixels = torch.tensor(np.stack(scaled)).permute(0, 3, 1, 2).float() / 255
    mean, std = (torch.tensor(v)[:, None, None] for v in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    width, height = frames[0].size
    session = Sam2VideoInferenceSession((pixels - mean) / std, height, width, dtype=torch.float32)
    for number, box in enumerate(boxes):
        corners = (box.reshape(2, 2) * torch.tensor([64 / width, 64 / height])).reshape(1, 1, 2, 2)
        inputs = {"point_coords": corners, "point_labels": torch.tensor([[[2, 3]]], dtype=torch.int32)}
        session.add_point_inputs(session.obj_id_to_idx(number), 0, inputs)
    session.obj_with_new_inputs = list(range(len(boxes)))
    masks = []
    with torch.no_grad():
        model(inference_session=session, frame_idx=0)
        for output in model.propagate_in_video_iterator(session):
            mask = torch.nn.functional.interpolate(output.pred_masks, (64, 64), mode="bilinear")
            masks.append(torch.nn.functional.interpolate(mask, (height, width), mode="bilinear")[:, 0].numpy())
    return masks


@pytest.mark.parametrize("binarize", [True, False])
def test_masks_are_those_of_transformers(models, binarize):
    data = videos.video(frames=9, size=(48, 32))
    frames = frames_of(data)
    boxes, scores, labels = detected(models["yoloe_path"], frames[0])
    conf = scores[2]  # three objects
    operator = jp.create("video_object_segmenting_mapper", yoloe_conf=conf, if_binarize=binarize, **models)
    count = sum(score > conf for score in scores)
    (found,) = operator([{"videos": [data], "main_character_list": NAMES}])
    tags = found[META][TAGS]
    assert tags["cls_id_dict"] == NAMES
    assert tags["object_cls_list"] == labels[:count]
    assert tags["yoloe_conf_list"] == pytest.approx(scores[:count], abs=1e-5)
    stored = np.load(BytesIO(tags["segment_data"]))
    expected = followed(models["sam2_hf_model"], frames, boxes[:count])
    assert len(stored.files) == len(expected) == 9
    for number, masks in enumerate(expected):
        own = stored[f"{number:05}"]
        assert own.shape == (count, 32, 48)
        if binarize:
            assert own.dtype == bool
            assert np.mean(own != (masks > 0)) < 0.01
        else:
            assert own == pytest.approx(masks, abs=0.02, rel=0.02)


def test_what_has_no_objects_has_no_masks(models):
    data = videos.video(frames=2, size=(48, 32))
    samples = [{"videos": [data]}, {"videos": [], META: {"main_character_list": NAMES}}, {"videos": [data], META: {}}]
    operator = jp.create("video_object_segmenting_mapper", yoloe_conf=1.0, **models)
    every = [*samples, {"videos": [data], "main_character_list": NAMES}]
    assert [sample[META][TAGS] for sample in operator(every)] == [NONE] * 4
    with pytest.raises(TypeError, match="is not a list of strings"):
        operator([{"videos": [data], "main_character_list": [1]}])
