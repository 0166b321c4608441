"""The models of recipes: read, named by operators, part of digests, and written again."""

import json

import pytest

import jinx_pipeline as jp
from jinx_pipeline.recipe.read import recipe_of
from jinx_pipeline.recipe.write import as_data, from_data

CLIP = "image_text_similarity_filter"


def recipe(models, parameters):
    return recipe_of({"dataset": "in.jinx", "models": models, "process": [{CLIP: parameters}], "export": "out.jinx"})


def graph(models, parameters):
    nodes = {"in": {"source": "in.jinx"}, "clean": {"operators": [{CLIP: parameters}]}, "out": {"sink": "out.jinx"}}
    flows = [{"from": "in", "to": "clean"}, {"from": "clean", "to": "out"}]
    return recipe_of({"models": models, "nodes": nodes, "flows": flows})


@pytest.mark.parametrize("read", [recipe, graph])
def test_an_operator_names_a_model(read):
    made = read({"clip": {"path": "/models/clip", "dtype": "bfloat16", "per_gpu": 4}}, {"hf_clip": "clip"})
    operator = made.steps[0].operator
    assert operator.models == {"hf_clip": jp.Model(path="/models/clip", dtype="bfloat16", per_gpu=4)}
    assert made.models["clip"].name == "clip"
    assert made.steps[0].resources.gpus == 0.25
    again = from_data(json.loads(json.dumps(as_data(made))))
    assert again.models == made.models
    assert again.steps[0].operator.models == operator.models
    assert again.digest == made.digest


def test_a_path_and_a_mapping_are_models_too():
    of_path = recipe({}, {"hf_clip": "/models/clip"})
    of_mapping = recipe({}, {"hf_clip": {"path": "/models/clip"}})
    of_short_name = recipe({"clip": "/models/clip"}, {"hf_clip": "clip"})
    assert of_path.digest == of_mapping.digest == of_short_name.digest
    assert from_data(as_data(of_path)).digest == of_path.digest


def test_what_changes_no_result_does_not_count():
    plain = recipe({"clip": {"path": "/models/clip"}}, {"hf_clip": "clip"})
    other = {"path": "/models/clip", "device": "cuda", "per_gpu": 2, "max_items": 7, "memory": "9GB"}
    assert recipe({"c": other}, {"hf_clip": "c"}).digest == plain.digest
    assert recipe({"c": {"path": "/models/clip", "dtype": "float16"}}, {"hf_clip": "c"}).digest != plain.digest
    assert recipe({"c": {"path": "/models/clip", "revision": "x"}}, {"hf_clip": "c"}).digest != plain.digest


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([], "models is a mapping"),
        ({"a b": "/x"}, "a model is named with"),
        ({"clip": 3}, "the model clip is a path or a mapping"),
        ({"clip": {}}, "path is missing"),
        ({"clip": {"path": "/x", "dtyp": "auto"}}, "no 'dtyp'; did you mean 'dtype'"),
        ({"clip": {"path": "/x", "dtype": "int3"}}, "dtype is 'auto' or 'float32'"),
        ({"clip": {"path": "/x", "per_gpu": 0}}, "per_gpu is int of at least 1"),
        (
            {"clip": {"path": "/x", "url": "http://h"}},
            "url is for models of the kind openai or serve, not transformers",
        ),
        ({"llm": {"kind": "openai", "url": "http://h"}}, "model is missing"),
        ({"llm": {"kind": "openai", "model": "m", "path": "/x"}}, "not a path"),
        ({"llm": {"kind": "open"}}, "kind is 'transformers' or"),
    ],
)
def test_a_wrong_model_is_refused(models, message):
    with pytest.raises(jp.RecipeError, match=message):
        recipe(models, {"hf_clip": "/models/clip"})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("llm", "is a model of the kind transformers, not openai"),
        ({"path": "/x", "dtyp": "auto"}, "did you mean 'dtype'"),
        ("", "not an empty string"),
        (3, "is a model: its path"),
    ],
)
def test_a_parameter_takes_only_its_kinds(value, message):
    with pytest.raises(jp.RecipeError, match=message):
        recipe({"llm": {"kind": "openai", "url": "http://h", "model": "m"}}, {"hf_clip": value})
