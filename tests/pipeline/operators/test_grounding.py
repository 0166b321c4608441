"""Grounding gives the boxes of transformers for the same model, and counts phrases as Data-Juicer does."""

from io import BytesIO

import pytest
from PIL import Image

import jinx_pipeline as jp
from jinx_pipeline.models.detection import overlap
from pipeline.operators.images import encoded, photo
from pipeline.operators.test_spacy_models import save_rules
from pipeline.operators.tiny_models import save_owlvit

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
spacy = pytest.importorskip("spacy", reason="spaCy is not installed")
# Importing the libraries takes longer than the tests.
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(240)]

IMAGES = [encoded(photo(width, height, width)) for width, height in ((40, 30), (64, 64), (30, 80))]
TOKEN, END = "<__dj__image>", "<|__dj__eoc|>"


@pytest.mark.parametrize("options", [{}, {"conf_thr": 0.5}, {"iou_thr": 0.0}, {"large_area_ratio_thr": 0.05}])
def test_the_recall_of_phrases(tmp_path, options):
    model, rules = save_owlvit(tmp_path / "owl"), save_rules(tmp_path / "rules")
    samples = [
        {"text": f"{TOKEN} the red cat sits on a mat {END} {TOKEN} Dogs!", "images": IMAGES[:2]},
        {"text": f"{TOKEN} sits on", "images": IMAGES[2:]},
        {"text": "the cat", "images": []},
        {"text": f"{TOKEN}{TOKEN} a mat and the cat", "images": IMAGES[1:]},
    ]
    operator = jp.create(
        "phrase_grounding_recall_filter", hf_owlvit=model, spacy_model=rules, reduce_mode="min", **options
    )
    found = operator(samples, keep_stats=True, drop=False)
    recalls = [sample["__dj__stats__"]["phrase_grounding_recall"] for sample in found]
    phrases = [["the red cat", "a mat"], ["dogs"], ["a mat", "the cat"]]
    expected = [
        [recall(model, IMAGES[0], phrases[0], **options), recall(model, IMAGES[1], phrases[1], **options)],
        [1.0],
        [],
        [min(recall(model, image, phrases[2], **options) for image in IMAGES[1:])],
    ]
    assert recalls == expected


def recall(path, data, phrases, *, conf_thr=0.0, iou_thr=0.5, large_area_ratio_thr=0.95):
    model = transformers.OwlViTForObjectDetection.from_pretrained(path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    images = transformers.AutoImageProcessor.from_pretrained(path)
    image = Image.open(BytesIO(data)).convert("RGB")
    texts = tokenizer(phrases, padding="max_length", truncation=True, max_length=8, return_tensors="pt")
    with torch.no_grad():
        output = model(
            input_ids=texts["input_ids"],
            attention_mask=texts["attention_mask"],
            pixel_values=images(images=image, return_tensors="pt")["pixel_values"],
        )
    (found,) = images.post_process_object_detection(output, threshold=conf_thr, target_sizes=[image.size[::-1]])
    hits = {}
    for place in found["scores"].argsort(descending=True)[: len(phrases)].tolist():
        label, box = int(found["labels"][place]), found["boxes"][place].tolist()
        area = (box[2] - box[0]) * (box[3] - box[1]) / (image.width * image.height)
        is_new = not any(overlap(box, other) > iou_thr for other in hits.values())
        if label not in hits and area <= large_area_ratio_thr and is_new:
            hits[label] = box
    return len(hits) / len(phrases)


def test_a_model_without_texts_is_refused(tmp_path):
    from pipeline.operators.tiny_models import save_yolos

    with pytest.raises(jp.ParameterError, match="is not a model that finds phrases in images"):
        jp.create("phrase_grounding_recall_filter", hf_owlvit=save_yolos(tmp_path, ["cat"]), spacy_model=str(tmp_path))
