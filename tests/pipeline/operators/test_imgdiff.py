"""Areas in which two images differ, and their captions, follow from the scores of the models."""

import base64
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

import jinx_pipeline as jp
from pipeline.llm.model_server import Said, serving
from pipeline.operators.images import encoded, photo
from pipeline.operators.test_spacy_models import save_rules
from pipeline.operators.tiny_models import save_blip_matching, save_clip, save_sam

pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("spacy", reason="spaCy is not installed")
pytest.importorskip("aiohttp", reason="needs the extra llm")
# Importing the libraries takes longer than the tests.
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(240)]

META = "__dj__meta__"
FIRST, SECOND = encoded(photo(40, 30, 1)), encoded(photo(60, 60, 2))
CAPTIONS = {"caption1": "the cat sits on a mat", "caption2": "the dogs sits on a mat"}
PAIR = {"image_path1": FIRST, "image_path2": SECOND, **CAPTIONS}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    saves = {"clip": save_clip, "sam": save_sam, "blip": save_blip_matching, "rules": save_rules}
    return {name: save(folder / name) for name, save in saves.items()}


def areas(models, samples, *, similarity=None, matching=None):
    operator = jp.create(
        "imgdiff_difference_area_generator_mapper",
        image_pair_similarity_filter_args={
            "hf_clip": models["clip"],
            "min_score_1": -1.0,
            "min_score_2": -1.0,
            **(similarity or {}),
        },
        image_segment_mapper_args={"model_path": models["sam"], "conf": 0.0, "points_per_side": 4},
        image_text_matching_filter_args={"hf_blip": models["blip"], "min_score": 0.0, **(matching or {})},
        spacy_model=models["rules"],
    )
    return [sample[META]["__dj__bbox__"] for sample in operator(samples)]


def part(data, box, size=(40, 30)):
    """The part of an image in a box with centre, width and height, as a file."""
    middle, row, width, height = box
    image = Image.open(BytesIO(data)).convert("RGB").resize(size)
    left, top = min(max(int(middle - width / 2), 0), size[0] - 1), min(max(int(row - height / 2), 0), size[1] - 1)
    right, bottom = (max(int(middle + width / 2), left + 1), max(int(row + height / 2), top + 1))
    return encoded(image.crop((left, top, min(right, size[0]), min(bottom, size[1]))))


def test_areas_are_segments_that_differ(models):
    """Each step as the operator for it alone does it."""
    found = areas(models, [PAIR])[0]
    options = {"model_path": models["sam"], "conf": 0.0, "points_per_side": 4}
    (segments,) = jp.create("image_segment_mapper", **options)([{"images": [FIRST, SECOND]}])
    first, second = segments[META]["__dj__bbox__"]
    scaled = [list(np.array(box) * [40 / 60, 30 / 60, 40 / 60, 30 / 60]) for box in second]
    assert found
    assert all(any(np.allclose(box, other, atol=1e-3) for other in [*first, *scaled]) for box in found)
    for number, box in enumerate(found):
        assert all(share(box, other) <= 0.5 for other in found[:number])


def share(one, other):
    sides = [
        min(one[axis] + one[axis + 2] / 2, other[axis] + other[axis + 2] / 2)
        - max(one[axis] - one[axis + 2] / 2, other[axis] - other[axis + 2] / 2)
        for axis in (0, 1)
    ]
    common = max(sides[0], 0) * max(sides[1], 0)
    return common / (one[2] * one[3] + other[2] * other[3] - common)


def test_scores_bound_areas(models):
    every = areas(models, [PAIR])[0]
    matcher = jp.create("image_text_matching_filter", hf_blip=models["blip"])
    pairs = jp.create("image_pair_similarity_filter", hf_clip=models["clip"])
    scores = []
    for box in every:
        one, two = part(FIRST, box), part(SECOND, box)
        shown = matcher(
            [{"text": "cat", "images": [one]}, {"text": "dog", "images": [two]}], keep_stats=True, drop=False
        )
        alike = pairs([{"images": [one, two]}], keep_stats=True, drop=False)
        stats = [sample["__dj__stats__"] for sample in (*shown, *alike)]
        scores.append([next(iter(stat.values()))[0] for stat in stats])
    likely = float(np.median([min(one[:2]) for one in scores]))
    kept = areas(models, [PAIR], matching={"min_score": likely})[0]
    for box, (first, second, _) in zip(every, scores, strict=True):
        if min(first, second) >= likely + 1e-4:
            assert any(share(box, other) > 0.5 for other in kept)
    limit = float(np.median([one[2] for one in scores]))
    assert len(areas(models, [PAIR], similarity={"max_score_2": limit})[0]) > 0
    assert areas(models, [PAIR], similarity={"max_score_2": -1.0})[0] == []


