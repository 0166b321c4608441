"""Characters are located where the detector, the language model and matching agree, and described from their parts."""

import json
from io import BytesIO

import pytest
from PIL import Image

import jinx_pipeline as jp
from jinx_pipeline.models.detection import overlap
from pipeline.llm.model_server import Said, serving
from pipeline.operators.images import encoded, photo
from pipeline.operators.tiny_models import save_blip_matching, save_owlvit

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("aiohttp", reason="needs the extra llm")
# Importing the libraries takes longer than the tests.
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(240)]

META = "__dj__meta__"
IMAGE = encoded(photo(64, 48, 1))
NAMES = ["the red cat", "a mat"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return save_owlvit(folder / "owl"), save_blip_matching(folder / "blip")


def detected(path, names):
    """The most probable box of each name, as transformers gives it."""
    model = transformers.OwlViTForObjectDetection.from_pretrained(path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    images = transformers.AutoImageProcessor.from_pretrained(path)
    image = Image.open(BytesIO(IMAGE)).convert("RGB")
    texts = tokenizer(names, padding="max_length", truncation=True, max_length=8, return_tensors="pt")
    with torch.no_grad():
        output = model(
            input_ids=texts["input_ids"],
            attention_mask=texts["attention_mask"],
            pixel_values=images(images=image, return_tensors="pt")["pixel_values"],
        )
    (found,) = images.post_process_object_detection(output, threshold=0.0, target_sizes=[image.size[::-1]])
    boxes = {}
    for place in found["scores"].argsort(descending=True).tolist():
        boxes.setdefault(int(found["labels"][place]), [round(side) for side in found["boxes"][place].tolist()])
    return {names[label]: box for label, box in boxes.items()}


def probability(path, text, box):
    """The probability that a part of the image fits a text, as transformers gives it."""
    model = transformers.BlipForImageTextRetrieval.from_pretrained(path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    images = transformers.AutoImageProcessor.from_pretrained(path)
    left, top = min(max(box[0], 0), 63), min(max(box[1], 0), 47)
    part = Image.open(BytesIO(IMAGE)).convert("RGB")
    part = part.crop((left, top, min(max(box[2], left + 1), 64), min(max(box[3], top + 1), 48)))
    tokens = tokenizer([text], return_tensors="pt")
    with torch.no_grad():
        pixels = images(images=part, return_tensors="pt")["pixel_values"]
        scores = model(pixel_values=pixels, input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"])
    return float(scores.itm_score.softmax(dim=-1)[0, 1])


def seen_at(left, top, right, bottom, *, is_found=True):
    sides = {"left": left, "top": top, "right": right, "bottom": bottom}
    return Said(json.dumps({"is_found": is_found, **sides}))


def located(models, url, samples, **parameters):
    owl, blip = models
    operator = jp.create(
        "detect_character_locations_mapper",
        mllm_mapper_args={"hf_model": "seer", "temperature": 0.0},
        image_text_matching_filter_args={"hf_blip": blip},
        yoloe_path=owl,
        api_endpoint=url,
        **{"yoloe_conf": 0.0, **parameters},
    )
    return [sample[META]["main_character_locations_list"] for sample in operator(samples)]


SAMPLE = {"images": [IMAGE], META: {"main_character_list": NAMES}}


def test_boxes_that_agree(models):
    boxes = detected(models[0], NAMES)
    assert set(boxes) == set(NAMES)
    with serving(lambda *_: seen_at(0, 0, 1, 1)) as server:
        (found,) = located(models, server.url, [SAMPLE], iou_threshold=0.0)
        assert len(server.bodies) == 2
        assert server.bodies[0]["temperature"] == 0.0
    whole = [0, 0, 64, 48]
    larger = {name: max(box, whole, key=lambda b: (b[2] - b[0]) * (b[3] - b[1])) for name, box in boxes.items()}
    assert {one["main_character"]: one["bbox"] for one in found} == larger


@pytest.mark.parametrize("threshold", [0.0, 0.5, 1.0])
def test_other_boxes_are_matched_with_the_name(models, threshold):
    boxes = detected(models[0], NAMES)
    small = [16, 12, 32, 24]
    expected = {}
    for name, box in boxes.items():
        assert overlap(box, small) <= 0.99
        scores = [probability(models[1], name, one) for one in (box, small)]
        if max(scores) >= threshold:
            expected[name] = box if scores[0] > scores[1] else small
    with serving(lambda *_: seen_at(0.25, 0.25, 0.5, 0.5)) as server:
        options = {"iou_threshold": 0.99, "matching_score_threshold": threshold}
        (found,) = located(models, server.url, [SAMPLE], **options)
    assert {one["main_character"]: one["bbox"] for one in found} == expected


def test_what_is_not_found_has_no_place(models):
    column = {"images": [IMAGE], "main_character_list": NAMES[:1]}
    others = [{"images": [], "main_character_list": NAMES}, {"images": [IMAGE], "main_character_list": []}]
    with serving(lambda *_: seen_at(0, 0, 0, 0, is_found=False)) as server:
        assert located(models, server.url, [column, *others]) == [[], [], []]
        assert len(server.bodies) == 1
        assert located(models, server.url, [column], yoloe_conf=1.0) == [[]]
        assert len(server.bodies) == 1


def test_characters_are_described(models):
    owl, blip = models

    def script(body, times):
        shape = json.dumps(body["response_format"])
        if "is_found" in shape:
            return seen_at(0.25, 0.25, 0.5, 0.5)
        if "entries" not in shape:
            return Said(json.dumps({"kind": "animal", "characteristics": ["red", "red", " on a mat "]}))
        if "a mat" in body["messages"][1]["content"][-1]["text"].partition("END character")[0]:
            return Said(json.dumps({"entries": [{"characteristic": "green", "is_seen": False}]}))
        entries = [{"characteristic": "red", "is_seen": True}, {"characteristic": "on a mat", "is_seen": False}]
        return Said(json.dumps({"entries": [*entries, {"characteristic": "small", "is_seen": True}]}))

    with serving(script) as server:
        operator = jp.create(
            "detect_character_attributes_mapper",
            detect_character_locations_mapper_args={
                "mllm_mapper_args": {"hf_model": "seer"},
                "image_text_matching_filter_args": {"hf_blip": blip},
                "yoloe_path": owl,
                "yoloe_conf": 0.0,
                "matching_score_threshold": 0.0,
            },
            api_endpoint=server.url,
        )
        assert operator.model.model == "seer"
        (found,) = operator([{"text": "the red cat on a mat", **SAMPLE}])
        assert len(server.bodies) == 6
    first, second = found[META]["main_character_attributes_list"]
    assert (first["main_character"], first["characteristic_list"]) == ("the red cat", ["red", "small"])
    assert (second["main_character"], second["characteristic_list"]) == ("a mat", ["red", "on a mat"])
    assert len(first["bbox"]) == 4


def test_main_characters():
    samples = [{"text": "a cat", "images": [IMAGE]}, {"text": "", "images": []}]
    answer = json.dumps({"characters": ["a cat", " a cat ", "a dog"]})
    with serving(lambda *_: Said(answer)) as server:
        found = [
            jp.create("detect_main_character_mapper", api_endpoint=server.url, filter_min_character_num=least)(samples)
            for least in (2, 3)
        ]
    assert [one[0][META]["main_character_list"] for one in found] == [["a cat", "a dog"], []]
    assert "main_character_list" not in (found[0][1].get(META) or {})


def test_a_group_of_parameters_is_checked(models):
    with pytest.raises(jp.ParameterError, match="did you mean 'hf_model'"):
        jp.create("detect_main_character_mapper", mllm_mapper_args={"hf_modl": "x"})
    with pytest.raises(jp.ParameterError, match="is not a model that finds phrases"):
        jp.create("detect_character_locations_mapper", yoloe_path=models[1])
    other = jp.create("detect_main_character_mapper", mllm_mapper_args={"temperature": 1.0})
    assert other.digest != jp.create("detect_main_character_mapper").digest


def test_names_of_the_recipe_stand_in_groups(models, tmp_path):
    owl, blip = models
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": "x", "images": []}) + "\n")
    recipe = {
        "dataset": {"path": str(tmp_path / "in.jsonl")},
        "models": {
            "blip": {"path": blip, "max_items": 3},
            "seer": {"kind": "openai", "model": "m", "url": "http://h/v1"},
        },
        "process": [
            {
                "detect_character_locations_mapper": {
                    "mllm_mapper_args": {"hf_model": "seer"},
                    "image_text_matching_filter_args": {"hf_blip": "blip"},
                    "yoloe_path": owl,
                }
            }
        ],
        "export": {"path": str(tmp_path / "out.jsonl")},
    }
    from jinx_pipeline.recipe.read import recipe_of

    (step,) = recipe_of(recipe).steps
    assert step.operator.models["image_text_matching_filter_args.hf_blip"].max_items == 3
    assert step.operator.model.url == "http://h/v1"
