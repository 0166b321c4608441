"""Operators that detect objects give what transformers gives for the same model."""

from io import BytesIO

import pytest
from PIL import Image

import jinx_pipeline as jp
from jinx_pipeline.models.detection import overlap
from pipeline.operators.images import encoded, photo
from pipeline.operators.tiny_models import save_yolos

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
# Importing the libraries takes longer than the tests.
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(240)]

IMAGES = [encoded(photo(width, height, width)) for width, height in ((40, 30), (64, 64), (40, 30), (30, 80))]


def test_objects_in_images(tmp_path):
    path = save_yolos(tmp_path, ["cat", "dog", "person"])
    samples = [{"images": IMAGES[:3]}, {"images": []}, {"images": IMAGES[3:]}]
    found = jp.create("image_detection_yolo_mapper", model_path=path, conf=0.0, iou=1.0)(samples)
    for sample, made in zip(samples, found, strict=True):
        facts = made["__dj__meta__"]
        expected = [detected(path, data) for data in sample["images"]]
        assert facts["class_names"] == [[name for name, _, _ in objects] for objects in expected]
        assert facts["class_scores"] == [pytest.approx([score for _, score, _ in one], abs=1e-5) for one in expected]
        for boxes, objects in zip(facts["__dj__bbox__"], expected, strict=True):
            for (x, y, width, height), (_, _, box) in zip(boxes, objects, strict=True):
                corners = [x - width / 2, y - height / 2, x + width / 2, y + height / 2]
                assert corners == pytest.approx(box, abs=1e-3)


def detected(path, data):
    model = transformers.YolosForObjectDetection.from_pretrained(path).eval()
    processor = transformers.AutoImageProcessor.from_pretrained(path)
    image = Image.open(BytesIO(data)).convert("RGB")
    with torch.no_grad():
        output = model(pixel_values=processor(images=image, return_tensors="pt")["pixel_values"])
    (found,) = processor.post_process_object_detection(output, threshold=0.0, target_sizes=[image.size[::-1]])
    names = [model.config.id2label[number] for number in found["labels"].tolist()]
    objects = zip(names, found["scores"].tolist(), found["boxes"].tolist(), strict=True)
    return sorted(objects, key=lambda one: -one[1])


def test_objects_that_overlap_are_one(tmp_path):
    path = save_yolos(tmp_path, ["cat"])
    every, few = (
        jp.create("image_detection_yolo_mapper", model_path=path, conf=0.0, iou=iou)([{"images": IMAGES[:1]}])[0]
        for iou in (1.0, 0.0)
    )
    assert len(few["__dj__meta__"]["class_names"][0]) < len(every["__dj__meta__"]["class_names"][0])


def test_the_overlap_of_boxes():
    assert overlap([0, 0, 2, 2], [1, 0, 3, 2]) == pytest.approx(1 / 3)
    assert overlap([0, 0, 1, 1], [1, 1, 2, 2]) == 0
    assert overlap([0, 0, 0, 0], [0, 0, 0, 0]) == 0