def test_pairs_without_a_difference_have_no_area(models):
    same = {**PAIR, "caption2": CAPTIONS["caption1"]}
    plural = {**PAIR, "caption1": "the dogs", "caption2": "a dog"}
    missing = {**PAIR, "image_path2": None}
    assert areas(models, [same, plural, missing, {**PAIR, "caption1": None}]) == [[], [], [], []]
    assert areas(models, [PAIR], similarity={"max_score_1": -1.0}) == [[]]


def captions(models, url, samples, **parameters):
    operator = jp.create(
        "imgdiff_difference_caption_generator_mapper",
        mllm_mapper_args={"hf_model": "seer"},
        image_text_matching_filter_args={"hf_blip": models["blip"], "min_score": 0.0, **parameters.pop("matching", {})},
        text_pair_similarity_filter_args={"hf_clip": models["clip"], "min_score": -1.0, **parameters},
        api_endpoint=url,
    )
    return [sample[META] for sample in operator(samples)]


def script(body, times):
    text = body["messages"][1]["content"][-1]["text"]
    if "BEGIN left_caption" not in text:
        return Said("a red cat" if _picture(body).getpixel((0, 0))[0] > 127 else "a blue dog")
    return Said("The cat became a dog.")


def _picture(body):
    url = body["messages"][1]["content"][0]["image_url"]["url"]
    return Image.open(BytesIO(base64.b64decode(url.partition(",")[2]))).convert("RGB")


RED, BLUE = (encoded(Image.new("RGB", size, colour)) for size, colour in (((60, 40), "red"), ((30, 20), "blue")))
BOXES = {"image_path1": RED, "image_path2": BLUE, META: {"__dj__bbox__": [[30, 20, 10, 10], [30, 20, 50, 30]], "x": 1}}


def test_captions_of_a_difference(models):
    with serving(script) as server:
        (found,) = captions(models, server.url, [BOXES])
        assert len(server.bodies) == 3  # the large area is not described
    assert found == {
        "x": 1,
        "region_caption1": ["a red cat"],
        "region_caption2": ["a blue dog"],
        "bbox_difference_captions": ["The cat became a dog."],
        "__dj__bbox__": [[30.0, 20.0, 10.0, 10.0]],
    }
    shown = _picture(server.bodies[-1])
    assert shown.size == (140, 40)
    assert [near(shown.getpixel(place)) for place in ((5, 5), (70, 20), (100, 5), (100, 12))] == [
        (255, 0, 0),
        (0, 0, 0),
        (0, 0, 255),
        (255, 0, 0),  # the frame in the second image, beyond the bar
    ]


def near(pixel):
    """A colour without the noise of JPEG."""
    return tuple(255 if value > 160 else 0 for value in pixel)


def test_captions_that_do_not_fit_are_dropped(models):
    with serving(script) as server:
        empty = {"region_caption1": [], "region_caption2": [], "bbox_difference_captions": [], "__dj__bbox__": []}
        for options in ({"matching": {"max_score": 0.0}}, {"max_score": -1.0}):
            assert captions(models, server.url, [BOXES], **options) == [{**empty, "x": 1}]
        assert captions(models, server.url, [{**BOXES, META: {}}, {**BOXES, "image_path1": None}]) == [
            empty,
            {**empty, "x": 1},
        ]


def test_a_box_of_three_numbers_is_an_error(models):
    with serving(script) as server, pytest.raises(ValueError, match="is not a box"):
        captions(models, server.url, [{**BOXES, META: {"__dj__bbox__": [[1, 2, 3]]}}])
