"""Recipes of Data-Juicer and MLDataForge become ours, and what is missing is said."""

import pytest

from jinx_pipeline.recipe.from_elsewhere import imported
from jinx_pipeline.recipe.read import recipe_of


def test_a_recipe_of_data_juicer():
    made = imported(
        {
            "project_name": "demo",
            "dataset_path": "in.jsonl",
            "export_path": "out.jsonl",
            "np": 4,
            "text_keys": "content",
            "image_key": "pictures",
            "process": [
                {"text_length_filter": {"min_len": 5, "num_proc": 3}},
                {"sixth_sense_filter": {"min": 1}},
                {"python_lambda_mapper": {"lambda_str": "lambda s: s"}},
                "clean_links_mapper",
            ],
        },
        "mine",
    )
    assert made.recipe["dataset"] == {"path": "in.jsonl", "text": "content", "images": "pictures"}
    steps = made.recipe["process"]
    assert steps[0] == {"text_length_filter": {"min_len": 5}}
    assert steps[-1] == "clean_links_mapper"
    assert any("sixth_sense_filter: there is no such operator yet" in one for one in made.remarks)
    assert list(made.files) == ["mine_lambda_0.py"]
    assert "lambda s: s" in made.files["mine_lambda_0.py"]
    assert made.recipe["export"] == {"path": "out.jsonl", "keep_stats": False}
    recipe = recipe_of({**made.recipe, "process": [steps[0], steps[-1]]})
    assert [step.operator.name for step in recipe.steps] == ["text_length_filter", "clean_links_mapper"]


def test_a_mixture_keeps_its_weights():
    made = imported({"dataset_path": "0.3 a.jsonl 0.7 b.jsonl", "process": []}, "mine")
    assert made.recipe["dataset"]["sources"] == [{"path": "a.jsonl", "weight": 0.3}, {"path": "b.jsonl", "weight": 0.7}]


def test_a_pipeline_of_mldataforge():
    code = "def process(sample):\n    return sample\n"
    made = imported(
        {
            "steps": [
                {"sources": ["in.jinx"], "transformations": code, "sink": {"name": "half"}},
                {"sources": ["half"], "shuffle": 7, "transformations": [code], "sink": "out.jinx"},
            ]
        },
        "mine",
    )
    assert made.recipe["dataset"] == {"path": "in.jinx"}
    assert made.recipe["export"] == {"path": "out.jinx"}
    assert [next(iter(step)) for step in made.recipe["process"]] == ["python_file_mapper"] * 2
    assert all(code in text for text in made.files.values())
    assert any("shuffle: not taken over" in one for one in made.remarks)


def test_something_else_is_refused():
    with pytest.raises(ValueError, match="neither a recipe of Data-Juicer"):
        imported({"jobs": []}, "mine")


def test_fused_operators_become_their_operators():
    listed = [{"text_length_filter": {"min_len": 5}}, {"python_lambda_mapper": {"lambda_str": "lambda s: s"}}]
    made = imported(
        {"dataset_path": "a.jsonl", "process": [{"general_fused_op": {"batch_size": 9, "fused_op_list": listed}}]}, "x"
    )
    assert [next(iter(step)) for step in made.recipe["process"]] == ["text_length_filter", "python_file_mapper"]
    assert list(made.files) == ["x_lambda_0.py"]
